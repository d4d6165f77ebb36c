// Machines that die together: each group has common shocks, in each of which every member dies with some
// probability, besides a constant hazard of its own.
#include <algorithm>
#include <cmath>

#include "policies/lifetimes/models.hpp"

namespace tandem::lifetimes {
namespace {

/// One machine alone: shocks thinned by `chance` are a constant hazard, too.
class OneOfShocks final : public Lifetime {
 public:
  explicit OneOfShocks(const Options& options)
      : rate_(1.0 / options.real("mean") + options.real("chance") / options.real("shock_mean")) {}
  double survival(double t) const override { return rate_ > 0.0 ? std::exp(-rate_ * t) : 1.0; }
  double hazard(double) const override { return rate_; }
  double time_of_survival(double s) const override {
    if (s >= 1.0) return 0.0;
    return rate_ > 0.0 ? -std::log(s) / rate_ : infinity;
  }
  double area(double from, double to) const override {
    return rate_ > 0.0 ? (survival(from) - survival(to)) / rate_ : to - from;
  }

 private:
  double rate_;
};

class ShockFates final : public KnownFates {
 public:
  explicit ShockFates(const FatesSetting& setting)
      : rules_(setting.options),
        seed_(setting.seed),
        groups_(setting.groups),
        mean_(setting.options.real("mean")),
        shock_mean_(setting.options.real("shock_mean")),
        chance_(setting.options.real("chance")) {
    // A machine waits for 1/chance shocks.
    if (chance_ > 0.0 && chance_ < least_chance)
      throw OptionError("shocks", "chance", "0, or a number from " + to_text(least_chance) + " to 1",
                        chance_);
  }

 protected:
  Departure departure_of(Occupant occupant, double time) override {
    Rng rng = stream_of(seed_, occupant);
    const double draw = rng.uniform();
    const double own = std::isinf(mean_) ? infinity : -mean_ * std::log(1.0 - draw);
    const How how = rules_.how(rng);
    const double latest = time + std::min(own, rules_.limit());
    const double shock = death_in_shock(occupant, time, latest, rng) - time;
    return {time + rules_.bounded(std::min(own, shock)), occupant, how};
  }

 private:
  static constexpr double least_chance = 1e-4;

  struct Shocks {
    Rng rng;
    std::vector<double> times;
  };

  /// The first shock after `time` in which the occupant dies, or infinity if none is before `latest`.
  double death_in_shock(Occupant occupant, double time, double latest, Rng& rng) {
    if (chance_ <= 0.0 || std::isinf(shock_mean_)) return infinity;
    TANDEM_CHECK(occupant.slot < groups_.size(), "slot", occupant.slot, "slots", groups_.size());
    const auto group = groups_[occupant.slot];
    auto& shocks = shocks_.try_emplace(group, Shocks{Rng::stream(seed_, "shocks", group), {}}).first->second;
    // All members of a group meet the same sequence.
    std::size_t index = 0;
    while (true) {
      if (index == shocks.times.size())
        shocks.times.push_back((index == 0 ? 0.0 : shocks.times[index - 1]) -
                               shock_mean_ * std::log(1.0 - shocks.rng.uniform()));
      const double shock = shocks.times[index++];
      if (shock >= latest) return infinity;
      if (shock > time && rng.uniform() < chance_) return shock;
    }
  }

  CommonRules rules_;
  std::uint64_t seed_;
  std::vector<std::size_t> groups_;
  double mean_;
  double shock_mean_;
  double chance_;
  std::map<std::size_t, Shocks> shocks_;  ///< by group, those that were needed so far
};

}  // namespace

Entry shocks() {
  return {
      .name = "shocks",
      .summary = "own constant hazard, and common shocks of a zone in which each machine dies with a chance",
      .paper = "Marshall, Olkin: A Multivariate Exponential Distribution. JASA 1967",
      .options = {{"mean", "mean lifetime in seconds without shocks", 86400.0, 1e-9, infinity},
                  {"shock_mean", "mean time in seconds between shocks of a zone", 172800.0, 1e-9, infinity},
                  {"chance", "with which each machine of the zone dies in a shock; 0: independent", 0.5, 0.0,
                   1.0}},
      .make = {.lifetime = make_lifetime_of<OneOfShocks>, .fates = make_fates_of<ShockFates>}};
}

}  // namespace tandem::lifetimes
