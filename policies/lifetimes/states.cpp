// Machines that go down and come up again at given times, which may repeat, as the state_file profiles of
// SimGrid platforms say. The same for every slot.
#include <algorithm>
#include <cmath>
#include <utility>

#include "policies/lifetimes/models.hpp"

namespace tandem::lifetimes {
namespace {

class StateFates final : public KnownFates {
 public:
  explicit StateFates(const FatesSetting& setting)
      : rules_(setting.options), seed_(setting.seed), period_(setting.options.real("period")) {
    const auto off = numbers_of("states", "off", setting.options.text("off"));
    const auto on = numbers_of("states", "on", setting.options.text("on"));
    for (const double time : off) changes_.emplace_back(time, false);
    for (const double time : on) changes_.emplace_back(time, true);
    std::ranges::sort(changes_);
    if (period_ > 0.0 && !changes_.empty() && changes_.back().first > period_)
      throw OptionError("states", "period", "at least the last time, " + to_text(changes_.back().first),
                        to_text(period_));
  }

  double obtainable(std::size_t, double time) override { return is_up(time) ? time : next(time, true); }

 protected:
  Departure departure_of(Occupant occupant, double time) override {
    Rng rng = stream_of(seed_, occupant);
    return {time + rules_.bounded(next(time, false) - time), occupant, rules_.how(rng)};
  }

 private:
  double round_of(double time) const { return period_ > 0.0 ? std::floor(time / period_) : 0.0; }

  bool is_up(double time) const {
    const double round = round_of(time), within = time - round * period_;
    const auto later = std::ranges::upper_bound(changes_, within, {}, &Change::first);
    if (later != changes_.begin()) return std::prev(later)->second;
    return round == 0.0 || changes_.empty() || changes_.back().second;
  }

  /// When the machine comes up (`up`) or goes down the next time after this one; infinity: never.
  double next(double time, bool up) const {
    const double first = round_of(time);
    for (double round = first; round < first + 2.0; round += 1.0) {
      for (const auto& [at, is_up_then] : changes_)
        if (is_up_then == up && round * period_ + at > time) return round * period_ + at;
      if (period_ == 0.0) break;
    }
    return infinity;
  }

  using Change = std::pair<double, bool>;  ///< time, and whether the machine is up from then on
  CommonRules rules_;
  std::uint64_t seed_;
  double period_;
  std::vector<Change> changes_;
};

}  // namespace

Entry states() {
  return {
      .name = "states",
      .summary =
          "machines go down and come up again at given times; a host of the platform with a "
          "state_file has the times of that file",
      .paper = "",
      .options = {{"off", "times in seconds at which machines go down, separated by commas", std::string()},
                  {"on", "times at which they can be had again", std::string()},
                  {"period", "seconds after which all of it repeats; 0: it does not", 0.0, 0.0, infinity}},
      .make = {.lifetime = nullptr, .fates = make_fates_of<StateFates>, .lost = 1.0}};
}

}  // namespace tandem::lifetimes
