#include "tests/benchmarks/torch_top_k.hpp"

#include <torch/torch.h>

#include "workloads/learner/torch_mode.hpp"

namespace tandem {

std::function<void(bool)> make_torch_top_k(int gpu, void* stream, float* values, std::int64_t count,
                                           std::int64_t chosen) {
  if (!at::hasCUDA()) return {};
  const auto on_gpu = torch::dtype(torch::kFloat32).device(torch::kCUDA, static_cast<c10::DeviceIndex>(gpu));
  const torch::Tensor tensor = torch::from_blob(values, {count}, on_gpu);
  return [tensor, stream, chosen, result = torch::Tensor()](bool magnitudes) mutable {
    const StreamInUse in_use(tensor.device(), stream);
    const torch::Tensor from = magnitudes ? tensor.abs() : tensor;
    result = std::get<1>(from.topk(chosen, 0, true, false));
  };
}

}  // namespace tandem
