// An interval that follows the ages of the machines: where young machines fail more often than old ones, as
// with Weibull lifetimes of shape below 1, intervals grow while the machines live. The rule is that of
// age_aware.hpp, at each commit for the ages at that time (Ling, Mi, Lin, 2001; on how the rates of transient
// machines depend on age: Kadupitiya, Jadhao, Sharma, HPDC 2020).
#include <cmath>
#include <utility>
#include <vector>

#include "policies/checkpointing/age_aware.hpp"
#include "policies/checkpointing/planning_policy.hpp"
#include "policies/checkpointing/policies.hpp"

namespace tandem::checkpointing {
namespace {

constexpr double day_s = 86400.0;

std::vector<CumulativeHazard> hazards_of(const Setting& setting) {
  const double given = setting.options.real("scale_s");
  if (given == 0.0 && !setting.hazards.empty()) return setting.hazards;
  const double scale = given > 0.0 ? given : day_s / setting.time_scale;
  return {[shape = setting.options.real("shape"), scale](double age_s) {
    return std::pow(age_s / scale, shape);
  }};
}

class Hazard final : public PlanningPolicy {
 public:
  explicit Hazard(const Setting& setting)
      : PlanningPolicy(setting.options, setting.options.boolean("on_warning")),
        hazards_(hazards_of(setting)) {}

 protected:
  std::optional<Decision> next_commit(Seconds now) const override {
    const auto expected = cost().expected();
    if (!expected) return NextCommitInRounds{1};
    std::vector<AgedMachine> aged;
    for (const auto& machine : machines().ages(now))
      aged.push_back({&hazards_.at(hazards_.size() == 1 ? 0 : machine.slot), machine.seconds});
    const auto work = age_aware_interval(std::move(aged), *expected);
    if (!work) return std::nullopt;
    return NextCommitInSeconds{*work};
  }

 private:
  std::vector<CumulativeHazard> hazards_;
};

}  // namespace

Entry hazard() {
  return {
      .name = "hazard",
      .summary =
          "like optimal, for the failure rate that the ages of the machines imply until the next commit, by "
          "the lifetimes that the job states (transience.lifetime), or Weibull ones of its options",
      .paper =
          "intervals by rate: Ling, Mi, Lin, IEEE Trans. Computers 50(7), 2001; the implicit form is ours",
      .options = {{.name = "shape",
                   .summary =
                       "of Weibull lifetimes, where the job states no others or scale_s is given; below "
                       "1: young machines fail more often",
                   .default_value = 1.0,
                   .minimum = 0.1,
                   .maximum = 10.0},
                  {.name = "scale_s",
                   .summary = "of Weibull lifetimes, in seconds of the job, instead of those that the job "
                              "states; with shape 1 their mean; 0: as the job states, or a day",
                   .default_value = 0.0,
                   .minimum = 0.0,
                   .maximum = longest_s},
                  CommitCost::option(),
                  on_warning_option(),
                  margin_option()},
      .make = make_policy<Hazard>};
}

}  // namespace tandem::checkpointing
