// In the slot whose machine departed; where nothing may be requested there, in the lowest empty slot.
#include "policies/provisioning/policies.hpp"

namespace tandem::provisioning {
namespace {

class Same final : public Policy {
 public:
  explicit Same(const Setting& setting) : Policy(setting) {}
  double cost(std::size_t, Seconds) const override { return 0.0; }
};

}  // namespace

Entry same() {
  return {.name = "same",
          .summary = "in the slot whose machine departed, else in the lowest empty slot",
          .paper = "",
          .options = {},
          .make = make_policy<Same>};
}

}  // namespace tandem::provisioning
