// Host memory for the processor's work on vectors of a device. Includes no header of CUDA.
#pragma once

#include <cstddef>
#include <span>

#include "workloads/vectors/compute_device.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {

/// Pinned, so that the device copies at full speed and in any queue; as large as the largest vector so far.
/// Its device must outlive it.
template <class Element>
class HostCopy {
 public:
  explicit HostCopy(ComputeDevice& device) : device_(device) {}
  /// Memory for this number of uninitialised elements. Earlier contents are lost if the memory had to grow.
  std::span<Element> of(std::size_t elements) {
    if (memory_.size() < elements) memory_ = PinnedArray<Element>(device_, elements);
    return memory_.span().first(elements);
  }

 private:
  ComputeDevice& device_;
  PinnedArray<Element> memory_;
};

}  // namespace tandem
