#include "runtime/gpu/cuda_device.hpp"

#include <cstdlib>
#include <cstring>

#include "runtime/gpu/cuda_check.hpp"
#include "runtime/gpu/cuda_codecs.hpp"
#include "runtime/gpu/cuda_factors.hpp"
#include "runtime/gpu/cuda_stream.hpp"
#include "runtime/gpu/kernels.hpp"

namespace tandem {
namespace {

/// As CUDA numbers its versions: 13000 is 13.0.
std::string version_text(int version) {
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

/// CUDA reports the same error for an old driver and for no driver.
std::string why_driver_is_insufficient() {
  int driver = 0;
  int needed = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return "there is no NVIDIA driver";
  std::string text = "the NVIDIA driver is too old, it knows CUDA " + version_text(driver);
  if (cudaRuntimeGetVersion(&needed) != cudaSuccess) return text;
  return text + " and this tandem-rank needs " + version_text(needed);
}

std::string why_none_is_visible() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return "CUDA finds no GPU";
  return std::string("no GPU is visible (CUDA_VISIBLE_DEVICES is '") + visible + "')";
}

/// Errors: WorldError where the kernels were not built for a GPU of this compute capability, which is the
/// current one.
void check_code(int gpu, const std::string& name, int major, int minor) {
  const cudaError_t error = kernels::find_code();
  if (error != cudaErrorNoKernelImageForDevice && error != cudaErrorInvalidDeviceFunction &&
      error != cudaErrorUnsupportedPtxVersion)
    return check_cuda(error, "cudaFuncGetAttributes", gpu);
  static_cast<void>(cudaGetLastError());
  const std::string architecture = std::to_string(major) + std::to_string(minor);
  throw WorldError(name + " is of compute capability " + std::to_string(major) + '.' + std::to_string(minor) +
                   ", for which tandem-rank has no kernels (" + cudaGetErrorName(error) +
                   "); build it with -DCMAKE_CUDA_ARCHITECTURES=" + architecture +
                   ", or with a list that contains " + architecture);
}

/// Makes the GPU the current one. Errors: WorldError, also where it has no kernels.
std::string name_of_usable(int gpu) {
  check_cuda(cudaSetDevice(gpu), "cudaSetDevice", gpu);
  cudaDeviceProp properties;
  check_cuda(cudaGetDeviceProperties(&properties, gpu), "cudaGetDeviceProperties", gpu);
  const std::string name = "cuda:" + std::to_string(gpu) + " (" + properties.name + ')';
  check_code(gpu, name, properties.major, properties.minor);
  return name;
}

kernels::FlawSearch* allocate_search(int gpu) {
  void* memory = nullptr;
  check_cuda(cudaMalloc(&memory, sizeof(kernels::FlawSearch)), "cudaMalloc", gpu);
  return static_cast<kernels::FlawSearch*>(memory);
}

}  // namespace

Gpus visible_gpus() {
  Gpus found;
  const cudaError_t error = cudaGetDeviceCount(&found.count);
  if (error == cudaSuccess && found.count > 0) return found;
  found = {.count = 0, .why_none = why_none_is_visible()};
  if (error == cudaErrorInsufficientDriver) found.why_none = why_driver_is_insufficient();
  static_cast<void>(cudaGetLastError());
  if (error == cudaSuccess || error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver)
    return found;
  throw WorldError(std::string("cudaGetDeviceCount: ") + cudaGetErrorString(error) + " (" +
                   cudaGetErrorName(error) + ')');
}

Bytes gpu_memory(int number) {
  check_cuda(cudaSetDevice(number), "cudaSetDevice", number);
  std::size_t free = 0;
  std::size_t total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo", number);
  return Bytes(static_cast<std::int64_t>(total));
}

std::string gpu_address(int number) {
  char address[32] = {};
  check_cuda(cudaDeviceGetPCIBusId(address, sizeof(address), number), "cudaDeviceGetPCIBusId", number);
  return address;
}

CudaDevice::CudaDevice(int gpu)
    : gpu_(gpu),
      name_(name_of_usable(gpu)),
      streams_(gpu),
      search_(allocate_search(gpu)),
      marks_(gpu),
      memory_(gpu, streams_),
      queue_(streams_.first()) {
  const kernels::FlawSearch initial;
  check_cuda(cudaMemcpyAsync(search_.get(), &initial, sizeof initial, cudaMemcpyDefault, queue_),
             "cudaMemcpyAsync", gpu_);
}

/// The parts free their memory on the current GPU.
CudaDevice::~CudaDevice() { static_cast<void>(cudaSetDevice(gpu_)); }

void CudaDevice::enter() const { check_cuda(cudaSetDevice(gpu_), "cudaSetDevice", gpu_); }

template <class... Wanted, class... Given>
void CudaDevice::queue(const char* name, cudaError_t (*launcher)(Wanted...), Given... given) const {
  enter();
  check_cuda(launcher(given..., queue_), name, gpu_);
}

// ---- Memory ----

std::byte* CudaDevice::allocate(std::size_t bytes) {
  enter();
  return memory_.allocate(bytes, [this] { return free_cache(); });
}

std::byte* CudaDevice::allocate_pinned(std::size_t bytes) {
  enter();
  return memory_.allocate_pinned(bytes);
}

// ---- Memory that other processes read ----

std::optional<SharedDeviceMemory::Handle> CudaDevice::share(const DeviceAllocation& allocation) {
  enter();
  cudaIpcMemHandle_t own;
  if (cudaIpcGetMemHandle(&own, allocation.begin) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return std::nullopt;
  }
  memory_.keep_to_the_end(allocation);
  Handle handle;
  static_assert(sizeof own == sizeof handle);
  std::memcpy(handle.data(), &own, sizeof own);
  return handle;
}

const std::byte* CudaDevice::open(const Handle& handle) {
  enter();
  cudaIpcMemHandle_t other;
  std::memcpy(&other, handle.data(), sizeof other);
  void* memory = nullptr;
  if (cudaIpcOpenMemHandle(&memory, other, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess)
    return static_cast<const std::byte*>(memory);
  static_cast<void>(cudaGetLastError());
  return nullptr;
}

DeviceMark CudaDevice::copy_opened(std::byte* to, const std::byte* opened, std::size_t bytes) {
  return copy_concurrently(streams_.in(), to, opened, bytes, cudaMemcpyDefault);
}

void CudaDevice::close(const std::byte* opened) noexcept {
  static_cast<void>(cudaSetDevice(gpu_));
  static_cast<void>(cudaIpcCloseMemHandle(const_cast<std::byte*>(opened)));
}

// ---- The queue ----

void CudaDevice::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0 || to == from) return;
  enter();
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, queue_), "cudaMemcpyAsync", gpu_);
}

void CudaDevice::copy_all(std::span<const FloatCopy> copies) {
  queue("copy_all", kernels::copy_all, copies.data(), copies.size());
}

void CudaDevice::finish() {
  enter();
  streams_.finish();
}

DeviceMark CudaDevice::mark() {
  enter();
  return marks_.record(queue_);
}

bool CudaDevice::has_reached(DeviceMark mark) {
  enter();
  return marks_.has_reached(mark);
}

Seconds CudaDevice::between(DeviceMark begin, DeviceMark end) {
  enter();
  return marks_.between(begin, end);
}

// ---- Copies outside the queue ----

DeviceMark CudaDevice::copy_concurrently(cudaStream_t stream, void* to, const void* from, std::size_t bytes,
                                         cudaMemcpyKind kind) {
  enter();
  if (bytes > 0) check_cuda(cudaMemcpyAsync(to, from, bytes, kind, stream), "cudaMemcpyAsync", gpu_);
  return marks_.record(stream);
}
DeviceMark CudaDevice::copy_out(std::byte* pinned, const std::byte* own, std::size_t bytes) {
  return copy_concurrently(streams_.out(), pinned, own, bytes, cudaMemcpyDeviceToHost);
}
DeviceMark CudaDevice::copy_in(std::byte* own, const std::byte* pinned, std::size_t bytes) {
  return copy_concurrently(streams_.in(), own, pinned, bytes, cudaMemcpyHostToDevice);
}
DeviceMark CudaDevice::mark_copies(bool out) {
  enter();
  return marks_.record(out ? streams_.out() : streams_.in());
}

// ---- Arithmetic ----

void CudaDevice::fill(float* values, std::int64_t count, float value) {
  queue("fill", kernels::fill, values, count, value);
}
void CudaDevice::scale(float* values, std::int64_t count, float factor) {
  queue("scale", kernels::scale, values, count, factor);
}
void CudaDevice::add(float* sum, const float* values, std::int64_t count, float factor) {
  queue("add", kernels::add, sum, values, count, factor);
}
void CudaDevice::add_halves(std::uint16_t* sum, const std::uint16_t* values, std::int64_t count,
                            HalfFormat format) {
  queue("add_halves", kernels::add_halves, sum, values, count, format);
}
void CudaDevice::subtract(float* difference, const float* left, const float* right, std::int64_t count) {
  queue("subtract", kernels::subtract, difference, left, right, count);
}
void CudaDevice::approach(float* values, const float* target, std::int64_t count, float share) {
  queue("approach", kernels::approach, values, target, count, share);
}
void CudaDevice::multiply(float* product, const float* values, std::int64_t count, float factor) {
  queue("multiply", kernels::multiply, product, values, count, factor);
}
void CudaDevice::add_terms(float* sum, bool begins, std::span<const Term> terms, std::int64_t count) {
  queue("add_terms", kernels::add_terms, sum, begins, terms.data(), static_cast<int>(terms.size()), count);
}
void CudaDevice::sgd_over(float* model, const float* gradient, float* velocity, Stretches stretches,
                          const SgdStep& step) {
  queue("sgd", kernels::sgd, model, gradient, velocity, stretches.data(), stretches.size(), step);
}
void CudaDevice::adam_over(float* model, const float* gradient, float* mean, float* square,
                           Stretches stretches, const AdamStep& step) {
  queue("adam", kernels::adam, model, gradient, mean, square, stretches.data(), stretches.size(), step);
}
void CudaDevice::move_over(float* model, const float* base, const float* sum, float* velocity,
                           Stretches stretches, const MoveStep& step) {
  queue("move", kernels::move, model, base, sum, velocity, stretches.data(), stretches.size(), step);
}
void CudaDevice::compensate(float* gradient, const float* model, const float* older, float* mean_square,
                            std::int64_t count, const CompensationStep& step) {
  queue("compensate", kernels::compensate, gradient, model, older, mean_square, count, step);
}
void CudaDevice::find_non_finite(const float* values, std::int64_t count, std::int64_t* pinned_first) {
  queue("find_non_finite", kernels::find_non_finite, values, count, search_.get(), pinned_first);
}

// ---- Compression ----

void CudaDevice::narrow(const float* values, std::uint16_t* halves, std::int64_t count, HalfFormat format) {
  queue("narrow", kernels::narrow, values, halves, count, format);
}
void CudaDevice::widen(const std::uint16_t* halves, float* values, std::int64_t count, HalfFormat format) {
  queue("widen", kernels::widen, halves, values, count, format);
}
std::unique_ptr<compression::Codec> CudaDevice::make_codec(const Catalog<compression::Factory>::Entry& method,
                                                           const compression::Setting& setting) {
  return make_cuda_codec(*this, method.name, setting);
}

std::unique_ptr<compression::SharedFactors> CudaDevice::make_factors(const compression::Setting& setting) {
  return make_cuda_factors(*this, setting);
}

}  // namespace tandem
