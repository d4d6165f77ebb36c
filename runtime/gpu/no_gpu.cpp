// A build without CUDA sees no GPU.
#include "policies/vocabulary/check.hpp"
#include "runtime/gpu/gpu.hpp"

namespace tandem {

Gpus visible_gpus() { return {.count = 0, .why_none = "this tandem-rank was built without CUDA"}; }

namespace {

[[noreturn]] void fail(int number) {
  throw WorldError("GPU " + std::to_string(number) + ": " + visible_gpus().why_none);
}

}  // namespace

std::unique_ptr<ComputeDevice> make_gpu(int number) { fail(number); }

Bytes gpu_memory(int number) { fail(number); }

std::string gpu_address(int number) { fail(number); }

}  // namespace tandem
