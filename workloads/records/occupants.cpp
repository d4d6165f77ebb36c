#include "workloads/records/occupants.hpp"

#include <algorithm>
#include <iterator>
#include <map>

namespace tandem {
namespace {

std::optional<Seconds>* moment_of(Occupant& occupant, const std::string& event) {
  static const std::map<std::string, std::optional<Seconds> Occupant::*> moments = {
      {"ready", &Occupant::ready},       {"joined", &Occupant::joined},   {"warned", &Occupant::warned},
      {"departed", &Occupant::departed}, {"noticed", &Occupant::noticed}, {"gone", &Occupant::gone},
      {"released", &Occupant::released}};
  const auto found = moments.find(event);
  return found == moments.end() ? nullptr : &(occupant.*found->second);
}

/// As a worker.
std::optional<Seconds> end_of_work(const Occupant& occupant) {
  return occupant.released ? occupant.released : occupant.departed;
}

}  // namespace

std::optional<Seconds> Occupant::lifetime() const {
  if (!departed) return std::nullopt;
  const auto came_up = ready ? ready : joined;
  return *departed - came_up.value_or(Seconds(0));
}

std::vector<Occupant> occupants_of(const Journal& journal) {
  std::map<std::pair<int, std::int64_t>, Occupant> all;
  for (const auto& change : journal.membership) {
    // Rows of all workers, and of requests, are about no machine.
    if (change.slot < 0 || change.event == "requested" || change.event == "refused") continue;
    Occupant& occupant = all[{change.slot, change.incarnation}];
    occupant.slot = change.slot;
    occupant.incarnation = change.incarnation;
    occupant.host = change.host;
    if (change.event == "departed") occupant.cause = change.cause;
    if (auto* const moment = moment_of(occupant, change.event)) *moment = change.time;
    if (change.event == "joined") occupant.released.reset();
  }
  std::vector<Occupant> occupants;
  for (auto& [key, occupant] : all) occupants.push_back(std::move(occupant));
  return occupants;
}

std::vector<Rank> ranks_of_slots(const RunInfo& info) {
  std::vector<Rank> ranks;
  for (std::size_t rank = 0; rank < info.roles.size(); ++rank)
    if (info.roles[rank] == "worker") ranks.push_back(static_cast<Rank>(rank));
  return ranks;
}

std::vector<std::pair<Seconds, int>> live_workers(const std::vector<Occupant>& occupants) {
  std::map<Seconds, int> changes;
  for (const auto& occupant : occupants) {
    if (!occupant.joined) continue;
    // The first ones join within the same instant, but are recorded one after the other.
    ++changes[occupant.arrived() ? *occupant.joined : Seconds(0)];
    if (const auto end = end_of_work(occupant)) --changes[*end];
  }
  std::vector<std::pair<Seconds, int>> live;
  int count = 0;
  for (const auto& [time, change] : changes) live.emplace_back(time, count += change);
  return live;
}

std::vector<TimeOfWorkers> times_by_workers(const Journal& journal) {
  const auto live = live_workers(occupants_of(journal));
  const Seconds end = end_of_training(journal);
  std::map<int, TimeOfWorkers> by_count;
  for (std::size_t i = 0; i < live.size() && live[i].first < end; ++i) {
    const Seconds until = i + 1 < live.size() ? std::min(live[i + 1].first, end) : end;
    by_count[live[i].second].time += until - live[i].first;
  }
  for (const StepRecord& step : journal.steps) {
    // A step that ends as the number changes was done with the number before.
    const auto change =
        std::ranges::lower_bound(live, step.start + step.duration(), {}, &std::pair<Seconds, int>::first);
    if (change != live.begin()) by_count[std::prev(change)->second].samples += step.samples;
  }
  std::vector<TimeOfWorkers> times;
  for (auto& [workers, time] : by_count) {
    time.workers = workers;
    times.push_back(time);
  }
  return times;
}

std::vector<std::pair<Seconds, Seconds>> absences(const std::vector<Occupant>& occupants, int slot,
                                                  Seconds end) {
  std::vector<std::pair<Seconds, Seconds>> absent;
  std::optional<Seconds> since;
  for (const auto& occupant : occupants) {
    if (occupant.slot != slot || !occupant.joined) continue;
    if (since && *since < *occupant.joined) absent.emplace_back(*since, *occupant.joined);
    since = end_of_work(occupant);
  }
  if (since && *since < end) absent.emplace_back(*since, end);
  return absent;
}

Seconds end_of_training(const Journal& journal) {
  Seconds end{};
  for (const auto& step : journal.steps) end = std::max(end, step.start + step.duration());
  return end;
}

}  // namespace tandem
