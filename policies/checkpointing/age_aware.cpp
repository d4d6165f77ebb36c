#include "policies/checkpointing/age_aware.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "policies/checkpointing/interval.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::checkpointing {
namespace {

/// From this interval on, no commit is planned (300,000 years).
constexpr double endless_s = 1e13;

/// All machines of a job, from now on.
class Fleet {
 public:
  explicit Fleet(std::vector<AgedMachine> machines) {
    const auto place = [](const AgedMachine& machine) { return std::pair(machine.age_s, machine.hazard); };
    std::ranges::sort(machines, std::less<>(), place);
    for (const auto& [hazard, age] : machines) {
      if (groups_.empty() || groups_.back().age != age || groups_.back().hazard != hazard)
        groups_.push_back({hazard, age, 0.0, (*hazard)(age)});
      groups_.back().machines += 1.0;
    }
  }
  /// Expected failures in the next t seconds, if each is replaced by a machine like it; infinite if a machine
  /// cannot live as long.
  double failures_within(double t) const {
    double sum = 0.0;
    for (const auto& group : groups_) {
      const double end = (*group.hazard)(group.age + t);
      if (std::isinf(end)) return end;
      sum += group.machines * (end - group.begin);
    }
    return sum;
  }

 private:
  struct Group {
    const CumulativeHazard* hazard;
    double age;
    double machines;
    double begin;  ///< cumulative hazard of one machine at this age
  };

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

std::optional<Seconds> age_aware_interval(std::vector<AgedMachine> machines, Seconds cost) {
  TANDEM_CHECK(cost.count() >= 0.0 && !machines.empty(), "cost", cost.count(), "machines", machines.size());
  if (cost == Seconds()) return Seconds();
  const Fleet fleet(std::move(machines));
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
