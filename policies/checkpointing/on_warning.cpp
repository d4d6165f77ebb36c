// A commit after the warning that a machine will be taken away: after the last round that leaves time for it.
// With reliable notices that are long enough, less than a round and the margin is lost; losses without notice
// lose all work since the last commit.
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
          .summary = "only after the warning that a machine will be taken away, as late as the notice allows",
          .paper = "",
          .options = {CommitCost::option(), margin_option()},
          .make = make_policy<OnWarning>};
}

}  // namespace tandem::checkpointing
