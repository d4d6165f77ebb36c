// In the zone with the fewest machines, those requested included: machines of a zone fall together, so that
// one burst takes as few as possible.
#include "policies/provisioning/policies.hpp"

namespace tandem::provisioning {
namespace {

class Diversify final : public Policy {
 public:
  explicit Diversify(const Setting& setting) : Policy(setting) {}

  double cost(std::size_t slot, Seconds) const override {
    int machines = 0;
    for (std::size_t other = 0; other < slot_count(); ++other)
      if (zone(other) == zone(slot) && (is_present(other) || is_requested(other))) ++machines;
    return machines;
  }
};

}  // namespace

Entry diversify() {
  return {.name = "diversify",
          .summary = "in the zone with the fewest machines",
          .paper = "",
          .options = {},
          .make = make_policy<Diversify>};
}

}  // namespace tandem::provisioning
