// Lists of epochs that depend on which samples are in a cache when the epoch begins (sampler shade). Workers
// and cache nodes compute the same list from the same sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "policies/cache/policy.hpp"
#include "policies/sampling/sampler.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {

/// A set of samples, with a bit for each.
class ResidentSet {
 public:
  ResidentSet() = default;
  explicit ResidentSet(std::int64_t samples) : bytes_(size_for(samples)) {}
  /// All samples that the policy of a cache node holds, or will hold when its reads have ended.
  ResidentSet(const cache::CachePolicy& policy, std::int64_t samples);

  static std::size_t size_for(std::int64_t samples) { return (static_cast<std::size_t>(samples) + 7) / 8; }
  bool has(SampleId id) const {
    const auto index = static_cast<std::size_t>(id);
    return index / 8 < bytes_.size() &&
           std::to_integer<unsigned>(bytes_[index / 8] >> (index % 8) & std::byte{1}) != 0;
  }
  /// Adds another set, given by its bytes. Pre: of equally many samples.
  void add(std::span<const std::byte> other);
  std::span<std::byte> bytes() { return bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class ResidentLists {
 public:
  /// None: the lists of the job do not depend on the content of caches.
  static std::optional<ResidentLists> of(const Job& job);

  /// `losses`: as for EpochLists::of. `resident`: of all cache nodes together.
  std::shared_ptr<const sampling::EpochList> list(std::int64_t epoch, std::span<const float> losses,
                                                  const ResidentSet& resident) const;
  std::int64_t samples() const { return data_->manifest().samples; }

 private:
  explicit ResidentLists(const DataPlan& data) : data_(&data) {}

  const DataPlan* data_;
};

}  // namespace tandem
