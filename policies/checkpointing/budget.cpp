// As often as possible while commits take at most a share of the time of the work, as the frequency of
// CheckFreq (Mohan, Phanishayee, Chidambaram, FAST 2021). The next commit follows when it and the commits so
// far are within the share of the work so far. So the interval after an expensive commit is longer.
#include <algorithm>

#include "policies/checkpointing/planning_policy.hpp"
#include "policies/checkpointing/policies.hpp"

namespace tandem::checkpointing {
namespace {

class Budget final : public PlanningPolicy {
 public:
  explicit Budget(const Setting& setting)
      : PlanningPolicy(setting.options, setting.options.boolean("on_warning")),
        share_(setting.options.real("share")) {}

 protected:
  std::optional<Decision> next_commit(Seconds) const override {
    const auto expected = cost().expected();
    if (!expected) return NextCommitInRounds{1};
    // Failed commits are not measured.
    const Seconds failed = *expected * static_cast<double>(failed_in_all());
    const Seconds due = (cost().spent() + failed + *expected) / share_ - work();
    return NextCommitInSeconds{std::max(Seconds(), due)};
  }
  std::optional<Decision> retry(Seconds now) const override {
    return cost().expected() ? next_commit(now) : PlanningPolicy::retry(now);
  }

 private:
  double share_;
};

}  // namespace

Entry budget() {
  return {
      .name = "budget",
      .summary = "as often as possible while commits take at most a share of the time of the work",
      .paper = "frequency of CheckFreq: Mohan, Phanishayee, Chidambaram, FAST 2021",
      .options = {{.name = "share",
                   .summary =
                       "time of commits over time of work, at most; default not checked against the paper",
                   .default_value = 0.035,
                   .minimum = 1e-6,
                   .maximum = 1.0},
                  CommitCost::option(),
                  on_warning_option(),
                  margin_option()},
      .make = make_policy<Budget>};
}

}  // namespace tandem::checkpointing
