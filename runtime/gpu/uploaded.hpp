// Tables of the host in the memory of a device.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "workloads/vectors/compute_device.hpp"
#include "workloads/vectors/host_copy.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {

/// A copy of the items. Waits for the device.
template <class Item>
DeviceArray<Item> uploaded(ComputeDevice& device, const std::vector<Item>& items) {
  HostCopy<Item> pinned(device);
  const std::span<Item> from = pinned.of(items.size());
  std::ranges::copy(items, from.begin());
  DeviceArray<Item> array(device, items.size());
  copy_and_await(device, array.data(), from.data(), from.size_bytes());
  return array;
}

}  // namespace tandem
