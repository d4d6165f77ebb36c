// The devices of a program that uses emulated CUDA.
#include "runtime/gpu/cuda_device.hpp"
#include "tests/runtime/gpu/tested_device.hpp"
#include "tests/support/cuda_on_host/cuda_on_host.hpp"

namespace tandem {

std::vector<TestedDevice> tested_devices() {
  const auto host = [] { return std::shared_ptr<ComputeDevice>(&host_device(), [](ComputeDevice*) {}); };
  const auto emulated = []() -> std::shared_ptr<ComputeDevice> {
    cuda_on_host::reset();
    return std::make_shared<CudaDevice>(0);
  };
  return {{"Host", host}, {"CudaOnHost", emulated}};
}

}  // namespace tandem
