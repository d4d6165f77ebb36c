#include "tests/benchmarks/torch_operations.hpp"

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

std::function<void()> make_torch_convolution(int gpu, void* stream) {
  if (!at::hasCUDA()) return {};
  const at::Device device(torch::kCUDA, static_cast<c10::DeviceIndex>(gpu));
  const StreamInUse in_use(device, stream);
  const auto on_gpu = torch::dtype(torch::kBFloat16).device(device);
  const auto made = [&](at::IntArrayRef shape) {
    return torch::ones(shape, on_gpu).contiguous(at::MemoryFormat::ChannelsLast);
  };
  return [device, stream, images = made({64, 256, 28, 28}), filters = made({256, 256, 3, 3}),
          result = torch::Tensor()]() mutable {
    const torch::NoGradGuard without_gradients;
    const StreamInUse now(device, stream);
    result = at::conv2d(images, filters, {}, 1, 1);
  };
}

}  // namespace tandem
