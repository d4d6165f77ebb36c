#include "validation/compare/members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "policies/recovery/scaling.hpp"
#include "workloads/records/metrics.hpp"
#include "workloads/records/occupants.hpp"

namespace tandem::validation {
namespace {

/// Both draw the same lifetimes, but a measured departure is recorded when the steward's process runs, and a
/// warned departure may fall to either side of the end of a step.
constexpr double process_delay_s = 0.1;

using Key = std::pair<int, std::int64_t>;

/// The members of one result.
struct World {
  std::string name;  ///< "the simulation", or the directory of a measured run
  std::map<Key, Occupant> occupants;
  double end_s = 0;   ///< of training
  double step_s = 0;  ///< mean time of a step

  const Occupant* find(const Key& key) const {
    const auto found = occupants.find(key);
    return found == occupants.end() ? nullptr : &found->second;
  }
};

World world_of(const Results& results, const std::string& name) {
  World world{.name = name, .occupants = {}, .end_s = end_of_training(results.journal).count()};
  for (auto& occupant : occupants_of(results.journal))
    world.occupants[{occupant.slot, occupant.incarnation}] = std::move(occupant);
  double sum = 0;
  for (const auto& step : results.journal.steps) sum += step.duration().count();
  if (!results.journal.steps.empty()) world.step_s = sum / static_cast<double>(results.journal.steps.size());
  return world;
}

std::optional<double> seconds_of(const std::optional<Seconds>& time) {
  return time ? std::optional(time->count()) : std::nullopt;
}

std::optional<double> after_departure(const Occupant& occupant, const std::optional<Seconds>& time) {
  if (!occupant.departed || !time) return std::nullopt;
  return (*time - *occupant.departed).count();
}

ComparedOccupant compared(const Key& key, const Occupant* simulated, const Occupant* measured) {
  static const Occupant nobody;
  const Occupant& ours = simulated == nullptr ? nobody : *simulated;
  const Occupant& theirs = measured == nullptr ? nobody : *measured;
  return {.slot = key.first,
          .incarnation = key.second,
          .host = ours.host.empty() ? theirs.host : ours.host,
          .cause = ours.cause.empty() ? theirs.cause : ours.cause,
          .joined = {seconds_of(ours.joined), seconds_of(theirs.joined)},
          .departed = {seconds_of(ours.departed), seconds_of(theirs.departed)},
          .noticed_after = {after_departure(ours, ours.noticed), after_departure(theirs, theirs.noticed)},
          .gone_after = {after_departure(ours, ours.gone), after_departure(theirs, theirs.gone)}};
}

/// The differences of a simulation and one measured run.
class Differences {
 public:
  Differences(const World& simulated, const World& measured)
      : simulated_(simulated),
        measured_(measured),
        slack_s_(process_delay_s + std::max(simulated.step_s, measured.step_s)) {
    std::map<Key, Occupant> all = simulated.occupants;
    all.insert(measured.occupants.begin(), measured.occupants.end());
    for (const auto& [key, unused] : all) compare(key);
  }

  std::vector<std::string> words{};
  int after_the_end = 0;

 private:
  void compare(const Key& key) {
    static const Occupant nobody;
    const Occupant* ours = simulated_.find(key);
    const Occupant* theirs = measured_.find(key);
    name_ = fmt::format("machine {} of slot {} ({})", key.second, key.first,
                        (ours == nullptr ? theirs : ours)->host);
    const Occupant& here = ours == nullptr ? nobody : *ours;
    const Occupant& there = theirs == nullptr ? nobody : *theirs;
    if (here.joined.has_value() != there.joined.has_value())
      return only_one("joined", here.joined, there.joined);
    if (here.departed.has_value() != there.departed.has_value())
      return only_one("departed", here.departed, there.departed);
    if (!here.departed) return;
    if (here.host != there.host)
      words.push_back(fmt::format("{} is on {} in {}", name_, there.host, measured_.name));
    if (here.cause != there.cause)
      words.push_back(fmt::format("{} was {} in {} and {} in {}", name_, here.cause, simulated_.name,
                                  there.cause, measured_.name));
    const double own = here.lifetime()->count(), other = there.lifetime()->count();
    if (std::abs(own - other) > slack_s_)
      words.push_back(fmt::format("{} lived for {:.4g} s in {} and for {:.4g} s in {}", name_, own,
                                  simulated_.name, other, measured_.name));
  }

  void only_one(const char* event, const std::optional<Seconds>& here, const std::optional<Seconds>& there) {
    const World& with = here ? simulated_ : measured_;
    const World& without = here ? measured_ : simulated_;
    const double time = (here ? *here : *there).count();
    if (time + slack_s_ >= without.end_s) {
      ++after_the_end;
      return;
    }
    words.push_back(
        fmt::format("{} {} at {:.4g} s in {} and not in {}", name_, event, time, with.name, without.name));
  }

  const World& simulated_;
  const World& measured_;
  double slack_s_;
  std::string name_;
};

struct Counts {
  double departures = 0;
  double arrivals = 0;
  double lost_samples = 0;
};

Counts counts_of(const Results& results, const World& world) {
  const SampleCounts samples = sample_counts(results.info, results.journal);
  Counts counts;
  counts.lost_samples =
      samples.lost_is_known ? static_cast<double>(samples.lost) : std::numeric_limits<double>::quiet_NaN();
  for (const auto& [key, occupant] : world.occupants) {
    counts.departures += occupant.departed ? 1 : 0;
    counts.arrivals += occupant.arrived() ? 1 : 0;
  }
  return counts;
}

}  // namespace

double rate_factor_of(const Experiment& experiment, int workers) {
  const auto first = static_cast<int>(experiment.placement.workers.size());
  return recovery::rate_factor(experiment.recovery.scale_rate, std::max(1, first), std::max(1, workers));
}

std::optional<double> Members::largest_shift() const {
  std::optional<double> largest;
  for (const auto& occupant : occupants) {
    const auto& [simulated, measured] = occupant.departed;
    if (simulated && measured) largest = std::max(largest.value_or(0.0), std::abs(*simulated - *measured));
  }
  return largest;
}

BothWorlds Members::mean(BothWorlds ComparedOccupant::*lag) const {
  const auto mean_of = [&](std::optional<double> BothWorlds::*world) -> std::optional<double> {
    double sum = 0;
    int count = 0;
    for (const auto& occupant : occupants) {
      if (!(occupant.*lag.*world)) continue;
      sum += *(occupant.*lag.*world);
      ++count;
    }
    if (count == 0) return std::nullopt;
    return sum / count;
  };
  return {mean_of(&BothWorlds::simulated), mean_of(&BothWorlds::measured)};
}

std::optional<double> Members::lost_per_departure() const {
  const double count = std::max(departures.simulated, departures.measured);
  const double difference = lost_samples.simulated - lost_samples.measured;
  if (count == 0 || std::isnan(difference)) return std::nullopt;
  return difference / count;
}

std::optional<double> Members::lost_steps_per_departure() const {
  const auto samples = lost_per_departure();
  if (!samples || batch == 0) return std::nullopt;
  return *samples / batch;
}

std::optional<Members> compare_members(const Results& simulated, const std::vector<Results>& measured) {
  if (!simulated.info.experiment.transience.may_depart()) return std::nullopt;
  const World ours = world_of(simulated, "the simulation");
  const Counts own = counts_of(simulated, ours);
  Members members{.departures = {own.departures, 0},
                  .arrivals = {own.arrivals, 0},
                  .lost_samples = {own.lost_samples, 0},
                  .batch = simulated.info.experiment.workload.batch};
  const auto runs = static_cast<double>(measured.size());
  for (const auto& run : measured) {
    const World theirs = world_of(run, run.path);
    const Counts counts = counts_of(run, theirs);
    members.departures.measured += counts.departures / runs;
    members.arrivals.measured += counts.arrivals / runs;
    members.lost_samples.measured += counts.lost_samples / runs;
    const Differences differences(ours, theirs);
    members.differences.insert(members.differences.end(), differences.words.begin(), differences.words.end());
    members.after_the_end += differences.after_the_end;
    if (&run != &measured.front()) continue;
    std::map<Key, Occupant> all = ours.occupants;
    all.insert(theirs.occupants.begin(), theirs.occupants.end());
    for (const auto& [key, unused] : all)
      members.occupants.push_back(compared(key, ours.find(key), theirs.find(key)));
  }
  return members;
}

}  // namespace tandem::validation
