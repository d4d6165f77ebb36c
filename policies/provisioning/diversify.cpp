// Machines are spread over zones, since those of a zone fall together. Without further options: in the zone
// with the fewest machines, so that one burst takes as few as possible. With a number of machines that have
// to stay alive: where that is most probable, if each dies alone, and bursts come to each zone alike and take
// each of its machines with one probability (lifetime model `shocks`). As many as there are stay alive most
// probably together, fewer of them apart. With a probability that is enough: where a machine costs least, of
// those with which it is reached; where it is reached nowhere, most probably.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "policies/provisioning/policies.hpp"

namespace tandem::provisioning {
namespace {

/// By number of machines: the probability that this number is alive.
using Alive = std::vector<double>;

Alive together(const Alive& one, const Alive& other) {
  Alive both(one.size() + other.size() - 1, 0.0);
  for (std::size_t i = 0; i < one.size(); ++i)
    for (std::size_t j = 0; j < other.size(); ++j) both[i + j] += one[i] * other[j];
  return both;
}

/// `each`: the probability of one, independent of the others.
Alive independent(int machines, double each) {
  Alive alive = {1.0};
  for (int machine = 0; machine < machines; ++machine) alive = together(alive, {1.0 - each, each});
  return alive;
}

class Diversify final : public Policy {
 public:
  explicit Diversify(const Setting& setting)
      : Policy(setting),
        least_(setting.options.integer("alive")),
        dies_alone_(setting.options.real("dies")),
        bursts_(setting.options.real("bursts")),
        taken_(setting.options.real("taken")),
        enough_(setting.options.real("enough")) {}

  double cost(std::size_t slot, Seconds) const override {
    std::vector<int> machines(zone_count(), 0);
    for (std::size_t other = 0; other < slot_count(); ++other)
      if (is_present(other) || is_requested(other)) ++machines[zone(other)];
    const int in_zone = machines[zone(slot)]++;
    if (least_ == 0 && enough_ == 0.0) return in_zone;
    const double fewer = fewer_alive(std::move(machines));
    constexpr double rounding = 1e-12;
    if (enough_ == 0.0 || 1.0 - fewer < enough_ - rounding) return fewer;
    // Before those that are not enough, by price.
    return -1.0 / (1.0 + machine(slot).price_per_hour);
  }

 private:
  /// The probability that fewer than `least_` are alive.
  double fewer_alive(std::vector<int> machines) const {
    // Zones are alike: equal numbers of machines give equal costs, to the last bit.
    std::ranges::sort(machines);
    Alive all = {1.0};
    for (const int of_zone : machines) all = together(all, in_one_zone(of_zone));
    double fewer = 0.0;
    for (std::size_t alive = 0; alive < all.size() && static_cast<std::int64_t>(alive) < least_; ++alive)
      fewer += all[alive];
    return fewer;
  }

  /// Over the number of bursts, which has a Poisson distribution.
  Alive in_one_zone(int machines) const {
    constexpr int most_bursts = 200;
    Alive all(static_cast<std::size_t>(machines) + 1, 0.0);
    double probability = std::exp(-bursts_), left = 1.0;
    for (int count = 0; count < most_bursts && left > 0.0; ++count) {
      const Alive alive = independent(machines, (1.0 - dies_alone_) * std::pow(1.0 - taken_, count));
      for (std::size_t i = 0; i < all.size(); ++i) all[i] += probability * alive[i];
      left -= probability;
      probability *= bursts_ / (count + 1);
    }
    return all;
  }

  std::int64_t least_;
  double dies_alone_;
  double bursts_;
  double taken_;
  double enough_;
};

OptionSpec probability(const std::string& name, const std::string& summary, double value) {
  return {.name = name, .summary = summary, .default_value = value, .minimum = 0.0, .maximum = 1.0};
}

}  // namespace

Entry diversify() {
  return {
      .name = "diversify",
      .summary =
          "in the zone with the fewest machines, or where most probably `alive` machines stay alive, or "
          "where "
          "that is probable enough and a machine costs least",
      .paper =
          "Harlap, Chung, Tumanov, Ganger, Gibbons: Tributary: spot-dancing for elastic services with "
          "latency SLOs. ATC 2018; one machine at a time",
      .options = {{.name = "alive",
                   .summary = "machines that have to stay alive; 0: the fewest in each zone",
                   .default_value = std::int64_t{0},
                   .minimum = 0,
                   .maximum = 1e6},
                  probability("dies", "probability that a machine dies alone in the time looked ahead", 0.1),
                  {.name = "bursts",
                   .summary = "expected number of bursts in a zone in that time",
                   .default_value = 0.1,
                   .minimum = 0.0,
                   .maximum = 20.0},
                  probability("taken", "probability with which a burst takes a machine of its zone", 1.0),
                  probability("enough",
                              "probability of `alive` machines from which on prices decide, without `alive` "
                              "always; 0: they never do",
                              0.0)},
      .make = make_policy<Diversify>};
}

}  // namespace tandem::provisioning
