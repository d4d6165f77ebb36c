// How often a server handled a push of each worker, and which steps it stopped, from the recorded decisions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "policies/sync/policy.hpp"
#include "workloads/records/records.hpp"

namespace tandem::testing {

/// By worker. Pre: decisions were recorded, and there is one server.
inline std::vector<int> pushes_by_worker(const Journal& journal, int workers) {
  std::vector<int> pushes(static_cast<std::size_t>(workers));
  for (const auto& decision : journal.decisions) {
    if (decision.side != "server") continue;
    const sync::ServerEvent event = sync::parse_server_event(decision.event);
    if (const auto* push = std::get_if<sync::Push>(&event))
      ++pushes.at(static_cast<std::size_t>(push->worker));
  }
  return pushes;
}

/// Of all workers. Pre: as above.
inline std::int64_t cancelled_steps(const Journal& journal) {
  return std::ranges::count_if(journal.decisions, [](const DecisionRecord& decision) {
    if (decision.side != "server") return false;
    const sync::ServerEvent event = sync::parse_server_event(decision.event);
    const auto* push = std::get_if<sync::Push>(&event);
    return push != nullptr && push->cancelled && push->local_steps > 0;
  });
}

/// Equal workers of an algorithm without rounds may differ by this many pushes if none made more than `most`.
/// Gradients that k-batch-sync and rennala drop cost the server nothing, so the workers that push them wait
/// less.
inline int fair_difference(const std::string& algorithm, int most) {
  return algorithm == "k-batch-sync" || algorithm == "rennala" ? std::max(2, most / 4) : 2;
}

}  // namespace tandem::testing
