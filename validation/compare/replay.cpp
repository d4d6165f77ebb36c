// Replay: a policy is a pure object, so a fresh one must decide the same when it receives the recorded
// events.
#include "policies/sync/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "policies/sync/policy.hpp"
#include "validation/compare/gates.hpp"

namespace tandem::validation {
namespace {

const sync::Factory& factory_of(const RunInfo& info) {
  return sync::catalog().find(info.experiment.sync.algorithm).make;
}

sync::Setting setting_of(const RunInfo& info) {
  const auto& sync = info.experiment.sync;
  const auto& algorithm = sync::catalog().find(sync.algorithm);
  return {.workers = static_cast<int>(std::count(info.roles.begin(), info.roles.end(), "worker")),
          .batch = info.experiment.workload.batch,
          .route = sync.over,
          .options = Options::resolve(algorithm.name, algorithm.options, sync.options),
          .seed = info.experiment.seed};
}

/// Fresh policy objects of one run.
class Fresh {
 public:
  explicit Fresh(const RunInfo& info) : info_(info), factory_(factory_of(info)), setting_(setting_of(info)) {}

  /// What the rank of the record decides now; none when its decisions are not replayed.
  std::optional<std::string> decide_again(const DecisionRecord& record) {
    if (record.side == "server") {
      auto& server = servers_[record.rank];
      if (!server) server = factory_.make_server(setting_);
      if (const auto state = sync::restored_state(record.event)) {
        restore(*server, *state);
        return "";
      }
      return sync::to_text(sync::decide(*server, sync::parse_server_event(record.event)));
    }
    if (record.side != "worker") return std::nullopt;
    auto& worker = workers_[record.rank];
    if (!worker) worker = factory_.make_worker(setting_, worker_index(record.rank));
    if (const auto state = sync::restored_state(record.event)) {
      restore(*worker, *state);
      return "";
    }
    return sync::decide_in_words(*worker, sync::parse_worker_event(record.event));
  }

 private:
  int worker_index(Rank rank) const {
    return static_cast<int>(std::count(info_.roles.begin(), info_.roles.begin() + rank, "worker"));
  }

  const RunInfo& info_;
  const sync::Factory& factory_;
  sync::Setting setting_;
  std::map<Rank, std::unique_ptr<sync::ServerPolicy>> servers_;
  std::map<Rank, std::unique_ptr<sync::WorkerPolicy>> workers_;
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
          results.info.experiment.sync.algorithm, record.event, record.decisions, decided,
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
