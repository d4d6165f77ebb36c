#include "workloads/job/plan/departing_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "policies/cache/policy.hpp"
#include "policies/sampling/sampler.hpp"
#include "workloads/experiment/key_error.hpp"
#include "workloads/job/placement/cache_clients.hpp"
#include "workloads/job/placement/host_lifetime.hpp"

namespace tandem {
namespace {

using Role = RankAssignment::Role;

/// The host itself has a lifetime (property tandem:lifetime).
bool has_own_lifetime(const Job& job, Rank rank) { return has_own_departures(job.devices().host_of(rank)); }

std::vector<std::size_t> departing(const Job& job, Role role) {
  std::vector<std::size_t> found;
  if (!job.roster().steward()) return found;
  const auto ranks = job.roster().ranks_of(role);
  for (std::size_t index = 0; index < ranks.size(); ++index)
    if (has_own_lifetime(job, ranks[index])) found.push_back(index);
  return found;
}

/// Other than this one.
const RankAssignment* other_rank_on_host(const Roster& roster, Rank rank) {
  for (Rank other = 0; other < roster.size(); ++other)
    if (other != rank && roster.host_of(other) == roster.host_of(rank)) return &roster.assignment(other);
  return nullptr;
}

[[noreturn]] void refuse(const Job& job, Rank rank, const std::string& key, const std::string& expected,
                         const std::string& found) {
  const bool is_store = job.roster().assignment(rank).role == Role::store;
  throw KeyError(key,
                 fmt::format("{}, because the machine of the {} on '{}' may depart (tandem:lifetime, "
                             "recovery.mode in-place)",
                             expected, is_store ? "store" : "cache node", job.roster().host_of(rank)),
                 fmt::format("'{}'", found));
}

/// A cache node that departs is empty when it comes back, and its workers read from stores meanwhile.
void check_departing(const Job& job, Rank node) {
  const Experiment::Data& data = job.spec().experiment.data;
  if (job.roster().ranks_of(Role::store).empty() || data.store != StoreAccess::served)
    refuse(job, node, "placement.stores", "hosts of stores that serve (data.store served)",
           data.store == StoreAccess::served ? "none" : to_text(data.store));
  // What came is known to the node alone: stores send the samples that were asked for, in their order.
  const cache::Factory& policy = job.data().cache_factory();
  if (policy.needs.ahead || policy.replaces)
    refuse(job, node, "data.cache", "a policy that neither replaces samples nor lets them change places",
           data.cache);
  if (policy.needs.importance)
    refuse(job, node, "data.cache", "a policy that needs no losses, which a node that comes back lacks",
           data.cache);
  if (job.chosen().sampler->needs_cached)
    refuse(job, node, "data.sampling", "a sampler that does not depend on what is cached", data.sampling);
}

/// A store that comes back has the same files on its disk as before.
void check_departing_store(const Job& job, Rank store) {
  if (job.spec().experiment.data.store != StoreAccess::served)
    refuse(job, store, "data.store", "served", to_text(job.spec().experiment.data.store));
  const auto nodes = departing_cache_nodes(job);
  if (!nodes.empty())
    refuse(job, store, "placement.cache_nodes", "hosts whose machines stay",
           job.roster().host_of(job.roster().ranks_of(Role::cache_node)[nodes.front()]));
}

/// Cache nodes plan with the samples of each worker of the job.
void check_planning(const Job& job, const LifetimesOfHosts& lifetimes) {
  const cache::Needs& needs = job.data().cache_factory().needs;
  if (!job.data().from_storage() || !(job.data().plans_caches() || needs.plan)) return;
  for (const Rank worker : job.roster().workers()) {
    if (lifetimes.stay(job.devices().host_of(worker))) continue;
    throw KeyError("data.cache",
                   fmt::format("a policy that does not plan with the lists of workers, or workers whose "
                               "machines stay (tandem:lifetime never, or transience.lifetime fixed without "
                               "options), because the machine of the worker on '{}' may depart",
                               job.roster().host_of(worker)),
                   fmt::format("'{}'", job.spec().experiment.data.cache));
  }
}

[[noreturn]] void refuse_host(const char* key, const std::string& host, const std::string& others) {
  throw KeyError(key,
                 fmt::format("hosts whose machines stay (of no worker, or with tandem:lifetime never){}, "
                             "because workers come and go while cache nodes, stores and the directory stay "
                             "(recovery.mode in-place)",
                             others),
                 fmt::format("'{}', whose machine may depart", host));
}

void check_alone(const Job& job, Rank rank, const char* key, const char* role) {
  const RankAssignment* const other = other_rank_on_host(job.roster(), rank);
  if (other == nullptr) return;
  refuse_host(key, job.roster().host_of(rank),
              fmt::format(", or hosts of a {} alone (this one has a {})", role, role_name(other->role)));
}

}  // namespace

std::vector<std::size_t> departing_cache_nodes(const Job& job) { return departing(job, Role::cache_node); }
std::vector<std::size_t> departing_stores(const Job& job) { return departing(job, Role::store); }

bool may_cache_node_depart(const Job& job, std::size_t node) {
  return job.roster().steward() && has_own_lifetime(job, job.roster().ranks_of(Role::cache_node)[node]);
}

bool may_store_depart(const Job& job, std::size_t store) {
  return job.roster().steward() && has_own_lifetime(job, job.roster().ranks_of(Role::store)[store]);
}

std::vector<std::string> hosts_of_departing(const Job& job) {
  std::vector<std::string> hosts;
  for (const Role role : {Role::cache_node, Role::store})
    for (const std::size_t index : departing(job, role))
      hosts.push_back(job.roster().host_of(job.roster().ranks_of(role)[index]));
  return hosts;
}

std::vector<std::size_t> workers_of_departing_nodes(const Job& job) {
  const auto departing = departing_cache_nodes(job);
  if (departing.empty()) return {};
  std::vector<std::size_t> workers;
  const auto clients = clients_of_nodes(job.roster());
  for (const std::size_t node : departing)
    workers.insert(workers.end(), clients[node].begin(), clients[node].end());
  std::ranges::sort(workers);
  return workers;
}

void check_storage_hosts(const Job& job) {
  const Roster& roster = job.roster();
  if (!roster.steward()) return;
  const LifetimesOfHosts lifetimes(job.spec().experiment.transience);
  check_planning(job, lifetimes);
  const auto may_depart = [&](Rank rank) {
    const bool has_worker = std::ranges::any_of(
        roster.workers(), [&](Rank worker) { return roster.host_of(worker) == roster.host_of(rank); });
    return lifetimes.may_depart(job.devices().host_of(rank), has_worker);
  };
  for (const auto& [role, key] :
       {std::pair(Role::cache_node, "placement.cache_nodes"), std::pair(Role::store, "placement.stores"),
        std::pair(Role::directory, "placement.directory")})
    for (const Rank rank : roster.ranks_of(role)) {
      if (!may_depart(rank)) continue;
      if (role == Role::directory) refuse_host(key, roster.host_of(rank), "");
      check_alone(job, rank, key, role == Role::store ? "store" : "cache node");
      role == Role::cache_node ? check_departing(job, rank) : check_departing_store(job, rank);
    }
}

}  // namespace tandem
