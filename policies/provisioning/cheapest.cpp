// Requests machines where they cost least per hour, whatever they do there.
#include "policies/provisioning/policies.hpp"

namespace tandem::provisioning {
namespace {

class Cheapest final : public Policy {
 public:
  explicit Cheapest(const Setting& setting) : Policy(setting) {}
  double cost(std::size_t slot, Seconds) const override { return machine(slot).price_per_hour; }
};

}  // namespace

Entry cheapest() {
  return {.name = "cheapest",
          .summary = "where a machine costs least per hour (price_per_hour or offer of the host)",
          .paper = "",
          .options = {},
          .make = make_policy<Cheapest>};
}

}  // namespace tandem::provisioning
