// A provider's limit: an age at which many machines end together, and which none outlives. Pure.
#pragma once

#include <optional>
#include <vector>

#include "policies/lifetimes/estimate/survival.hpp"

namespace tandem::lifetimes {

struct CommonLimit {
  double age = 0.0;   ///< the longest duration
  double ends = 0.0;  ///< machines that died, or ended by a stated limit, at this age
};

/// The limit that the observations show. It is the longest duration, if the machines that end there (within
/// 0.1 %) are at least 5 and 2 % of all ends, and at least three times as many as at any other age, so that
/// neither ages in whole hours nor a steep hazard pass for a limit. None if no machine dies earlier: then
/// nothing is known of the ages below the limit.
std::optional<CommonLimit> common_limit(const std::vector<Observation>& observations);

/// The machines that end at the limit are censored there: the limit ends them, not their hazard.
std::vector<Observation> censored_at(const CommonLimit& limit, std::vector<Observation> observations);

}  // namespace tandem::lifetimes
