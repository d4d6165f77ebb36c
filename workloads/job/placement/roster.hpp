// Which rank has which role, on which host. Every look-up takes constant time.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "workloads/experiment/experiment.hpp"

namespace tandem {

/// A value of placement.evaluator: no rank of its own evaluates, but the first worker.
inline constexpr const char* first_worker_evaluates = "first-worker";

/// The role of one rank, and its place.
struct RankAssignment {
  enum class Role {
    worker,
    server,
    coordinator,
    cache_node,
    store,
    evaluator,
    steward,
    keeper,
    directory
  } role;
  int index;         ///< among the ranks of that role
  std::string host;  ///< name in the platform file
};
const char* role_name(RankAssignment::Role role);

class Roster {
 public:
  using Role = RankAssignment::Role;

  /// Pre: the placement of the experiment is resolved.
  explicit Roster(const Experiment& experiment);

  int size() const { return static_cast<int>(assignments_.size()); }
  /// Calibration may start more ranks than the job has.
  bool has(Rank rank) const { return rank >= 0 && rank < size(); }
  /// By rank: workers, servers or the coordinator, cache nodes, stores, their directory, the evaluator, the
  /// steward, keepers.
  const std::vector<RankAssignment>& assignments() const { return assignments_; }
  /// Pre: has(rank).
  const RankAssignment& assignment(Rank rank) const;
  const std::string& host_of(Rank rank) const { return assignment(rank).host; }

  /// In ascending order. The memory is the roster's.
  std::span<const Rank> ranks_of(Role role) const { return ranks_[static_cast<std::size_t>(role)]; }
  std::span<const Rank> workers() const { return ranks_of(Role::worker); }
  /// The workers that are there as the job begins: the first ones. The other slots are for spares.
  std::span<const Rank> first_workers() const { return workers().first(first_workers_); }
  std::span<const Rank> servers() const { return ranks_of(Role::server); }
  /// The worker with the duties of one for all. It writes checkpoints if no server does.
  Rank first_worker() const { return workers().front(); }
  /// The ranks that have a server policy: the servers, or the coordinator of an all-reduce. May be empty.
  std::span<const Rank> deciders() const;
  /// The decider that answers reports and ends the job: the first one. None: workers decide alone.
  std::optional<Rank> coordinator() const;
  /// The rank that says who is present, if machines may depart; otherwise none.
  std::optional<Rank> steward() const;
  /// One keeper on each host of workers, servers or the coordinator: keeps copies of the commits of the host
  /// before it (the first one those of the last). With backups (provisioning::backups_of), those on backups
  /// keep all copies. None: commits are not in memory.
  std::span<const Rank> keepers() const { return ranks_of(Role::keeper); }
  /// The rank that knows which cache node holds which sample; none without data.peers: directory.
  std::optional<Rank> directory() const;
  /// None: no rank evaluates, or the first worker does (CheckpointPlan::evaluator).
  std::optional<Rank> evaluator() const;

 private:
  std::vector<std::string> hosts_of_states() const;
  std::vector<std::string> hosts_of_keepers(const Experiment::Recovery& recovery) const;

  static constexpr std::size_t roles = 9;
  std::size_t first_workers_;
  std::vector<RankAssignment> assignments_;
  std::array<std::vector<Rank>, roles> ranks_;  ///< by role
};

}  // namespace tandem
