#include "runtime/gpu/cuda_device.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <utility>

#include "runtime/gpu/cuda_check.hpp"
#include "runtime/gpu/cuda_codecs.hpp"
#include "runtime/gpu/cuda_factors.hpp"
#include "runtime/gpu/cuda_stream.hpp"
#include "runtime/gpu/kernels.hpp"

namespace tandem {
namespace {

std::string describe_memory(std::size_t wanted) {
  std::size_t free = 0;
  std::size_t total = 0;
  std::string text = "; requested " + std::to_string(wanted) + " bytes";
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) return text;
  return text + ", " + std::to_string(free) + " of " + std::to_string(total) + " are free";
}

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

CudaDevice::CudaDevice(int gpu) : gpu_(gpu) {
  enter();
  cudaDeviceProp properties;
  check_cuda(cudaGetDeviceProperties(&properties, gpu_), "cudaGetDeviceProperties", gpu_);
  name_ = "cuda:" + std::to_string(gpu_) + " (" + properties.name + ')';
  check_code(properties.major, properties.minor);
  try {
    first_ = make_stream(gpu_, Urgency::computing);
    for (cudaStream_t* stream : {&second_, &out_, &in_}) *stream = make_stream(gpu_, Urgency::communication);
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&search_), sizeof(kernels::FlawSearch)), "cudaMalloc",
               gpu_);
    queue_ = first_;
    const kernels::FlawSearch initial;
    check_cuda(cudaMemcpyAsync(search_, &initial, sizeof initial, cudaMemcpyDefault, queue_),
               "cudaMemcpyAsync", gpu_);
  } catch (const WorldError&) {
    release_all();
    throw;
  }
}

CudaDevice::~CudaDevice() {
  static_cast<void>(cudaSetDevice(gpu_));
  release_all();
}

void CudaDevice::release_all() noexcept {
  has_released_ = true;
  free_released(/*also_shared=*/true);
  // A broken device reports an error to each of these; the call that broke it has reported it already.
  for (const cudaEvent_t event : marks_) static_cast<void>(cudaEventDestroy(event));
  if (search_ != nullptr) static_cast<void>(cudaFree(search_));
  for (const cudaStream_t stream : {in_, out_, second_, first_})
    if (stream != nullptr) static_cast<void>(cudaStreamDestroy(stream));
}

void CudaDevice::check_code(int major, int minor) const {
  const cudaError_t error = kernels::find_code();
  if (error != cudaErrorNoKernelImageForDevice && error != cudaErrorInvalidDeviceFunction &&
      error != cudaErrorUnsupportedPtxVersion)
    return check_cuda(error, "cudaFuncGetAttributes", gpu_);
  static_cast<void>(cudaGetLastError());
  const std::string architecture = std::to_string(major) + std::to_string(minor);
  throw WorldError(name_ + " is of compute capability " + std::to_string(major) + '.' +
                   std::to_string(minor) + ", for which tandem-rank has no kernels (" +
                   cudaGetErrorName(error) + "); build it with -DCMAKE_CUDA_ARCHITECTURES=" + architecture +
                   ", or with a list that contains " + architecture);
}

void CudaDevice::enter() const { check_cuda(cudaSetDevice(gpu_), "cudaSetDevice", gpu_); }

template <class... Wanted, class... Given>
void CudaDevice::queue(const char* name, cudaError_t (*launcher)(Wanted...), Given... given) const {
  enter();
  check_cuda(launcher(given..., queue_), name, gpu_);
}

// ---- Memory ----

std::byte* CudaDevice::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  enter();
  free_released();
  if (std::byte* const kept = take_kept(bytes); kept != nullptr) return kept;
  void* memory = nullptr;
  cudaError_t error = cudaMalloc(&memory, bytes);
  if (error == cudaErrorMemoryAllocation && free_cache()) {
    static_cast<void>(cudaGetLastError());
    error = cudaMalloc(&memory, bytes);
  }
  if (error != cudaSuccess) fail_cuda(error, "cudaMalloc", gpu_, describe_memory(bytes));
  auto* const own = static_cast<std::byte*>(memory);
  ranges_.emplace(own, Range{bytes, /*is_pinned=*/false, ++allocations_});
  clear(own, bytes);
  return own;
}

/// Not in the queue, which may be long: concurrent copies may write the memory immediately.
void CudaDevice::clear(std::byte* memory, std::size_t bytes) {
  cudaError_t cleared = cudaMemsetAsync(memory, 0, bytes, second_);
  if (cleared == cudaSuccess) cleared = cudaStreamSynchronize(second_);
  if (cleared == cudaSuccess) return;
  release(memory);
  fail_cuda(cleared, "cudaMemsetAsync", gpu_);
}

/// Shared memory of this size that was released; null: there is none.
std::byte* CudaDevice::take_kept(std::size_t bytes) {
  const auto kept = std::ranges::find_if(ranges_, [bytes](const auto& item) {
    return item.second.is_shared && item.second.is_released && item.second.bytes == bytes;
  });
  if (kept == ranges_.end()) return nullptr;
  // Freeing it would have waited for the work that may still use it.
  finish();
  kept->second.is_released = false;
  clear(kept->first, bytes);
  return kept->first;
}

void CudaDevice::give_back(std::byte* memory) noexcept {
  if (memory == nullptr) return;
  const auto found = ranges_.find(memory);
  if (std::uncaught_exceptions() > 0 || found->second.is_shared) {
    found->second.is_released = has_released_ = true;
    return;
  }
  static_cast<void>(cudaSetDevice(gpu_));
  free(memory, found->second);
  ranges_.erase(found);
}

void CudaDevice::free(std::byte* memory, const Range& range) noexcept {
  if (range.is_pinned) {
    static_cast<void>(cudaFreeHost(memory));
    return;
  }
  for (const auto& watcher : watchers_)
    if (const auto present = watcher.lock()) present->before_free({range.number, memory, range.bytes});
  static_cast<void>(cudaFree(memory));
}

/// Pre: the GPU is the current one.
void CudaDevice::free_released(bool also_shared) noexcept {
  if (!std::exchange(has_released_, false)) return;
  std::erase_if(ranges_, [&](const auto& item) {
    const bool is_freed = item.second.is_released && (also_shared || !item.second.is_shared);
    if (is_freed) free(item.first, item.second);
    return is_freed;
  });
}

bool CudaDevice::owns(const void* memory) const { return allocation_of(memory).has_value(); }

std::optional<DeviceAllocation> CudaDevice::allocation_of(const void* memory) const {
  const auto* const place = static_cast<const std::byte*>(memory);
  const auto after = ranges_.upper_bound(place);
  if (place == nullptr || after == ranges_.begin()) return std::nullopt;
  const auto& [begin, range] = *std::prev(after);
  if (range.is_pinned || range.is_released || place >= begin + range.bytes) return std::nullopt;
  return DeviceAllocation{range.number, begin, range.bytes};
}

void CudaDevice::watch(std::weak_ptr<AllocationWatcher> watcher) {
  std::erase_if(watchers_, [](const auto& other) { return other.expired(); });
  watchers_.push_back(std::move(watcher));
}

// ---- Memory that other processes read ----

std::optional<SharedDeviceMemory::Handle> CudaDevice::share(const DeviceAllocation& allocation) {
  enter();
  cudaIpcMemHandle_t own;
  if (cudaIpcGetMemHandle(&own, allocation.begin) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return std::nullopt;
  }
  ranges_.at(allocation.begin).is_shared = true;
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
  return copy_concurrently(in_, to, opened, bytes, cudaMemcpyDefault);
}

void CudaDevice::close(const std::byte* opened) noexcept {
  static_cast<void>(cudaSetDevice(gpu_));
  static_cast<void>(cudaIpcCloseMemHandle(const_cast<std::byte*>(opened)));
}

std::byte* CudaDevice::allocate_pinned(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  enter();
  free_released();
  void* memory = nullptr;
  const cudaError_t error = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
  if (error != cudaSuccess)
    fail_cuda(error, "cudaHostAlloc", gpu_, "; requested " + std::to_string(bytes) + " bytes of host memory",
              /*of_host=*/true);
  std::memset(memory, 0, bytes);
  ranges_.emplace(static_cast<std::byte*>(memory), Range{bytes, /*is_pinned=*/true});
  return static_cast<std::byte*>(memory);
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
  for (const cudaStream_t stream : {first_, second_, out_, in_})
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize", gpu_);
}

DeviceMark CudaDevice::mark() {
  enter();
  return mark_on(queue_);
}

DeviceMark CudaDevice::mark_on(cudaStream_t stream) {
  if (free_marks_.empty()) {
    cudaEvent_t event = nullptr;
    check_cuda(cudaEventCreate(&event), "cudaEventCreate", gpu_);
    free_marks_.reserve(marks_.size() + 1);
    marks_.push_back(event);
    free_marks_.push_back(static_cast<DeviceMark>(marks_.size() - 1));
  }
  const DeviceMark mark = free_marks_.back();
  check_cuda(cudaEventRecord(marks_[mark], stream), "cudaEventRecord", gpu_);
  free_marks_.pop_back();
  return mark;
}

bool CudaDevice::has_reached(DeviceMark mark) {
  enter();
  const cudaError_t error = cudaEventQuery(marks_.at(mark));
  if (error == cudaErrorNotReady) {
    // CUDA keeps it as the last error, which other users of its runtime check after each launch.
    static_cast<void>(cudaGetLastError());
    return false;
  }
  check_cuda(error, "cudaEventQuery", gpu_);
  return true;
}

Seconds CudaDevice::between(DeviceMark begin, DeviceMark end) {
  enter();
  float milliseconds = 0.0F;
  check_cuda(cudaEventElapsedTime(&milliseconds, marks_.at(begin), marks_.at(end)), "cudaEventElapsedTime",
             gpu_);
  return Seconds(1e-3 * static_cast<double>(milliseconds));
}

// ---- Copies outside the queue ----

DeviceMark CudaDevice::copy_concurrently(cudaStream_t stream, void* to, const void* from, std::size_t bytes,
                                         cudaMemcpyKind kind) {
  enter();
  if (bytes > 0) check_cuda(cudaMemcpyAsync(to, from, bytes, kind, stream), "cudaMemcpyAsync", gpu_);
  return mark_on(stream);
}
DeviceMark CudaDevice::copy_out(std::byte* pinned, const std::byte* own, std::size_t bytes) {
  return copy_concurrently(out_, pinned, own, bytes, cudaMemcpyDeviceToHost);
}
DeviceMark CudaDevice::copy_in(std::byte* own, const std::byte* pinned, std::size_t bytes) {
  return copy_concurrently(in_, own, pinned, bytes, cudaMemcpyHostToDevice);
}
DeviceMark CudaDevice::mark_copies(bool out) {
  enter();
  return mark_on(out ? out_ : in_);
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
  queue("find_non_finite", kernels::find_non_finite, values, count, search_, pinned_first);
}

// ---- Compression ----

void CudaDevice::narrow(const float* values, std::uint16_t* halves, std::int64_t count, HalfFormat format) {
  queue("narrow", kernels::narrow, values, halves, count, format);
}
void CudaDevice::widen(const std::uint16_t* halves, float* values, std::int64_t count, HalfFormat format) {
  queue("widen", kernels::widen, halves, values, count, format);
}
std::unique_ptr<compression::Codec> CudaDevice::make_codec(const std::string& method,
                                                           const compression::Setting& setting) {
  return make_cuda_codec(*this, method, setting);
}

std::unique_ptr<compression::SharedFactors> CudaDevice::make_factors(const compression::Setting& setting) {
  return make_cuda_factors(*this, setting);
}

}  // namespace tandem
