// The codec of a job's compression for values in the memory of a compute device.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "policies/compression/codec.hpp"
#include "workloads/context.hpp"
#include "workloads/job/plan/exchange_plan.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

/// The floats of a slice in the device's memory.
inline std::span<float> floats_of(const Slice& slice) {
  return {reinterpret_cast<float*>(slice.data), static_cast<std::size_t>(slice.size.count()) / sizeof(float)};
}

/// Values and messages are in the device's memory. `encode` and `decode` are queued. If the device does not
/// have a method, the processor's codec works on copies, and waits for them. Pre: the plan has a
/// compression.
std::unique_ptr<compression::Codec> make_device_codec(const ExchangePlan& exchange, ComputeDevice& device,
                                                      const compression::Setting& setting);

}  // namespace tandem
