// Training continues with the members that are left. No machine is requested; those that come by themselves
// are admitted while workers are missing.
#include "policies/recovery/policies.hpp"
#include "policies/recovery/slot_policy.hpp"

namespace tandem::recovery {
namespace {

class Shrink final : public SlotPolicy {
 public:
  explicit Shrink(const Setting& setting) : SlotPolicy(setting, {}) {}

 protected:
  int wanted() const override { return 0; }
};

}  // namespace

Entry shrink() {
  return {.name = "shrink",
          .summary = "training continues with the remaining workers; no machine is requested",
          .paper = "",
          .options = {},
          .make = make_policy<Shrink>};
}

}  // namespace tandem::recovery
