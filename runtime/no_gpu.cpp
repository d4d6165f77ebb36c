// A build without CUDA sees no GPU.
#include "policies/vocabulary/check.hpp"
#include "runtime/gpu.hpp"

namespace tandem {

int gpu_count() { return 0; }

std::unique_ptr<ComputeDevice> make_gpu(int number) {
  throw WorldError("GPU " + std::to_string(number) + ": this tandem-rank was built without CUDA");
}

}  // namespace tandem
