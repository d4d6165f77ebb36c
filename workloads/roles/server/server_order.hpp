// The common order of the servers of a job (sync.decides first-server). The first server announces each event
// about which it decides. The others pass the same events, in that order and with its times, to policies of
// their own, so that all servers decide alike.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "policies/sync/policy.hpp"
#include "workloads/context.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/server/followed_order.hpp"
#include "workloads/roles/server/open_sends.hpp"
#include "workloads/roles/server/worker_lines.hpp"

namespace tandem {

class ServerOrder {
 public:
  /// `servers`: those with a common order, the first one first; empty: this one has an order of its own.
  /// `context` must outlive it.
  ServerOrder(Context& context, std::span<const Rank> servers, std::size_t workers);

  /// This server is one of the others.
  bool follows() const { return first_.has_value(); }
  /// The next event of the lines, which is due. `only_steward`: see WorkerLines.
  WorkerLines::Event next(WorkerLines& lines, bool only_steward);
  /// The first server's decision about the event that next() returned last; none: this server decides itself.
  const std::optional<protocol::Decided>& decided() const { return decided_; }

  /// This server decides about the event now. Without effect if it does not lead others.
  void announce(const sync::ServerEvent& event);
  /// Waits until all announcements have been sent.
  void finish() { sends_.finish(); }

 private:
  Context& context_;
  std::optional<Rank> first_;
  std::vector<Rank> others_;  ///< that follow this server
  FollowedOrder<WorkerLines::Event> order_;
  std::optional<protocol::Decided> decided_;
  OpenSends sends_;
};

}  // namespace tandem
