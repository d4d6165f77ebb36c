// The GPUs in a build with CUDA; libtorch uses the same numbers.
#include "runtime/gpu/cuda_device.hpp"
#include "runtime/gpu/gpu.hpp"

namespace tandem {

std::unique_ptr<ComputeDevice> make_gpu(int number) { return std::make_unique<CudaDevice>(number); }

std::optional<int> CudaDevice::libtorch_gpu() const { return gpu_; }

}  // namespace tandem
