#include "tests/benchmarks/torch_top_k.hpp"

#include <torch/torch.h>

namespace tandem {

std::optional<Seconds> torch_top_k(ComputeDevice& device, int gpu, float* values, std::int64_t count,
                                   std::int64_t chosen, int repeats) {
  if (!at::hasCUDA()) return std::nullopt;
  const auto on_gpu = torch::dtype(torch::kFloat32).device(torch::kCUDA, static_cast<c10::DeviceIndex>(gpu));
  const torch::Tensor tensor = torch::from_blob(values, {count}, on_gpu);
  const auto select = [&] { return std::get<1>(tensor.abs().topk(chosen, 0, true, false)); };
  torch::Tensor indices = select();
  device.finish();
  const DeviceMark begin = device.mark();
  for (int repeat = 0; repeat < repeats; ++repeat) indices = select();
  const DeviceMark end = device.mark();
  device.finish();
  const Seconds all = device.between(begin, end);
  device.forget(begin);
  device.forget(end);
  return all / repeats;
}

}  // namespace tandem
