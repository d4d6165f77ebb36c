#include "workloads/job/plan/commit_machines.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "platforms/description_index.hpp"
#include "policies/lifetimes/catalog.hpp"
#include "policies/vocabulary/choices.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/job/placement/host_lifetime.hpp"
#include "workloads/job/plan/machines_of_job.hpp"
#include "workloads/job/plan/workers_of_generation.hpp"

namespace tandem {
namespace {

using nlohmann::json;

/// As RestartSteward numbers the slots. Of a machine with several workers, the first one's.
std::vector<CommitMachine> departing_machines(const Job& job, const Roster& whole) {
  std::vector<CommitMachine> machines;
  std::set<std::string> known;
  const LifetimesOfHosts lifetimes(job.spec().experiment.transience);
  const platforms::HostIndex hosts(job.spec().platform);
  int slot = 0;
  for (const Rank worker : whole.workers()) {
    const platforms::Host& host = hosts.host(whole.host_of(worker));
    if (continuation_of(job) != Continuation::in_place && !lifetimes.stay(host) &&
        known.insert(platforms::machine_of(host)).second)
      machines.push_back({slot, host.name});
    ++slot;
  }
  for (NeededMachine& machine : needed_machines(job)) machines.push_back({slot++, std::move(machine.host)});
  return machines;
}

/// Each once, as the slot of its first worker. In place, workers' hosts only if there are no others.
std::vector<CommitMachine> all_hosts(const Roster& whole, bool with_workers) {
  std::vector<CommitMachine> machines;
  std::set<std::string> known;
  int slot = 0;
  for (const Rank worker : whole.workers()) {
    const bool is_new = known.insert(whole.host_of(worker)).second;
    if (with_workers && is_new) machines.push_back({slot, whole.host_of(worker)});
    ++slot;
  }
  for (const RankAssignment& assignment : whole.assignments())
    if (known.insert(assignment.host).second) machines.push_back({slot++, assignment.host});
  return machines;
}

/// The launcher's knowledge of machines, drawn or observed.
class Known {
 public:
  Known(const Generation& generation, const std::vector<CommitMachine>& machines)
      : generation_(generation), machines_(machines) {}

  void add_events(std::vector<checkpointing::Event>& events) {
    const auto& changes = generation_.membership;
    for (auto change = changes.begin(); change != changes.end(); ++change) {
      const auto slot = slot_of(*change);
      if (!slot || change->time > generation_.began) continue;
      const auto incarnation = static_cast<int>(change->incarnation);
      if (change->event == "ready")
        events.emplace_back(checkpointing::Ready{change->time, *slot, incarnation});
      if (change->event == "departed") {
        departed_.insert(*slot);
        events.emplace_back(checkpointing::Departed{change->time, *slot, incarnation,
                                                    parse_choice<DepartureKind>(change->cause).value()});
      }
      if (change->event != "warned") continue;
      // A warning of a machine that is still there comes again.
      const auto departure = std::find_if(change, changes.end(), [&](const MembershipRecord& other) {
        return other.event == "departed" && other.slot == change->slot && other.host == change->host;
      });
      if (departure != changes.end() && departure->time <= generation_.began)
        events.emplace_back(checkpointing::Warned{change->time, *slot, departure->time - change->time});
    }
  }
  /// Deaths of ranks that have died by themselves, on machines of which nothing else is known.
  void add_deaths(std::vector<checkpointing::Event>& events) const {
    std::map<int, int> incarnations;
    for (std::size_t number = 0; number < generation_.ended.size(); ++number) {
      const auto machine =
          std::ranges::find(machines_, generation_.ended[number].died_on, &CommitMachine::host);
      if (machine == machines_.end() || departed_.contains(machine->slot)) continue;
      const bool is_last = number + 1 == generation_.ended.size();
      const Seconds at = is_last ? generation_.launched : generation_.ended[number + 1].launched;
      const int incarnation = ++incarnations[machine->slot];
      events.emplace_back(checkpointing::Departed{at, machine->slot, incarnation, DepartureKind::lost});
      events.emplace_back(checkpointing::Ready{at, machine->slot, incarnation + 1});
    }
  }

 private:
  /// The slot of the machine that changes; none: the change is not of one of these machines.
  std::optional<int> slot_of(const MembershipRecord& change) const {
    const auto machine = change.slot >= 0 ? std::ranges::find(machines_, change.slot, &CommitMachine::slot)
                                          : std::ranges::find(machines_, change.host, &CommitMachine::host);
    return machine == machines_.end() ? std::nullopt : std::optional(machine->slot);
  }

  const Generation& generation_;
  const std::vector<CommitMachine>& machines_;
  std::set<int> departed_;
};

Seconds time_of(const checkpointing::Event& event) {
  return std::visit([](const auto& one) { return one.now; }, event);
}

}  // namespace

std::vector<CommitMachine> machines_that_stop(const Job& job) {
  const Roster whole(whole_experiment(job));
  if (has_drawn_generations(job))
    if (auto machines = departing_machines(job, whole); !machines.empty()) return machines;
  auto machines = all_hosts(whole, continuation_of(job) != Continuation::in_place);
  return machines.empty() ? all_hosts(whole, true) : machines;
}

int slot_of_machine(const Job& job, const std::vector<CommitMachine>& machines, Rank rank) {
  const RankAssignment& assignment = job.roster().assignment(rank);
  const Generation* const generation = job.generation();
  int slot = -1;
  if (assignment.role == RankAssignment::Role::worker) {
    const auto index = static_cast<std::size_t>(assignment.index);
    const bool has_others = generation != nullptr && !generation->slots.empty();
    slot = has_others ? generation->slots.at(index) : assignment.index;
  }
  const auto own = std::ranges::find(machines, slot, &CommitMachine::slot);
  if (own != machines.end()) return own->slot;
  const auto machine_of_host = [&](const std::string& host) {
    return platforms::machine_of(job.spec().platform.host(host));
  };
  const std::string machine = machine_of_host(assignment.host);
  const auto shared = std::ranges::find_if(
      machines, [&](const CommitMachine& one) { return machine_of_host(one.host) == machine; });
  return shared == machines.end() ? -1 : shared->slot;
}

std::vector<checkpointing::Event> machine_events(const Job& job, const std::vector<CommitMachine>& machines,
                                                 std::optional<Seconds> known) {
  std::vector<checkpointing::Event> events;
  for (const CommitMachine& machine : machines)
    events.emplace_back(checkpointing::Ready{Seconds(), machine.slot, 1});
  if (const Generation* const generation = job.generation()) {
    Known changes(*generation, machines);
    changes.add_events(events);
    changes.add_deaths(events);
  }
  if (known) std::erase_if(events, [&](const auto& event) { return time_of(event) <= *known; });
  std::ranges::stable_sort(events, {}, time_of);
  return events;
}

json describe_lifetimes(const Job& job, const std::vector<CommitMachine>& machines) {
  if (!has_drawn_generations(job)) return {};
  json by_slot = json::object();
  const LifetimesOfHosts lifetimes(job.spec().experiment.transience);
  for (const CommitMachine& machine : machines) {
    const LifetimeModel model = lifetimes.of(job.spec().platform.host(machine.host));
    const auto& entry = lifetimes::catalog().find(model.name);
    // A list of times is no distribution.
    const auto times = model.options.find("times");
    const bool is_list = times != model.options.end() && times->second != OptionValue(std::string());
    if (entry.make.lifetime == nullptr || is_list) return {};
    json options = json::object();
    for (const auto& [name, value] : model.options) options[name] = option_to_json(value);
    by_slot[std::to_string(machine.slot)] = {{"model", model.name}, {"options", std::move(options)}};
  }
  return by_slot;
}

checkpointing::Setting checkpointing_setting(const Experiment& experiment, const Options& options,
                                             const json& lifetimes) {
  checkpointing::Setting setting{.options = options, .time_scale = experiment.transience.time_scale};
  std::map<std::string, checkpointing::CumulativeHazard> known;
  if (lifetimes.is_null()) return setting;
  for (const auto& [slot, model] : lifetimes.items()) {
    auto& hazard = known[model.dump()];
    if (!hazard) {
      std::map<std::string, OptionValue> given;
      for (const auto& [name, value] : model.at("options").items()) given[name] = option_from_json(value);
      const std::shared_ptr<const lifetimes::Lifetime> lifetime =
          lifetimes::make_lifetime(model.at("model").get<std::string>(), given);
      hazard = [lifetime, scale = setting.time_scale](double age_s) {
        return -std::log(lifetime->survival(age_s * scale));
      };
    }
    const auto place = static_cast<std::size_t>(std::stoi(slot));
    if (setting.hazards.size() <= place) setting.hazards.resize(place + 1);
    setting.hazards[place] = hazard;
  }
  if (known.size() == 1) setting.hazards = {known.begin()->second};
  return setting;
}

}  // namespace tandem
