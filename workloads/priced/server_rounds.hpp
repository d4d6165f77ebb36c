// Rounds over parameter servers in their steady state: every worker computes, pushes its gradient as it
// becomes complete, and begins the next step when it has the replies of all shards.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "policies/prices/cores.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/priced/fluid_network.hpp"
#include "workloads/priced/worker_times.hpp"

namespace tandem::priced {

class ServerRounds {
 public:
  /// Of the workers that are not late. The arguments must outlive it.
  ServerRounds(const Job& job, const platforms::Network& network, const std::vector<WorkerTimes>& classes);

  struct Round {
    // Of the worker with whose push the servers have as many as they wait for:
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
  /// Equal workers with the same one have links of the same kind.
  std::size_t place_of(int worker) const;
  /// The same of all workers.
  std::vector<Connection> messages(bool pushes) const;
  /// FluidNetwork::busiest of these.
  std::pair<Seconds, std::string> busiest(bool pushes, bool common = false) const {
    return network_.busiest(messages(pushes), common);
  }
  /// The same of pushes and replies together, with this share of the bytes of replies.
  std::pair<Seconds, std::string> busiest_of_both(double replies, bool common = false) const;
  /// How long the worker's messages take alone, without latency.
  Seconds alone(int worker, bool pushes) const { return network_.busiest(messages_of(worker, pushes)).first; }
  /// From the end of a worker's step until its push has arrived, if nobody else pushes. Pre: it is not late.
  Seconds push_alone(int worker) const;
  /// Workers that are not late.
  int members() const;
  /// Pushes for which a round waits.
  int awaited() const { return awaited_; }
  /// Until the last server has done its work of so many pushes, which all shards have at the same time.
  Seconds slowest_update(int pushes) const;
  /// The time between pushes when the servers are the limit: the work of one push, over the threads and cores
  /// that do it.
  Seconds update_demand() const;
  /// The work of a server for the pushes of a round, with so many servers that have equal shares and
  /// a host each.
  Seconds work_with(int servers, bool in_rounds) const;
  /// The servers of the host that has the most work for its cores, unless that is one thread: " ('store': 2
  /// servers, 1 core)".
  std::string busiest_servers() const;
  /// The cores of that host, if not all of its cores count: "the server on 'store' uses 1 of 8 cores (...)".
  /// Else empty.
  std::string unused_cores() const;

 private:
  /// What the servers of a host share: its cores; or its device, which does one thing at a time.
  struct SharedHost {
    std::string name;
    std::vector<std::size_t> shards;
    int cores = 1;
    bool is_device = false;
    int threads = 1;  ///< of each server
  };
  /// Pushes leave by bucket, during the backward pass.
  bool overlaps() const { return plan_.overlaps_backward() && plan_.payload() == sync::Payload::gradient; }
  std::size_t shards() const { return plan_.shard_layout().size(); }
  std::vector<SharedHost> shared_hosts() const;
  const SharedHost& busiest_host() const;
  /// The work of a shard on `pushes` pushes of this size that have arrived.
  prices::CoreWork work_of(Rank rank, Bytes size, int tensors, int pushes) const;
  prices::CoreWork update_of(std::size_t shard, int pushes) const;
  Seconds demand_of(const SharedHost& host) const;
  /// By shard: when its server has done the work of so many pushes, which are there at these times.
  std::vector<Seconds> updated(const std::vector<Seconds>& complete, int pushes) const;

  /// Equal workers on different hosts, with links of one kind.
  struct Member {
    int worker;  ///< the first one
    const WorkerTimes* times;
    std::size_t group;  ///< Connection::group: hosts with the same workers
    int count;
  };
  void find_members(const std::vector<WorkerTimes>& classes);
  std::vector<Connection> pushes_from(const std::vector<Seconds>& starts) const;
  /// The push of a worker that begins its round then.
  std::vector<Connection> push_from(const Member& member, Seconds start) const;

  const Job& job_;
  const ExchangePlan& plan_;
  FluidNetwork network_;
  std::vector<Member> members_;    ///< by their first worker
  int awaited_;                    ///< pushes of a round
  int pushes_of_update_;           ///< while no worker waits
  std::vector<SharedHost> hosts_;  ///< of the servers
};

}  // namespace tandem::priced
