// A zone in which a machine died young is avoided for a while: revocations come in bursts, and a machine that
// is requested right after one often dies young too.
#include <algorithm>
#include <functional>

#include "policies/provisioning/policies.hpp"

namespace tandem::provisioning {
namespace {

class OtherZone final : public Policy {
 public:
  explicit OtherZone(const Setting& setting)
      : Policy(setting),
        young_(setting.options.real("young_s") / setting.time_scale),
        avoid_(setting.options.real("avoid_s") / setting.time_scale),
        avoided_until_(zone_count()) {}

  /// If several zones are avoided, the one that has been avoided for longest costs least.
  double cost(std::size_t slot, Seconds now) const override {
    return std::max(0.0, (avoided_until_[zone(slot)] - now).count());
  }

  void serialise(PolicyState& state) override {
    Policy::serialise(state);
    state.column("avoided_until", avoided_until_, std::identity());
  }

 protected:
  void died(std::size_t slot, Seconds age, Seconds now) override {
    if (age < young_) avoided_until_[zone(slot)] = now + avoid_;
  }

 private:
  Seconds young_;
  Seconds avoid_;
  std::vector<Seconds> avoided_until_;  ///< of each zone
};

}  // namespace

Entry other_zone() {
  constexpr double hour_s = 3600.0;
  return {.name = "other-zone",
          .summary = "as same, but first in zones in which no machine has died young recently",
          .paper = "",
          .options = {{.name = "young_s",
                       .summary = "a machine that lived for less has died young",
                       .default_value = hour_s,
                       .minimum = 0.0,
                       .maximum = 1e9},
                      {.name = "avoid_s",
                       .summary = "time after it in which other zones come first",
                       .default_value = hour_s,
                       .minimum = 0.0,
                       .maximum = 1e9}},
          .make = make_policy<OtherZone>};
}

}  // namespace tandem::provisioning
