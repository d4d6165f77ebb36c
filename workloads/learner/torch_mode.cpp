#include "workloads/learner/torch_mode.hpp"

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <dlfcn.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstdlib>
#include <mutex>
#include <string>

#include "policies/vocabulary/check.hpp"
#include "workloads/learner/torch_learner.hpp"
#include "workloads/learner/torch_version.hpp"

#ifdef TANDEM_TORCH_HAS_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#endif

namespace tandem {
namespace {

#if TANDEM_TORCH_SINCE(2, 4)

using at::autocast::get_autocast_dtype;
using at::autocast::is_autocast_enabled;
using at::autocast::set_autocast_dtype;
using at::autocast::set_autocast_enabled;

#else

bool is_autocast_enabled(at::DeviceType device) {
  return device == at::kCUDA ? at::autocast::is_enabled() : at::autocast::is_cpu_enabled();
}
at::ScalarType get_autocast_dtype(at::DeviceType device) {
  return device == at::kCUDA ? at::autocast::get_autocast_gpu_dtype()
                             : at::autocast::get_autocast_cpu_dtype();
}
void set_autocast_enabled(at::DeviceType device, bool enabled) {
  device == at::kCUDA ? at::autocast::set_enabled(enabled) : at::autocast::set_cpu_enabled(enabled);
}
void set_autocast_dtype(at::DeviceType device, at::ScalarType type) {
  device == at::kCUDA ? at::autocast::set_autocast_gpu_dtype(type)
                      : at::autocast::set_autocast_cpu_dtype(type);
}

#endif

/// Suppresses a warning: libtorch 2.9 asks Python users for other names of the TF32 settings. Setting only
/// those would leave the old settings in contradiction.
void allow_tf32(at::Context& context, bool allowed) {
#if TANDEM_TORCH_SINCE(2, 0)
  struct Silence final : c10::WarningHandler {
    void process(const c10::Warning&) override {}
  } silence;
  const c10::WarningUtils::WarningHandlerGuard quiet(&silence);
#endif
  context.setAllowTF32CuBLAS(allowed);
  context.setAllowTF32CuDNN(allowed);
}

/// Deterministic mode would also fill new memory, which costs time and changes nothing here.
void leave_new_memory_as_it_is() {
#if TANDEM_TORCH_SINCE(2, 2)
  at::globalContext().setDeterministicFillUninitializedMemory(false);
#endif
}

}  // namespace

void use_one_thread() {
  static std::once_flag once;
  std::call_once(once, [] {
    at::set_num_threads(1);
    if (at::get_num_interop_threads() != 1) at::set_num_interop_threads(1);
    // OpenBLAS has its own threads, which libtorch does not control; another BLAS does not have this
    // function.
    if (void* found = dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))
      reinterpret_cast<void (*)(int)>(found)(1);
  });
}

int torch_gpus() { return at::hasCUDA() ? static_cast<int>(at::getNumGPUs()) : 0; }

at::Device torch_device(const LearnerSetting& setting) {
  use_one_thread();
  if (!setting.gpu) return at::kCPU;
  const std::string wanted = "real math on cuda:" + std::to_string(*setting.gpu);
// at::hasCUDA() is also false where a libtorch with CUDA finds no GPU, which is reported below.
#ifndef TANDEM_TORCH_HAS_CUDA
  if (!at::hasCUDA())
    throw WorldError(wanted + " needs a libtorch with CUDA, and this one (" + TORCH_VERSION +
                     ") was built without CUDA: build Tandem with PyTorch's (CMAKE_PREFIX_PATH)");
#endif
  const auto gpus = at::getNumGPUs();
  if (*setting.gpu < 0 || static_cast<std::size_t>(*setting.gpu) >= gpus)
    throw WorldError(wanted + ": libtorch finds " + std::to_string(gpus) +
                     " GPUs (CUDA_VISIBLE_DEVICES selects them)");
  // To be set before the first use of cuBLAS; the size that libtorch uses on new GPUs anyway.
  if (setting.deterministic) setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  return {at::kCUDA, static_cast<at::DeviceIndex>(*setting.gpu)};
}

// As c10::cuda::getStreamFromExternal makes it, whose header only a libtorch with CUDA has.
StreamInUse::StreamInUse(at::Device device, void* stream) {
  if (stream == nullptr || !device.is_cuda()) return;
  guard_.reset_stream(c10::Stream(c10::Stream::UNSAFE, device, reinterpret_cast<c10::StreamId>(stream)));
}

void empty_libtorch_cache() {
#ifdef TANDEM_TORCH_HAS_CUDA
  c10::cuda::CUDACachingAllocator::emptyCache();
#endif
}

void make_library_handles(at::Device device) {
  if (!device.is_cuda()) return;
  const at::AutoGradMode with_gradients(true);
  const at::Tensor one = at::ones({8, 8}, at::TensorOptions(at::kFloat).device(device)).requires_grad_(true);
  // The backward pass has a thread of its own, and cuBLAS a handle for each thread.
  static_cast<void>(torch::autograd::grad({at::mm(one, one).sum()}, {one}));
}

at::Tensor tensor_over(void* data, at::IntArrayRef shape, at::ScalarType type, at::Device device) {
  return at::for_blob(data, shape)
      .options(at::TensorOptions().dtype(type).device(device))
      .target_device(device)
      .make_tensor();
}

void seed_libtorch(at::Device device, std::uint64_t seed) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(seed);
}

void TorchMode::apply() const {
  at::Context& context = at::globalContext();
  context.setBenchmarkCuDNN(!deterministic);
  context.setDeterministicCuDNN(deterministic);
  // An operation without a deterministic algorithm only warns.
  context.setDeterministicAlgorithms(deterministic, /*warn_only=*/true);
  leave_new_memory_as_it_is();
  allow_tf32(context, precision == Precision::tf32 && device.is_cuda());
}

Autocast::Autocast(const TorchMode& mode)
    : device_(mode.device.type()), active_(mode.precision == Precision::bf16) {
  if (!active_) return;
  was_enabled_ = is_autocast_enabled(device_);
  type_before_ = get_autocast_dtype(device_);
  set_autocast_dtype(device_, at::kBFloat16);
  set_autocast_enabled(device_, true);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (!active_) return;
  // Parameters change between passes, so their bf16 copies must not outlive a pass.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  set_autocast_enabled(device_, was_enabled_);
  set_autocast_dtype(device_, type_before_);
}

}  // namespace tandem
