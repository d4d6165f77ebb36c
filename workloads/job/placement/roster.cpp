#include "workloads/job/placement/roster.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "policies/provisioning/tiers.hpp"
#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/resolved_experiment.hpp"

namespace tandem {
namespace {

std::optional<Rank> first_of(std::span<const Rank> ranks) {
  return ranks.empty() ? std::nullopt : std::optional(ranks.front());
}

}  // namespace

const char* role_name(RankAssignment::Role role) {
  switch (role) {
    case RankAssignment::Role::worker:
      return "worker";
    case RankAssignment::Role::server:
      return "server";
    case RankAssignment::Role::coordinator:
      return "coordinator";
    case RankAssignment::Role::cache_node:
      return "cache-node";
    case RankAssignment::Role::store:
      return "store";
    case RankAssignment::Role::evaluator:
      return "evaluator";
    case RankAssignment::Role::steward:
      return "steward";
    case RankAssignment::Role::keeper:
      return "keeper";
    case RankAssignment::Role::directory:
      return "directory";
  }
  return "";
}

Roster::Roster(const Experiment& experiment) : first_workers_(experiment.placement.workers.size()) {
  const auto add = [&](Role role, const std::vector<std::string>& hosts) {
    for (const std::string& host : hosts) {
      auto& ranks = ranks_[static_cast<std::size_t>(role)];
      ranks.push_back(size());
      assignments_.push_back({role, static_cast<int>(ranks.size()) - 1, host});
    }
  };
  // A job document may be written by hand.
  const auto expect_host = [](const char* key, const std::vector<std::string>& hosts) {
    if (hosts.empty()) throw ConfigError(std::string(key) + ": expected at least one host, found none");
  };
  const auto& placement = experiment.placement;
  expect_host("placement.workers", placement.workers);
  add(Role::worker, placement.workers);
  add(Role::worker, placement.spares);
  const auto route = experiment.sync.over;
  if (route == sync::Route::server) {
    expect_host("placement.servers", placement.servers);
    add(Role::server, placement.servers);
  } else if (sync::has_coordinator(ResolvedExperiment(experiment).algorithm.make(), route)) {
    expect_host("placement.servers", placement.servers);
    add(Role::coordinator, {placement.servers.front()});
  }
  if (experiment.data.source == DataSource::storage) {
    add(Role::cache_node, placement.cache_nodes);
    if (experiment.data.store == StoreAccess::served) add(Role::store, placement.stores);
    if (experiment.data.peers == Peers::directory) {
      std::vector<std::string> hosts;
      if (!placement.directory.empty()) hosts.push_back(placement.directory);
      expect_host("placement.directory", hosts);
      add(Role::directory, hosts);
    }
  }
  if (experiment.evaluate_every > 0 && placement.evaluator != first_worker_evaluates)
    add(Role::evaluator, {placement.evaluator});
  // In addition to the hosts that all need; without servers, nothing else may be there. A job that starts
  // again is supervised from outside.
  if (experiment.continuation() == Continuation::in_place && !placement.servers.empty())
    add(Role::steward, {placement.servers.front()});
  if (!experiment.checkpoint.policy.empty() && experiment.checkpoint.to == CommitPlace::buddy)
    add(Role::keeper, hosts_of_keepers(experiment.recovery));
  // A run has none of them, and the other ranks have the same numbers in both worlds.
  if (experiment.data.source == DataSource::storage && experiment.data.store == StoreAccess::mounted)
    add(Role::store, placement.stores);
}

std::vector<std::string> Roster::hosts_of_keepers(const Experiment::Recovery& recovery) const {
  std::vector<std::string> hosts = hosts_of_states();
  for (const auto& backup : provisioning::backups_of(recovery.provisioning, recovery.provisioning_options))
    if (std::ranges::find(hosts, backup) == hosts.end()) hosts.push_back(backup);
  return hosts;
}

std::vector<std::string> Roster::hosts_of_states() const {
  std::vector<std::string> hosts;
  std::set<std::string_view> seen;
  for (const RankAssignment& assignment : assignments_) {
    const bool has_state = assignment.role == Role::worker || assignment.role == Role::server ||
                           assignment.role == Role::coordinator;
    if (has_state && seen.insert(assignment.host).second) hosts.push_back(assignment.host);
  }
  return hosts;
}

const RankAssignment& Roster::assignment(Rank rank) const {
  TANDEM_CHECK(has(rank), "rank", rank, "ranks", size());
  return assignments_[static_cast<std::size_t>(rank)];
}

std::span<const Rank> Roster::deciders() const {
  return servers().empty() ? ranks_of(Role::coordinator) : servers();
}

std::optional<Rank> Roster::coordinator() const { return first_of(deciders()); }

std::optional<Rank> Roster::steward() const { return first_of(ranks_of(Role::steward)); }

std::optional<Rank> Roster::directory() const { return first_of(ranks_of(Role::directory)); }

std::optional<Rank> Roster::evaluator() const { return first_of(ranks_of(Role::evaluator)); }

}  // namespace tandem
