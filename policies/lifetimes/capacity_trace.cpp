// A trace of how many machines are available at each time. When they are fewer than the occupants, the newest
// or the oldest of them are revoked; requests wait for free capacity.
#include <algorithm>
#include <cmath>

#include "policies/lifetimes/models.hpp"

namespace tandem::lifetimes {
namespace {

class CapacityFates final : public Fates {
 public:
  explicit CapacityFates(const FatesSetting& setting)
      : rules_(setting.options),
        seed_(setting.seed),
        counts_(numbers_of("capacity-trace", "counts", setting.options.text("counts"))),
        gap_(setting.options.real("gap")),
        newest_first_(setting.options.text("revokes") == "newest") {
    if (counts_.empty()) throw OptionError("capacity-trace", "counts", "at least one number", std::string());
    for (const double count : counts_)
      if (count != std::floor(count)) throw OptionError("capacity-trace", "counts", "whole numbers", count);
  }

  double obtainable(std::size_t, double time) override {
    const double wanted = static_cast<double>(present_.size()) + 1.0;
    for (std::size_t tick = tick_at(time); tick < counts_.size(); ++tick)
      if (counts_[tick] >= wanted) return std::max(time, begin_of(tick));
    return infinity;
  }
  void arrive(Occupant occupant, double time) override {
    TANDEM_CHECK(find(occupant.slot) == present_.end(), "slot", occupant.slot);
    TANDEM_CHECK(obtainable(occupant.slot, time) <= time, "slot", occupant.slot, "time", time);
    now_ = time;
    present_.push_back({occupant, time});
  }
  void depart(std::size_t slot, double time) override {
    const auto present = find(slot);
    TANDEM_CHECK(present != present_.end(), "slot", slot, "time", time);
    now_ = time;
    present_.erase(present);
  }
  std::optional<Departure> next() const override {
    const auto revoked = next_revoked();
    std::optional<Departure> limited;
    if (!present_.empty() && !std::isinf(rules_.limit()))
      limited = departure(present_.front(), present_.front().arrival + rules_.limit());
    if (!revoked || (limited && limited->time < revoked->time)) return limited;
    return revoked;
  }

 private:
  struct Present {
    Occupant occupant;
    double arrival;
  };

  double begin_of(std::size_t tick) const { return static_cast<double>(tick) * gap_; }
  /// The last count remains.
  std::size_t tick_at(double time) const {
    auto tick = static_cast<std::size_t>(std::min(time / gap_, static_cast<double>(counts_.size() - 1)));
    // Where the quotient was rounded.
    while (tick + 1 < counts_.size() && begin_of(tick + 1) <= time) ++tick;
    while (tick > 0 && begin_of(tick) > time) --tick;
    return tick;
  }
  std::vector<Present>::iterator find(std::size_t slot) {
    return std::ranges::find_if(present_, [slot](const Present& p) { return p.occupant.slot == slot; });
  }
  /// The first departure because there are fewer machines than occupants.
  std::optional<Departure> next_revoked() const {
    const auto occupants = static_cast<double>(present_.size());
    for (std::size_t tick = tick_at(now_); tick < counts_.size(); ++tick) {
      if (counts_[tick] >= occupants) continue;
      const double from = std::max(now_, begin_of(tick));
      const double until = tick + 1 < counts_.size() ? begin_of(tick + 1) : infinity;
      // The first moment in this tick at which an occupant has lived for the minimum.
      const double first = std::max(from, present_.front().arrival + rules_.minimum());
      if (first >= until) continue;
      return departure(chosen(first), first);
    }
    return std::nullopt;
  }
  /// Among those that have lived for the minimum. Pre: there is one.
  const Present& chosen(double time) const {
    if (!newest_first_) return present_.front();
    auto newest = present_.end() - 1;
    while (newest->arrival + rules_.minimum() > time) --newest;
    return *newest;
  }
  Departure departure(const Present& present, double time) const {
    Rng rng = stream_of(seed_, present.occupant);
    return {time, present.occupant, rules_.how(rng)};
  }

  CommonRules rules_;
  std::uint64_t seed_;
  std::vector<double> counts_;
  double gap_;
  bool newest_first_;
  double now_ = 0.0;
  std::vector<Present> present_;  ///< in the order of arrival
};

}  // namespace

Entry capacity_trace() {
  return {
      .name = "capacity-trace",
      .summary = "how many machines can be had at each time; occupants beyond it are revoked, requests wait",
      .paper = "",
      .options = {{"counts", "machines from 0, gap, 2 gap ... seconds on; the last number remains",
                   std::string("4")},
                  seconds_option("gap", "seconds between two counts", 60.0),
                  {.name = "revokes",
                   .summary = "which occupants depart first",
                   .default_value = std::string("newest"),
                   .choices = {"newest", "oldest"}}},
      .make = {.lifetime = nullptr, .fates = make_fates_of<CapacityFates>, .is_drawn = false}};
}

}  // namespace tandem::lifetimes
