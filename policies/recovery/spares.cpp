// All slots have machines; those beyond the workers wait. A departed member is followed by one that waits,
// and its slot becomes the place of a new spare.
#include "policies/recovery/policies.hpp"
#include "policies/recovery/slot_policy.hpp"

namespace tandem::recovery {
namespace {

class Spares final : public SlotPolicy {
 public:
  explicit Spares(const Setting& setting) : SlotPolicy(setting, request_rules(setting.options)) {}

 protected:
  int wanted() const override { return static_cast<int>(slots().size()); }
};

}  // namespace

Entry spares() {
  return {
      .name = "spares",
      .summary =
          "spare machines wait in the slots beyond the workers, and are admitted at once when one departs",
      .paper = "",
      .options = request_options(),
      .make = make_policy<Spares>};
}

}  // namespace tandem::recovery
