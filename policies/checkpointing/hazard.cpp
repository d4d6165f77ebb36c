// An interval that follows the ages of the machines: where young machines fail more often than old ones, as
// with Weibull lifetimes of shape below 1, intervals grow while the machines live. The rule is that of
// age_aware.hpp, at each commit for the ages at that time (Ling, Mi, Lin, 2001; on how the rates of transient
// machines depend on age: Kadupitiya, Jadhao, Sharma, HPDC 2020).
#include <cmath>
#include <utility>

#include "policies/checkpointing/age_aware.hpp"
#include "policies/checkpointing/planning_policy.hpp"
#include "policies/checkpointing/policies.hpp"

namespace tandem::checkpointing {
namespace {

CumulativeHazard hazard_of(const Setting& setting) {
  if (setting.hazard) return setting.hazard;
  return [shape = setting.options.real("shape"), scale = setting.options.real("scale_s")](double age_s) {
    return std::pow(age_s / scale, shape);
  };
}

class Hazard final : public PlanningPolicy {
 public:
  explicit Hazard(const Setting& setting)
      : PlanningPolicy(setting.options, setting.options.boolean("on_warning")), hazard_(hazard_of(setting)) {}

 protected:
  std::optional<Decision> next_commit(Seconds now) const override {
    const auto expected = cost().expected();
    if (!expected) return NextCommitInRounds{1};
    const auto work = age_aware_interval(hazard_, machines().ages_s(now), *expected);
    if (!work) return std::nullopt;
    return NextCommitInSeconds{*work};
  }

 private:
  CumulativeHazard hazard_;
};

}  // namespace

Entry hazard() {
  return {
      .name = "hazard",
      .summary =
          "like optimal, for the failure rate that the ages of the machines imply until the next commit; "
          "Weibull lifetimes unless the job has a model of them",
      .paper =
          "intervals by rate: Ling, Mi, Lin, IEEE Trans. Computers 50(7), 2001; the implicit form is ours",
      .options = {{.name = "shape",
                   .summary = "of Weibull lifetimes; below 1: young machines fail more often",
                   .default_value = 1.0,
                   .minimum = 0.1,
                   .maximum = 10.0},
                  {.name = "scale_s",
                   .summary = "of Weibull lifetimes, in seconds; with shape 1 their mean",
                   .default_value = 86400.0,
                   .minimum = 1e-3,
                   .maximum = longest_s},
                  CommitCost::option(),
                  on_warning_option(),
                  margin_option()},
      .make = make_policy<Hazard>};
}

}  // namespace tandem::checkpointing
