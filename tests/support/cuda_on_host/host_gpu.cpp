// The GPUs of a rank program on emulated CUDA: libtorch computes on the processor, which can access their
// memory.
#include "runtime/gpu/cuda_device.hpp"
#include "runtime/gpu/gpu.hpp"

namespace tandem {

std::unique_ptr<ComputeDevice> make_gpu(int number) { return std::make_unique<CudaDevice>(number); }

std::optional<int> CudaDevice::libtorch_gpu() const { return std::nullopt; }

}  // namespace tandem
