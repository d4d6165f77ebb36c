// Saves and restores values in the memory of a compute device.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "workloads/vectors/compute_device.hpp"
#include "workloads/vectors/owned_mark.hpp"
#include "workloads/vectors/state_archive.hpp"

namespace tandem {

/// As StateArchive.floats. Waits for the device.
inline void serialise_floats(StateArchive& state, const std::string& name, ComputeDevice& device,
                             std::span<float> values) {
  if (device.is_host()) return state.floats(name, values);
  std::vector<float> here(values.size());
  if (!state.restores()) copy_and_await(device, here.data(), values.data(), values.size_bytes());
  state.floats(name, here);
  if (state.restores()) copy_and_await(device, values.data(), here.data(), values.size_bytes());
}

}  // namespace tandem
