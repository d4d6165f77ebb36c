// Marks in the streams of a GPU, by events of CUDA that are used again.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "policies/vocabulary/units.hpp"
#include "runtime/gpu/cuda_check.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

/// Its GPU is the current one in all calls.
class CudaMarks {
 public:
  explicit CudaMarks(int gpu) : gpu_(gpu) {}
  CudaMarks(const CudaMarks&) = delete;
  CudaMarks& operator=(const CudaMarks&) = delete;
  ~CudaMarks() {
    for (const cudaEvent_t event : events_) static_cast<void>(cudaEventDestroy(event));
  }

  /// The position after all queued work of the stream. Errors: WorldError, as of the next two.
  DeviceMark record(cudaStream_t stream) {
    if (free_.empty()) {
      cudaEvent_t event = nullptr;
      check_cuda(cudaEventCreate(&event), "cudaEventCreate", gpu_);
      free_.reserve(events_.size() + 1);
      events_.push_back(event);
      free_.push_back(static_cast<DeviceMark>(events_.size() - 1));
    }
    const DeviceMark mark = free_.back();
    check_cuda(cudaEventRecord(events_[mark], stream), "cudaEventRecord", gpu_);
    free_.pop_back();
    return mark;
  }

  bool has_reached(DeviceMark mark) const {
    const cudaError_t error = cudaEventQuery(events_.at(mark));
    if (error == cudaErrorNotReady) {
      // CUDA keeps it as the last error, which other users of its runtime check after each launch.
      static_cast<void>(cudaGetLastError());
      return false;
    }
    check_cuda(error, "cudaEventQuery", gpu_);
    return true;
  }

  Seconds between(DeviceMark begin, DeviceMark end) const {
    float milliseconds = 0.0F;
    check_cuda(cudaEventElapsedTime(&milliseconds, events_.at(begin), events_.at(end)),
               "cudaEventElapsedTime", gpu_);
    return Seconds(1e-3 * static_cast<double>(milliseconds));
  }

  void forget(DeviceMark mark) noexcept { free_.push_back(mark); }

 private:
  int gpu_;
  std::vector<cudaEvent_t> events_;
  std::vector<DeviceMark> free_;  ///< has room for all
};

}  // namespace tandem
