// Every departure of a member stops all, and those that are left start again from the last commit: the rule
// of PyTorch Elastic. With too few of them, the job waits for machines and then starts again.
#include <utility>

#include "policies/recovery/policies.hpp"
#include "policies/recovery/slot_policy.hpp"

namespace tandem::recovery {
namespace {

class Restart final : public SlotPolicy {
 public:
  explicit Restart(const Setting& setting)
      : SlotPolicy(setting, cooldown_rules(setting.options)),
        replaces_(setting.options.boolean("replace")),
        admits_at_once_(setting.options.text("admit") == "at-once") {}

 protected:
  int wanted() const override { return replaces_ ? workers() : 0; }
  bool admits(bool member_departed) const override { return admits_at_once_ || member_departed; }
  bool rolls_back() const override { return true; }

 private:
  bool replaces_;
  bool admits_at_once_;
};

}  // namespace

Entry restart() {
  std::vector<OptionSpec> options = {
      {.name = "replace",
       .summary = "requests a machine in the slot of one that departed; false: waits for machines that "
                  "arrive without a request",
       .default_value = true},
      {.name = "admit",
       .summary =
           "a machine that arrives while training continues is admitted at once, which restarts all, or "
           "with the next restart",
       .default_value = std::string("at-once"),
       .choices = {"at-once", "next-restart"}}};
  for (auto& option : cooldown_options()) options.push_back(std::move(option));
  return {.name = "restart",
          .summary =
              "all workers stop when one departs, and those that are left start again from the last commit",
          .paper = "",
          .options = std::move(options),
          .make = make_policy<Restart>};
}

}  // namespace tandem::recovery
