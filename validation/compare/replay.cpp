// Replay: a policy is a pure object, so a fresh one must decide the same when it receives the recorded
// events.
#include "policies/sync/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "policies/cache/text.hpp"
#include "policies/checkpointing/replay.hpp"
#include "policies/recovery/replay.hpp"
#include "policies/sync/policy.hpp"
#include "validation/compare/gates.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/job/plan/commit_machines.hpp"
#include "workloads/job/plan/data_plan.hpp"
#include "workloads/job/plan/recovery_plan.hpp"
#include "workloads/records/jobs_summary.hpp"

namespace tandem::validation {
namespace {

int workers_of(const RunInfo& info) {
  return static_cast<int>(std::count(info.roles.begin(), info.roles.end(), "worker"));
}

/// A new policy object: its decision on a recorded event, both as text. Errors: ConfigError when the text is
/// not an event.
using Decider = std::function<std::string(const std::string& event)>;

/// For a policy whose state a resumed job restores first, and which is new in a generation with other workers.
template <class Policy>
Decider restorable(std::function<std::unique_ptr<Policy>(const sync::Begun&)> make, const sync::Begun& first,
                   std::string (*decide)(Policy&, const std::string&)) {
  return [make, policy = std::shared_ptr<Policy>(make(first)),
          decide](const std::string& event) mutable -> std::string {
    if (const auto begun = sync::begun_in(event)) {
      policy = make(*begun);
      return "";
    }
    const auto state = sync::restored_state(event);
    if (!state) return decide(*policy, event);
    restore(*policy, *state);
    return "";
  };
}

std::string decide_of_server(sync::ServerPolicy& policy, const std::string& event) {
  return sync::to_text(sync::decide(policy, sync::parse_server_event(event)));
}
std::string decide_of_worker(sync::WorkerPolicy& policy, const std::string& event) {
  return sync::decide_in_words(policy, sync::parse_worker_event(event));
}

Decider server_of(const RunInfo& info, Rank) {
  return restorable<sync::ServerPolicy>(
      [chosen = ResolvedExperiment(info.experiment)](const sync::Begun& begun) {
        return chosen.algorithm->make_server(chosen.sync_setting(begun.workers));
      },
      {.workers = workers_of(info)}, decide_of_server);
}

Decider worker_of(const RunInfo& info, Rank rank) {
  const auto index = std::count(info.roles.begin(), info.roles.begin() + rank, "worker");
  return restorable<sync::WorkerPolicy>(
      [chosen = ResolvedExperiment(info.experiment)](const sync::Begun& begun) {
        return chosen.algorithm->make_worker(chosen.sync_setting(begun.workers), begun.index);
      },
      {.workers = workers_of(info), .index = static_cast<int>(index)}, decide_of_worker);
}

Decider commits_of(const RunInfo& info, Rank) {
  const auto make = [policy = ResolvedExperiment(info.experiment).checkpointing.value(),
                     experiment = info.experiment, lifetimes = info.lifetimes] {
    return policy.make()(checkpointing_setting(experiment, policy.options(), lifetimes));
  };
  return [make, policy = std::shared_ptr(make()),
          has_started = false](const std::string& event) mutable -> std::string {
    // Each generation of a job that starts again, and each worker that gets the duty to decide, has a new
    // policy, which first continues from the last one or learns of its machines.
    const auto state = checkpointing::restored_state(event);
    if (state || (has_started && event.starts_with("ready"))) {
      policy = make();
      has_started = false;
    }
    if (state) {
      restore(*policy, *state);
      return "";
    }
    has_started = has_started || event.starts_with("started");
    return checkpointing::decide_in_words(*policy, event);
  };
}

Decider recovery_of(const RunInfo& info, Rank) {
  Experiment experiment = info.experiment;
  // Without revocations, machines of a measured job stay: its policy decided about processes that died by
  // themselves.
  const bool machines_stay = info.world == "measured" && launches_again(experiment.continuation()) &&
                             experiment.run.revoke == RevokeMode::none;
  if (machines_stay) experiment.transience = {};
  const std::shared_ptr policy = make_recovery_policy(experiment, workers_of(info), info.zones, info.slot_machines);
  return [policy](const std::string& event) { return recovery::decide_in_words(*policy, event); };
}

const std::string started_cache = cache::to_text(cache::JobChange{});

Decider cache_of(const RunInfo& info, Rank rank) {
  const auto count = [&](Rank end) {
    return static_cast<int>(std::count(info.roles.begin(), info.roles.begin() + end, "cache-node"));
  };
  const int index = count(rank), nodes = count(static_cast<Rank>(info.roles.size()));
  // Where several jobs share the caches, the one to which the ranks belong has the events of all.
  const auto shared = info.physics.find(shared_cache_key);
  const int jobs = shared == info.physics.end() ? 1 : 1 + static_cast<int>(shared->size());
  const auto data = std::make_shared<const DataPlan>(info.experiment, ResolvedExperiment(info.experiment),
                                                     workers_of(info), "");
  return [data, index, nodes, jobs, policy = std::shared_ptr<cache::CachePolicy>(),
          has_started = false](const std::string& event) mutable -> std::string {
    // Each generation of a job begins with an empty cache. A node that comes back gets events about other
    // nodes before it starts. What a tier has kept is an event before the start, too.
    const bool begins = event == cache::new_policy_text, starts = event == started_cache;
    if (policy == nullptr || begins || (starts && has_started))
      policy = data->make_cache_policy(index, nodes, jobs);
    has_started = starts || (has_started && !begins);
    if (begins) return "";
    cache::Decisions decisions;
    cache::replay_event(*policy, event, decisions);
    return cache::to_text(decisions);
  };
}

/// A side of DecisionRecord whose decisions are replayed.
struct Side {
  const char* name;
  Decider (*make)(const RunInfo& info, Rank rank);  ///< errors: ConfigError for bad options
  const std::string& (*policy)(const Experiment& experiment);
};

const std::string& algorithm_of(const Experiment& experiment) { return experiment.sync.algorithm; }

const std::string& cache_policy_of(const Experiment& experiment) { return experiment.data.cache; }

const Side* find_side(const std::string& name) {
  static const Side sides[] = {
      {"cache", cache_of, cache_policy_of},
      {"server", server_of, algorithm_of},
      {"worker", worker_of, algorithm_of},
      {"checkpointing", commits_of,
       [](const Experiment& experiment) -> const std::string& { return experiment.checkpoint.policy; }},
      {"recovery", recovery_of,
       [](const Experiment& experiment) -> const std::string& { return experiment.recovery.policy; }}};
  const auto* const found = std::ranges::find(sides, name, &Side::name);
  return found == std::end(sides) ? nullptr : found;
}

/// Fresh policy objects of one run.
class Fresh {
 public:
  explicit Fresh(const RunInfo& info)
      : info_(info),
        replays_caches_(ResolvedExperiment(info.experiment).cache->needs.manifest ||
                        info.experiment.data.peers == Peers::directory) {}

  /// The decision of the record's rank in the replay; none when its decisions are not replayed.
  std::optional<std::string> decide_again(const DecisionRecord& record) {
    const Side* side = find_side(record.side);
    if (side == nullptr || (record.side == "cache" && !replays_caches_)) return std::nullopt;
    Decider& decide = deciders_[{record.rank, record.side}];
    if (!decide) decide = side->make(info_, record.rank);
    return decide(record.event);
  }

 private:
  const RunInfo& info_;
  /// A policy that decides by requests alone, without a directory, has no other events, so nothing says where
  /// a generation begins.
  bool replays_caches_;
  std::map<std::pair<Rank, std::string>, Decider> deciders_;
};

/// The first event after which the fresh object decides differently. Adds the number of replayed events to
/// `checked`.
std::optional<std::string> first_divergence(const Results& results, std::int64_t& checked) {
  Fresh fresh(results.info);
  std::map<Rank, std::pair<int, std::string>> before;
  for (const auto& record : results.journal.decisions) {
    const auto again = fresh.decide_again(record);
    if (!again) continue;
    const std::string& decided = *again;
    auto& [number, previous] = before[record.rank];
    ++checked;
    if (decided != record.decisions)
      return fmt::format(
          "{} ({}), event #{}: a fresh {} decides differently\n    event:    {}\n    recorded: {}\n"
          "    replayed: {}\n    event before: {}",
          results.path, describe_rank(results.info, record.rank), number,
          find_side(record.side)->policy(results.info.experiment), record.event, record.decisions, decided,
          previous.empty() ? "none" : previous);
    ++number;
    previous = record.event;
  }
  return std::nullopt;
}

}  // namespace

Gate replay(const Results& simulated, const std::vector<Results>& measured) {
  std::vector<const Results*> all = {&simulated};
  for (const auto& run : measured) all.push_back(&run);
  std::int64_t checked = 0;
  for (const auto* results : all)
    if (auto divergence = first_divergence(*results, checked))
      return {Gate::State::failed, checked, std::move(*divergence)};
  if (checked == 0) return {Gate::State::not_checked, 0, "no decisions that can be replayed were recorded"};
  return {
      Gate::State::passed, checked,
      fmt::format("{} recorded events, given to fresh policies, reproduce the recorded decisions", checked)};
}

}  // namespace tandem::validation
