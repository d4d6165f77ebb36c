// Vectors in a device's memory that do not change while a shared pointer to them exists.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "workloads/vectors/compute_device.hpp"

namespace tandem {

using Snapshot = std::shared_ptr<FloatArray>;

/// All of one size. Memory without owners is reused instead of allocated.
class Snapshots {
 public:
  Snapshots(ComputeDevice& device, std::size_t elements) : device_(&device), elements_(elements) {}

  /// With arbitrary values; the caller is the only owner.
  Snapshot fresh() {
    for (const Snapshot& snapshot : all_)
      if (snapshot.use_count() == holders_of_all) return snapshot;
    return all_.emplace_back(std::make_shared<FloatArray>(*device_, elements_));
  }
  /// Whether `snapshot` is one of these and has one owner, who may change it.
  static bool is_held_by_owner_alone(const Snapshot& snapshot) {
    return snapshot.use_count() == holders_of_all + 1;
  }

 private:
  static constexpr long holders_of_all = 1;
  ComputeDevice* device_;
  std::size_t elements_;
  std::vector<Snapshot> all_;
};

}  // namespace tandem
