// Replay: a policy is a pure object, so its recorded events must lead a fresh one to its recorded decisions.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <variant>

#include "policies/sync/policy.hpp"
#include "validation/gates.hpp"

namespace tandem::validation {
namespace {

std::unique_ptr<sync::ServerPolicy> fresh_server(const RunInfo& info) {
  const auto& sync = info.experiment.sync;
  const auto& algorithm = sync::catalog().find(sync.algorithm);
  return algorithm.make.make_server(
      {.workers = static_cast<int>(std::count(info.roles.begin(), info.roles.end(), "worker")),
       .batch = info.experiment.workload.batch,
       .route = sync.over == "server" ? sync::Route::server : sync::Route::all_reduce,
       .options = Options::resolve(algorithm.name, algorithm.options, sync.options)});
}

std::string decide(sync::ServerPolicy& policy, const sync::ServerEvent& event) {
  sync::ServerDecisions decisions;
  if (const auto* push = std::get_if<sync::Push>(&event)) policy.on_push(*push, decisions);
  if (const auto* report = std::get_if<sync::Report>(&event)) policy.on_report(*report, decisions);
  if (const auto* left = std::get_if<sync::Left>(&event)) policy.on_left(*left, decisions);
  return sync::to_text(decisions);
}

/// The first event after which the fresh object decides otherwise. Adds to `checked` what was replayed.
std::optional<std::string> first_divergence(const Results& results, std::int64_t& checked) {
  std::map<Rank, std::unique_ptr<sync::ServerPolicy>> servers;
  std::map<Rank, std::pair<int, std::string>> before;
  for (const auto& record : results.journal.decisions) {
    if (record.side != "server") continue;
    auto& server = servers[record.rank];
    if (!server) server = fresh_server(results.info);
    auto& [number, previous] = before[record.rank];
    const std::string decided = decide(*server, sync::parse_server_event(record.event));
    ++checked;
    if (decided != record.decisions)
      return fmt::format(
          "{} ({}), event #{}: a fresh {} decides otherwise\n    event:    {}\n    recorded: {}\n"
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

Gate server_replay(const Results& simulated, const std::vector<Results>& measured) {
  std::vector<const Results*> all = {&simulated};
  for (const auto& run : measured) all.push_back(&run);
  std::int64_t checked = 0;
  for (const auto* results : all)
    if (auto divergence = first_divergence(*results, checked))
      return {Gate::State::failed, checked, std::move(*divergence)};
  if (checked == 0) return {Gate::State::not_checked, 0, "no server decisions were recorded"};
  return {Gate::State::passed, checked,
          fmt::format("{} recorded events lead fresh policies to the recorded decisions", checked)};
}

}  // namespace tandem::validation
