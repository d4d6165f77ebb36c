// Rounds over parameter servers in their steady state: every worker computes, pushes its gradient as it
// becomes complete, and begins the next step when it has the replies of all shards.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "workloads/job/plan/job.hpp"
#include "workloads/priced/fluid_network.hpp"
#include "workloads/priced/worker_times.hpp"

namespace tandem::priced {

class ServerRounds {
 public:
  /// The arguments must outlive it.
  ServerRounds(const Job& job, const platforms::Network& network, const std::vector<WorkerTimes>& classes);

  struct Round {
    // Of the worker whose push is complete last:
    Seconds computing;
    Seconds push;
    Seconds update;  ///< of the servers
    Seconds reply;
    Seconds own_update;
    Seconds duration() const { return computing + push + update + reply + own_update; }
    std::string last;  ///< the host of that worker
  };
  Round steady() const;

  /// Connections of a worker's push, or of its reply, all of whose messages are ready.
  std::vector<Connection> messages_of(int worker, bool pushes) const;
  /// The same of all workers.
  std::vector<Connection> messages(bool pushes) const;
  /// FluidNetwork::busiest of these.
  std::pair<Seconds, std::string> busiest(bool pushes, bool common = false) const {
    return network_.busiest(messages(pushes), common);
  }
  /// How long the worker's messages take alone, without latency.
  Seconds alone(int worker, bool pushes) const { return network_.busiest(messages_of(worker, pushes)).first; }
  /// The work of a shard with so many pushes; of the busiest one.
  Seconds update_of(std::size_t shard, int pushes) const;
  Seconds slowest_update(int pushes) const;

 private:
  std::size_t shards() const { return plan_.shard_layout().size(); }

  const Job& job_;
  const ExchangePlan& plan_;
  FluidNetwork network_;
  std::vector<const WorkerTimes*> times_;  ///< by worker
};

}  // namespace tandem::priced
