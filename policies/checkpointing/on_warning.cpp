// A commit when a machine is announced to be taken away, if it can be complete before: time until the round
// ends, plus the cost of a commit, at most the notice. With reliable notices nothing is lost; losses without
// notice lose all work since the last commit.
#include "policies/checkpointing/planning_policy.hpp"
#include "policies/checkpointing/policies.hpp"

namespace tandem::checkpointing {
namespace {

class OnWarning final : public PlanningPolicy {
 public:
  explicit OnWarning(const Setting& setting) : PlanningPolicy(setting.options, true) {}

 protected:
  std::optional<Decision> next_commit(Seconds) const override { return std::nullopt; }
};

}  // namespace

Entry on_warning() {
  return {.name = "on-warning",
          .summary = "only when a machine is announced to be taken away, and if the notice is long enough",
          .paper = "",
          .options = {CommitCost::option()},
          .make = make_policy<OnWarning>};
}

}  // namespace tandem::checkpointing
