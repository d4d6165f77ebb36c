// A share of the machines are ones that stay, the others are spot machines. Where requests for spot machines are refused,
// they go to machines that stay, too. A job keeps a machine until it departs, so those are not handed
// back when spot machines return.
#include <cmath>

#include "policies/provisioning/policies.hpp"

namespace tandem::provisioning {
namespace {

class Mixture final : public Policy {
 public:
  explicit Mixture(const Setting& setting) : Policy(setting), share_(setting.options.real("share")) {}

  double cost(std::size_t slot, Seconds) const override {
    std::size_t machines = 1, staying = 0;
    for (std::size_t other = 0; other < slot_count(); ++other) {
      if (!is_present(other) && !is_requested(other)) continue;
      ++machines;
      staying += machine(other).stays ? 1 : 0;
    }
    const bool lacks_staying =
        static_cast<double>(staying) + 1e-9 < std::ceil(share_ * static_cast<double>(machines) - 1e-9);
    return machine(slot).stays == lacks_staying ? 0.0 : 1.0;
  }

 private:
  double share_;
};

}  // namespace

Entry mixture() {
  return {
      .name = "mixture",
      .summary =
          "a share on machines that stay, the others on spot machines; where these are refused, on "
          "machines that stay",
      .paper =
          "Mao et al.: SkyServe: serving AI models across regions and clouds with spot instances. EuroSys "
          "2025; without handing machines back",
      .options = {{.name = "share",
                   .summary = "of the machines that stay, rounded up",
                   .default_value = 0.25,
                   .minimum = 0.0,
                   .maximum = 1.0}},
      .make = make_policy<Mixture>};
}

}  // namespace tandem::provisioning
