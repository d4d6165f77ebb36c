#include "policies/checkpointing/age_aware.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "policies/checkpointing/interval.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::checkpointing {
namespace {

/// From this interval on, no commit is due (300,000 years).
constexpr double endless_s = 1e13;

/// All machines of a job, from now on.
class Fleet {
 public:
  Fleet(const CumulativeHazard& hazard, std::vector<double> ages_s) : hazard_(hazard) {
    std::ranges::sort(ages_s);
    for (const double age : ages_s) {
      if (groups_.empty() || groups_.back().age != age) groups_.push_back({age, 0.0, hazard(age)});
      groups_.back().machines += 1.0;
    }
  }
  /// Expected failures in the next t seconds, if each is replaced by a machine like it; infinite if a machine
  /// cannot live as long.
  double failures_within(double t) const {
    double sum = 0.0;
    for (const auto& group : groups_) {
      const double end = hazard_(group.age + t);
      if (std::isinf(end)) return end;
      sum += group.machines * (end - group.begin);
    }
    return sum;
  }

 private:
  struct Group {
    double age;
    double machines;
    double begin;  ///< cumulative hazard of one machine at this age
  };

  const CumulativeHazard& hazard_;
  std::vector<Group> groups_;
};

/// The optimal interval for the mean rate during so much work and its commit.
double interval_for(const Fleet& fleet, double work, Seconds cost) {
  const double time = work + cost.count();
  const double failures = fleet.failures_within(time);
  if (std::isinf(failures)) return 0.0;
  const double mtbf = time / failures;
  return std::isfinite(mtbf) ? optimal_interval(cost, Seconds(mtbf)).count()
                             : std::numeric_limits<double>::infinity();
}

}  // namespace

std::optional<Seconds> age_aware_interval(const CumulativeHazard& hazard, std::vector<double> ages_s,
                                          Seconds cost) {
  TANDEM_CHECK(cost.count() >= 0.0 && !ages_s.empty(), "cost", cost.count(), "machines", ages_s.size());
  if (cost == Seconds()) return Seconds();
  const Fleet fleet(hazard, std::move(ages_s));
  const auto is_too_short = [&](double work) { return interval_for(fleet, work, cost) > work; };
  double low = 0.0;
  double high = 1e-6 * cost.count();
  for (; is_too_short(high); high *= 2.0) {
    if (high > endless_s) return std::nullopt;
    low = high;
  }
  while (high - low > 1e-12 * high) {
    const double middle = low + (high - low) / 2.0;
    if (middle <= low || middle >= high) break;
    (is_too_short(middle) ? low : high) = middle;
  }
  return Seconds(low);
}

}  // namespace tandem::checkpointing
