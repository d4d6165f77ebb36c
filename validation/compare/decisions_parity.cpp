// Parity of decisions. Servers are compared version by version, since workers reach a barrier in any order.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "policies/sync/replay.hpp"
#include "validation/compare/gates.hpp"

namespace tandem::validation {
namespace {

/// A rank and the side of it that decides.
using Party = std::pair<Rank, std::string>;
/// The decisions of a party. Within an entry their order does not matter, so they are sorted.
struct Log {
  std::vector<std::string> entries;
  std::vector<std::string> events;  ///< the last event before each entry
};

std::vector<std::string> split(const std::string& decisions) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < decisions.size();) {
    const auto end = std::min(decisions.find("; ", begin), decisions.size());
    parts.push_back(decisions.substr(begin, end - begin));
    begin = end + 2;
  }
  return parts;
}

/// Collects a server's decisions up to and including the call that makes a new version of the model.
class VersionBlocks {
 public:
  void add(const DecisionRecord& record, Log& log) {
    const auto parts = split(record.decisions);
    block_.insert(block_.end(), parts.begin(), parts.end());
    const bool new_version =
        std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.starts_with("apply"); });
    if (new_version) close(record.event, log);
  }
  void close(const std::string& event, Log& log) {
    if (block_.empty()) return;
    std::sort(block_.begin(), block_.end());
    log.entries.push_back(fmt::format("{}", fmt::join(block_, "; ")));
    log.events.push_back(event);
    block_.clear();
  }

 private:
  std::vector<std::string> block_;
};

std::map<Party, Log> logs_of(const Results& results, bool with_caches) {
  std::map<Party, Log> logs;
  std::map<Party, VersionBlocks> servers;
  for (const auto& record : results.journal.decisions) {
    // Reads end earlier or later among requests. The decisions that follow them immediately are compared.
    if (record.side == "cache" && (!with_caches || record.decisions.empty())) continue;
    // A job that started again continues from the state before; that is no decision.
    if (sync::restored_state(record.event)) continue;
    // A commit in the background may be complete in an earlier or in a later round.
    if (record.side == "checkpointing" && record.decisions.empty()) continue;
    const Party party{record.rank, record.side};
    Log& log = logs[party];
    if (record.side == "server") {
      servers[party].add(record, log);
    } else {
      log.entries.push_back(record.decisions);
      log.events.push_back(record.event);
    }
  }
  for (auto& [party, blocks] : servers) blocks.close("end of the run", logs[party]);
  return logs;
}

std::string show(const Log& log, std::size_t at) {
  std::string text;
  for (std::size_t i = at == 0 ? 0 : at - 1; i < std::min(at + 1, log.entries.size()); ++i)
    text += fmt::format("\n      {} #{}: {}\n             after: {}", i == at ? ">" : " ", i, log.entries[i],
                        log.events[i]);
  if (at >= log.entries.size()) text += fmt::format("\n      > #{}: no more decisions", at);
  return text;
}

std::optional<std::string> first_other_decision(const Results& simulated, const Results& measured) {
  // When a job starts again, caches are empty or, with data.keep, have what they had. Which node a directory
  // names depends on the order of the messages there.
  const bool with_caches = !caches_serve_several(simulated.info) && measured.info.generations.empty() &&
                           simulated.info.experiment.data.peers != Peers::directory;
  const auto ours = logs_of(simulated, with_caches);
  const auto theirs = logs_of(measured, with_caches);
  auto all = ours;
  all.insert(theirs.begin(), theirs.end());
  static const Log none;
  for (const auto& [party, unused] : all) {
    const Log& mine = ours.contains(party) ? ours.at(party) : none;
    const Log& other = theirs.contains(party) ? theirs.at(party) : none;
    const auto at = static_cast<std::size_t>(
        std::mismatch(mine.entries.begin(), mine.entries.end(), other.entries.begin(), other.entries.end())
            .first -
        mine.entries.begin());
    if (at == mine.entries.size() && at == other.entries.size()) continue;
    return fmt::format(
        "{}, {} #{}: simulation and measurement decided differently ({})\n    simulated:{}\n    measured:{}",
        describe_rank(simulated.info, party.first),
        party.second == "server" ? "decisions on model version" : party.second + " decision", at,
        measured.path, show(mine, at), show(other, at));
  }
  return std::nullopt;
}

bool had_other_workers(const Results& results) {
  return std::ranges::any_of(results.info.generations,
                             [](const LaunchRecord& launch) { return launch.workers.has_value(); });
}

}  // namespace

Gate decisions_parity(const Results& simulated, const std::vector<Results>& measured) {
  const auto recorded = [](const Results& results) { return !results.journal.decisions.empty(); };
  if (!recorded(simulated) && std::none_of(measured.begin(), measured.end(), recorded))
    return {Gate::State::not_checked, 0, "no policy decisions were recorded"};
  if (const auto reason = timing_reason(simulated.info); !reason.empty())
    return {Gate::State::not_checked, 0, reason + ", so decisions are replayed instead"};
  if (std::ranges::any_of(measured, had_other_workers) || had_other_workers(simulated))
    return {Gate::State::not_checked, 0,
            "generations had fewer workers, from rounds that depend on timing, so decisions are replayed "
            "instead"};
  const auto checked = static_cast<std::int64_t>(simulated.journal.decisions.size());
  for (const auto& run : measured) {
    if (!recorded(simulated) || !recorded(run))
      return {Gate::State::not_checked, 0,
              fmt::format("decisions were recorded in only one of {} and {}", simulated.path, run.path)};
    if (auto divergence = first_other_decision(simulated, run))
      return {Gate::State::failed, checked, std::move(*divergence)};
  }
  std::string detail = fmt::format("{} decisions are the same in simulation and measurement", checked);
  if (caches_serve_several(simulated.info) && !simulated.journal.caches.empty())
    detail +=
        "; excluded are those of cache nodes with several workers, which depend on the order of requests";
  return {Gate::State::passed, checked, std::move(detail)};
}

}  // namespace tandem::validation
