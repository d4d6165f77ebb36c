// Zones that are up and down in turn, for exponentially distributed times. All machines of a zone depart
// when it goes down; until it is up again no machine is available there.
#include <algorithm>
#include <cmath>

#include "policies/lifetimes/models.hpp"

namespace tandem::lifetimes {
namespace {

class MarkovFates final : public KnownFates {
 public:
  explicit MarkovFates(const FatesSetting& setting)
      : rules_(setting.options),
        seed_(setting.seed),
        groups_(setting.groups),
        up_mean_(setting.options.real("up_mean")),
        down_mean_(setting.options.real("down_mean")) {}

  double obtainable(std::size_t slot, double time) override {
    const auto [index, changes] = period_of(slot, time);
    return is_up(index) ? time : (*changes)[index];
  }

 protected:
  Departure departure_of(Occupant occupant, double time) override {
    Rng rng = stream_of(seed_, occupant);
    const auto [index, changes] = period_of(occupant.slot, time);
    return {time + rules_.bounded((*changes)[index] - time), occupant, rules_.how(rng)};
  }

 private:
  struct Zone {
    Rng rng;
    std::vector<double> changes;  ///< from up to down, from down to up, ...
  };

  static bool is_up(std::size_t period) { return period % 2 == 0; }
  /// The number of changes up to `time`, and the changes at least until the next one.
  std::pair<std::size_t, const std::vector<double>*> period_of(std::size_t slot, double time) {
    TANDEM_CHECK(slot < groups_.size(), "slot", slot, "slots", groups_.size());
    const auto group = groups_[slot];
    auto& zone = zones_.try_emplace(group, Zone{Rng::stream(seed_, "zone", group), {}}).first->second;
    while (zone.changes.empty() || zone.changes.back() <= time) {
      const double mean = is_up(zone.changes.size()) ? up_mean_ : down_mean_;
      zone.changes.push_back((zone.changes.empty() ? 0.0 : zone.changes.back()) -
                             mean * std::log(1.0 - zone.rng.uniform()));
    }
    const auto index = std::ranges::upper_bound(zone.changes, time) - zone.changes.begin();
    return {static_cast<std::size_t>(index), &zone.changes};
  }

  CommonRules rules_;
  std::uint64_t seed_;
  std::vector<std::size_t> groups_;
  double up_mean_;
  double down_mean_;
  std::map<std::size_t, Zone> zones_;
};

}  // namespace

Entry markov() {
  return {.name = "markov",
          .summary = "zones go down, with all of their machines, and up again; they are up at the start",
          .paper = "",
          .options = {seconds_option("up_mean", "mean time in seconds for which a zone is up", 86400.0),
                      seconds_option("down_mean", "mean time in seconds for which a zone is down", 3600.0)},
          .make = {.lifetime = nullptr, .fates = make_fates_of<MarkovFates>}};
}

}  // namespace tandem::lifetimes
