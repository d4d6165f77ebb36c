#include "workloads/job/departing_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "policies/cache/policy.hpp"
#include "policies/sampling/sampler.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/job/cache_clients.hpp"
#include "workloads/job/host_lifetime.hpp"

namespace tandem {
namespace {

using Role = RankAssignment::Role;

/// Of the host itself (property tandem:lifetime).
bool has_own_lifetime(const Job& job, Rank rank) { return has_own_departures(job.devices().host_of(rank)); }

/// Other than this one.
const RankAssignment* other_rank_on_host(const Roster& roster, Rank rank) {
  for (Rank other = 0; other < roster.size(); ++other)
    if (other != rank && roster.host_of(other) == roster.host_of(rank)) return &roster.assignment(other);
  return nullptr;
}

[[noreturn]] void refuse(const Job& job, Rank node, const std::string& key, const std::string& expected,
                         const std::string& found) {
  throw ConfigError(
      fmt::format("{}: expected {}, because the machine of the cache node on '{}' may depart "
                  "(tandem:lifetime, recovery.mode in-place), found '{}'",
                  key, expected, job.roster().host_of(node), found));
}

/// A cache node that departs is empty when it comes back, and its workers read from stores meanwhile.
void check_departing(const Job& job, Rank node) {
  const Experiment::Data& data = job.spec().experiment.data;
  if (job.roster().ranks_of(Role::store).empty() || data.store != StoreAccess::served)
    refuse(job, node, "placement.stores", "hosts of stores that serve (data.store served)",
           data.store == StoreAccess::served ? "none" : to_text(data.store));
  if (data.peers != Peers::none) refuse(job, node, "data.peers", "none", to_text(data.peers));
  const cache::Factory& policy = job.data().cache_factory();
  if (policy.needs != cache::Needs{} || policy.replaces)
    refuse(job, node, "data.cache", "a policy that needs only requests", data.cache);
  if (sampling::samplers().find(data.sampling).make.needs_cached)
    refuse(job, node, "data.sampling", "a sampler that does not depend on what is cached", data.sampling);
}

void refuse_host(const char* key, const std::string& host, const std::string& others) {
  throw ConfigError(fmt::format(
      "{}: expected hosts whose machines stay (of no worker, or with tandem:lifetime never){}, because "
      "workers come and go while cache nodes, stores and the directory stay (recovery.mode in-place), "
      "found '{}', whose machine may depart",
      key, others, host));
}

void check_cache_node(const Job& job, Rank node) {
  const RankAssignment* const other = other_rank_on_host(job.roster(), node);
  if (other == nullptr) return check_departing(job, node);
  refuse_host("placement.cache_nodes", job.roster().host_of(node),
              fmt::format(", or hosts of a cache node alone (this one has a {})", role_name(other->role)));
}

}  // namespace

std::vector<std::size_t> departing_cache_nodes(const Job& job) {
  std::vector<std::size_t> departing;
  if (!job.roster().steward()) return departing;
  const auto nodes = job.roster().ranks_of(Role::cache_node);
  for (std::size_t node = 0; node < nodes.size(); ++node)
    if (has_own_lifetime(job, nodes[node])) departing.push_back(node);
  return departing;
}

bool may_cache_node_depart(const Job& job, std::size_t node) {
  return job.roster().steward() && has_own_lifetime(job, job.roster().ranks_of(Role::cache_node)[node]);
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
      if (role == Role::cache_node)
        check_cache_node(job, rank);
      else
        refuse_host(key, roster.host_of(rank), "");
    }
}

}  // namespace tandem
