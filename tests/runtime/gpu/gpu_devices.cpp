// The device of a program that is linked with real CUDA: the first GPU.
#include "runtime/gpu/cuda_device.hpp"
#include "tests/runtime/gpu/tested_device.hpp"

namespace tandem {

std::vector<TestedDevice> tested_devices() {
  const auto first = []() -> std::shared_ptr<ComputeDevice> {
    return visible_gpus().count == 0 ? nullptr : std::make_shared<CudaDevice>(0);
  };
  return {{"Gpu", first}};
}

}  // namespace tandem
