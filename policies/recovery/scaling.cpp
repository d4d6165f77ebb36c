#include "policies/recovery/scaling.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "policies/vocabulary/check.hpp"

namespace tandem::recovery {

double rate_factor(RateScale rule, int workers, int members) {
  TANDEM_CHECK(workers >= 1 && members >= 1, "workers", workers, "members", members);
  const double share = static_cast<double>(members) / workers;
  switch (rule) {
    case RateScale::keep:
      return 1.0;
    case RateScale::linear:
      return share;
    case RateScale::sqrt:
      return std::sqrt(share);
    case RateScale::inverse_sqrt:
      return std::sqrt(static_cast<double>(workers) / members);
  }
  fail_check("a rule for the rate", __FILE__, __LINE__, std::to_string(static_cast<int>(rule)));
}

double RateRamp::factor(double target, std::int64_t round) {
  if (!is_enabled()) return target;
  if (target != state_.to) state_ = {.from = at(round), .to = target, .since = round};
  return at(round);
}

double RateRamp::at(std::int64_t round) const {
  const std::int64_t step = round - state_.since + 1;
  if (step > rounds_) return state_.to;
  return state_.from + (state_.to - state_.from) * static_cast<double>(step) / (rounds_ + 1);
}

int WorkerScaling::batch_of(std::size_t place, int members) const {
  if (batch == BatchRule::keep) return 0;
  const auto shares = batches(batch, batch_size, workers, members);
  return static_cast<int>(std::max<std::int64_t>(1, shares.at(place)));
}

std::vector<std::int64_t> batches(BatchRule rule, std::int64_t batch, int workers, int members) {
  TANDEM_CHECK(batch >= 1 && workers >= 1 && members >= 1, "batch", batch, "workers", workers, "members",
               members);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(members), batch);
  if (rule == BatchRule::keep) return sizes;
  const std::int64_t all = batch * workers, remainder = all % members;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    sizes[i] = all / members + (static_cast<std::int64_t>(i) < remainder ? 1 : 0);
  return sizes;
}

}  // namespace tandem::recovery
