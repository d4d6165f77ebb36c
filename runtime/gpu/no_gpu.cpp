// A build without CUDA sees no GPU.
#include "policies/vocabulary/check.hpp"
#include "runtime/gpu/gpu.hpp"

namespace tandem {

Gpus visible_gpus() { return {.count = 0, .why_none = "this tandem-rank was built without CUDA"}; }

std::unique_ptr<ComputeDevice> make_gpu(int number) {
  throw WorldError("GPU " + std::to_string(number) + ": " + visible_gpus().why_none);
}

}  // namespace tandem
