// Dynamic packages of iCache: samples of low importance that the store holds together, so that one
// sequential read brings many. When the set of such samples changes, packages that lost too many of them are
// rewritten.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "policies/cache/policy.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::cache {

/// Plans in small parts, with each request for a package, so that no request waits for a change of the set.
class Packages {
 public:
  /// A package is rewritten when fewer than `keep_share` of its samples are still wanted.
  Packages(std::int64_t samples, std::int64_t package, double keep_share, std::uint64_t seed)
      : size_(static_cast<std::size_t>(package)),
        least_(std::max(1.0, keep_share * static_cast<double>(package))),
        package_of_(static_cast<std::size_t>(samples), none),
        stride_(static_cast<std::size_t>(0.618 * static_cast<double>(samples)) | 1U),
        seed_(seed) {
    while (std::gcd(stride_, package_of_.size()) != 1) stride_ += 2;
  }

  /// The set of an epoch changed: visits all packages again, in an order of this epoch's own.
  void begin_epoch(std::int64_t epoch) {
    remaining_.clear();
    for (std::uint32_t i = 0; i < counts_.size(); ++i)
      if (counts_[i] > 0) remaining_.push_back(i);
    Rng::stream(seed_, "packages", static_cast<std::uint64_t>(epoch)).shuffle(remaining_);
    visited_ = 0;
    pool_.clear();
  }

  /// The next package to read; empty: none. `in_set(id)`: the sample belongs into packages; `wants(id)`: and
  /// it is worth reading. Visits at most `effort` samples; packages that it writes are in the decisions.
  /// Valid until the next call.
  template <class InSet, class Wants>
  std::span<const SampleId> next(std::size_t effort, const InSet& in_set, const Wants& wants,
                                 Decisions& decisions) {
    while (effort > 0 && !remaining_.empty()) {
      const std::uint32_t package = remaining_.back();
      remaining_.pop_back();
      effort -= std::min(effort, size_);
      if (survives(package, in_set) && std::ranges::any_of(stored(package), wants)) return stored(package);
    }
    if (!remaining_.empty()) return {};
    for (; effort > 0 && visited_ < package_of_.size() && pool_.size() < size_; --effort, ++visited_) {
      const SampleId id = visited(visited_);
      if (package_of_[static_cast<std::size_t>(id)] == none && wants(id)) pool_.push_back(id);
    }
    const bool is_last = visited_ == package_of_.size();
    if (pool_.empty() || (pool_.size() < size_ && !is_last)) return {};
    return write(decisions);
  }

 private:
  static constexpr std::uint32_t none = 0xffffffffU;

  std::span<const SampleId> stored(std::uint32_t package) const {
    return std::span(members_).subspan(package * size_, counts_[package]);
  }
  /// Dissolves a package that lost too many samples.
  template <class InSet>
  bool survives(std::uint32_t package, const InSet& in_set) {
    const auto members = stored(package);
    if (static_cast<double>(std::ranges::count_if(members, in_set)) >= least_) return true;
    for (const SampleId id : members) package_of_[static_cast<std::size_t>(id)] = none;
    counts_[package] = 0;
    free_.push_back(package);
    return false;
  }

  /// Neighbours in the data set, which may be of one class, go into different packages.
  SampleId visited(std::size_t position) const {
    return static_cast<SampleId>(position * stride_ % package_of_.size());
  }

  std::span<const SampleId> write(Decisions& decisions) {
    auto package = static_cast<std::uint32_t>(counts_.size());
    if (free_.empty()) {
      counts_.push_back(0);
      members_.resize(members_.size() + size_);
    } else {
      package = free_.back();
      free_.pop_back();
    }
    for (const SampleId id : pool_) package_of_[static_cast<std::size_t>(id)] = package;
    counts_[package] = static_cast<std::uint32_t>(pool_.size());
    std::ranges::copy(pool_, members_.begin() + static_cast<std::ptrdiff_t>(package * size_));
    pool_.clear();
    decisions.write_package(stored(package));
    return stored(package);
  }

  std::size_t size_;
  double least_;
  std::vector<std::uint32_t> package_of_;  ///< by id
  std::vector<SampleId> members_;          ///< of all packages, each with room for `size_`
  std::vector<std::uint32_t> counts_;      ///< by package; 0: dissolved
  std::vector<std::uint32_t> free_;        ///< dissolved ones
  std::vector<std::uint32_t> remaining_;   ///< packages to visit in this epoch
  std::size_t visited_ = 0;                ///< ids that were considered for new packages
  std::size_t stride_;
  std::vector<SampleId> pool_;  ///< of the next new package
  std::uint64_t seed_;
};

}  // namespace tandem::cache
