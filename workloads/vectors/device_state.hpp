// Saves and puts back values in the memory of a compute device.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "workloads/state_archive.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

/// As StateArchive.floats. Waits for the device.
inline void remember_floats(StateArchive& state, const std::string& name, ComputeDevice& device,
                            std::span<float> values) {
  if (device.is_host()) return state.floats(name, values);
  std::vector<float> here(values.size());
  if (!state.restores()) {
    device.copy(here.data(), values.data(), values.size_bytes());
    device.finish();
  }
  state.floats(name, here);
  if (!state.restores()) return;
  device.copy(values.data(), here.data(), values.size_bytes());
  device.finish();
}

}  // namespace tandem
