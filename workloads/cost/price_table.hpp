// Prices of work in a calibration profile: medians of what was measured, and lines between them. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/rng.hpp"
#include "workloads/cost/profile.hpp"

namespace tandem {

/// `model`: see Profile::ComputeEntry.
class PriceTable {
 public:
  /// `profile` must outlive it.
  explicit PriceTable(const Profile& profile) : entries_(profile.compute) {}

  /// Seconds for the work, if measured: exact sample count, or interpolated between measured ones.
  std::optional<Seconds> price(const std::string& model, const Work& work) const;
  /// Factor on the usual time: one of the measured times of the operation that is nearest in size, over their
  /// median. 1 where nothing was measured.
  double draw_variation(const std::string& model, const Work& work, Rng& random) const;
  /// Factor on the time of this kind of work while messages are in flight: median times with messages over
  /// median times alone. At least 1; 1 where nothing was measured.
  double slowdown(const std::string& model, Work::Kind kind) const;
  /// Additional time of the first execution of this kind and bucket.
  Seconds first_extra(const std::string& model, const Work& work) const;

 private:
  const std::vector<Profile::ComputeEntry>& entries_;
};

}  // namespace tandem
