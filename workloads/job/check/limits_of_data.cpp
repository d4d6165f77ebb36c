// Limits of caches, samplers and where samples are.
#include "workloads/job/check/limits.hpp"
#include "workloads/job/plan/cache_policy.hpp"

namespace tandem {
namespace {

using sync::Route;
using All = const Combination&;

const cache::Needs& needs_of(All all) { return all.chosen.cache->needs; }

/// The policy knows the list of each epoch, which begins for all workers of a cache node at the same time.
bool plans_epochs(All all) {
  const auto& needs = needs_of(all);
  return all.has_cache_nodes() && (needs.ahead || needs.importance || needs.lists);
}

bool plans_run(All all) { return all.has_cache_nodes() && needs_of(all).plan; }

bool has_importance(All all) { return plans_epochs(all) && needs_of(all).importance; }

/// Cache nodes ask each other, whatever the policy.
bool asks_owners(All all) {
  const Peers peers = all.experiment.data.peers;
  return peers == Peers::partition || peers == Peers::ring || peers == Peers::directory;
}

bool reads_while_computing(All all) {
  return all.experiment.data.background == BackgroundReads::while_computing;
}

bool chooses_background(All all) { return all.experiment.data.background != BackgroundReads::always; }

std::vector<Limit> of_planning() {
  const std::string storage = "data.source=storage placement.cache_nodes=[server] ";
  return {
      {"data.sampling", "{samplers}", "cache policy {cache} needs losses", storage + "data.cache=icache",
       [](All all) { return has_importance(all) && !all.chosen.sampler->needs_losses; }},
      {"data.sampling", "{samplers}", "cache policy {cache} needs the lists of epochs",
       storage + "data.cache=ods",
       [](All all) { return plans_epochs(all) && all.chosen.sampler->make == nullptr; }},
      {"data.sampling", "{samplers}",
       "cache policy {cache} needs samples that are listed once, to change their places",
       storage + "data.cache=quiver data.sampling=replacement",
       [](All all) { return plans_epochs(all) && needs_of(all).ahead && all.chosen.sampler->may_repeat; }},
      {"checkpoint.policy", "nothing",
       "cache policy {cache} lets samples change places in a step, which commits do not record",
       storage + "data.cache=locality-aware data.sampling=shuffled checkpoint.policy=fixed",
       [](All all) { return plans_epochs(all) && all.chosen.cache->deals_steps && all.has_commits(); }},
      {"recovery.mode", "in-place",
       "cache policy {cache} lets samples change places in a step, which commits do not record",
       storage + "data.cache=locality-aware data.sampling=shuffled recovery.mode=restart",
       [](All all) { return plans_epochs(all) && all.chosen.cache->deals_steps && all.launches_again(); }},
      {"checkpoint.policy", "nothing",
       "cache policy {cache} lets samples change places in an epoch, and workers with modelled mathematics "
       "do not learn which they got",
       storage + "data.cache=quiver data.sampling=shuffled checkpoint.policy=fixed",
       [](All all) {
         return plans_epochs(all) && needs_of(all).ahead && !all.is_real() && all.has_commits();
       }},
      {"recovery.mode", "in-place",
       "cache policy {cache} lets samples change places in an epoch, and workers with modelled mathematics "
       "do not learn which they got",
       storage + "data.cache=quiver data.sampling=shuffled recovery.mode=restart",
       [](All all) {
         return plans_epochs(all) && needs_of(all).ahead && !all.is_real() && all.launches_again();
       }},
      {"sync.algorithm", "an algorithm in which all workers take the same steps",
       "cache policy {cache} needs epochs that begin for all workers at the same time",
       storage + "data.cache=partitioned-minio data.sampling=shuffled sync.algorithm=asp",
       [](All all) { return plans_epochs(all) && !all.chosen.takes_same_steps(); }},
      {"recovery.mode", "in-place, or transience.lifetime never",
       "cache policy {cache} needs lists that stay as they are",
       storage + "data.cache=partitioned-minio data.sampling=shuffled recovery.mode=restart "
                 "recovery.policy=restart "
                 "checkpoint.policy=fixed transience.lifetime=exponential",
       [](All all) { return plans_epochs(all) && all.continues(Continuation::restart_on_departure); }},
      {"data.sampling", "{samplers}", "cache policy {cache} plans with the whole run",
       storage + "data.cache=nopfs data.sampling=importance",
       [](All all) { return plans_run(all) && all.chosen.sampler->needs_losses; }},
      {"stop.epochs", "the number of epochs, or stop.rounds", "cache policy {cache} plans with the whole run",
       storage + "data.cache=nopfs stop.rounds=0 stop.seconds=5",
       [](All all) {
         return plans_run(all) && all.experiment.stop.epochs == 0.0 && all.experiment.stop.rounds == 0;
       }},
      {"recovery.mode", "in-place, or transience.lifetime never",
       "cache policy {cache} plans with the whole run",
       storage + "data.cache=nopfs recovery.mode=restart recovery.policy=restart checkpoint.policy=fixed "
                 "transience.lifetime=exponential",
       [](All all) { return plans_run(all) && all.continues(Continuation::restart_on_departure); }},
      {"data.cache_options.probe", "0", "no other job shares the cache nodes (data.shared)",
       storage + "data.cache=icache data.sampling=importance data.cache_options.probe=10",
       [](All all) { return probe_steps(all.experiment.data) > 0 && !all.experiment.data.shared; }},
  };
}

std::vector<Limit> of_peers() {
  const std::string two = "data.source=storage placement.cache_nodes=[server,node-4] ";
  return {
      {"data.peers", "plan", "cache policy {cache} chooses the node it reads from",
       two + "data.cache=nopfs data.peers=partition",
       [](All all) { return needs_of(all).peers && asks_owners(all); }},
      // A policy that compares rates does without.
      {"data.cache", "a policy that reads from no other cache node",
       "data.peers is none (with data.peers: plan they read from each other)",
       two + "data.cache=locality-aware data.sampling=shuffled",
       [](All all) {
         return needs_of(all).peers && !needs_of(all).rates && all.experiment.data.peers == Peers::none &&
                all.experiment.placement.cache_nodes.size() > 1;
       }},
      {"data.peers", "none, partition, ring or directory",
       "cache policy {cache} does not know what other cache nodes keep", two + "data.peers=plan",
       [](All all) { return !needs_of(all).peers && all.experiment.data.peers == Peers::plan; }},
      {"data.peers", "none", "cache policy {cache} needs more than requests: {needs}",
       two + "data.cache=icache data.sampling=importance data.peers=partition",
       [](All all) {
         cache::Needs more = needs_of(all);
         more.manifest = false;
         return asks_owners(all) && more != cache::Needs{};
       }},
      {"data.peers", "none",
       "workers have their samples in memory (data.source) and no cache nodes; use data.source: storage",
       "data.peers=partition",
       [](All all) { return !all.has_cache_nodes() && all.experiment.data.peers != Peers::none; }},
      {"data.copies", "0", "data.peers is neither partition, ring nor directory", two + "data.copies=2",
       [](All all) { return all.experiment.data.copies > 0 && !asks_owners(all); }},
      {"placement.directory", "nothing", "data.peers is {peers}, not directory",
       two + "placement.directory=server",
       [](All all) {
         return !all.experiment.placement.directory.empty() && all.experiment.data.peers != Peers::directory;
       }},
  };
}

std::vector<Limit> of_tiers() {
  const std::string storage = "data.source=storage placement.cache_nodes=[server] ";
  return {
      {"data.keep", "false", "workers have their samples in memory (data.source) and no cache nodes",
       "data.keep=true", [](All all) { return all.experiment.data.keep && !all.has_cache_nodes(); }},
      {"data.disk_capacity",
       "the size of the second tier of cache nodes, which data.keep keeps (memory is lost with the process)",
       "", storage + "data.keep=true",
       [](All all) { return all.experiment.data.keep && all.experiment.data.disk_capacity == Bytes(0); }},
      {"data.keep", "false", "data.peers is directory, which does not know what a tier has kept",
       "data.source=storage placement.cache_nodes=[server,node-4] data.keep=true data.disk_capacity=1MB "
       "data.peers=directory",
       [](All all) { return all.experiment.data.keep && all.experiment.data.peers == Peers::directory; }},
      // Policies that need more than requests do without a second tier, but for those that plan the whole
      // run.
      {"data.cache", "a policy that needs only requests, or nopfs",
       "data.keep keeps the second tier, which cache policy {cache} does not use",
       storage + "data.keep=true data.disk_capacity=1MB data.cache=hoard data.sampling=shuffled",
       [](All all) {
         return all.experiment.data.keep && needs_of(all) != cache::Needs{} && !needs_of(all).plan;
       }},
      // Workers tell their cache nodes when an exchange begins and ends.
      {"data.background", "always", "workers have their samples in memory (data.source) and no cache nodes",
       "data.background=while-computing",
       [](All all) { return chooses_background(all) && !all.has_cache_nodes(); }},
      {"data.background", "always", "cache policy {cache} reads nothing in the background",
       storage + "data.background=while-computing",
       [](All all) { return chooses_background(all) && !needs_of(all).idle && !needs_of(all).plan; }},
      {"data.background", "always", "over peers (sync.over), workers exchange models while they compute",
       storage + "data.background=while-computing data.cache=nopfs sync.algorithm=d-psgd sync.over=peers",
       [](All all) { return reads_while_computing(all) && all.is_over(Route::peers); }},
      {"data.background", "always", "with sync.overlap: both, exchanges last into the next step's computing",
       storage + "data.background=while-computing data.cache=nopfs sync.overlap=both",
       [](All all) { return reads_while_computing(all) && all.experiment.sync.overlaps_forward(); }},
      {"data.background", "always",
       "a worker that departs (transience.lifetime) does not tell the end of its exchange",
       storage + "data.background=while-computing data.cache=nopfs transience.lifetime=exponential",
       [](All all) {
         return reads_while_computing(all) && all.may_depart() &&
                all.experiment.recovery.mode == RecoveryMode::in_place;
       }},
  };
}

std::vector<Limit> of_samplers() {
  const std::string storage = "data.source=storage placement.cache_nodes=[server] ";
  // What caches hold when an epoch begins is in no checkpoint.
  const std::string not_recorded =
      "the lists of sampler {sampler} depend on what is cached, which commits do not record";
  const auto lists_cached = [](All all) { return all.chosen.sampler->needs_cached; };
  return {
      {"data.losses", "nothing", "real mathematics has losses of its own (workload.math)",
       "data.losses=losses.csv workload.math=real data.sampling=importance",
       [](All all) { return !all.experiment.data.losses.empty() && all.is_real(); }},
      {"data.losses", "nothing", "sampler {sampler} does not depend on losses", "data.losses=losses.csv",
       [](All all) { return !all.experiment.data.losses.empty() && !all.chosen.sampler->needs_losses; }},
      {"data.split", "iid", "sampler {sampler} deals one list to all workers",
       "data.sampling=shuffled data.split=dirichlet",
       [](All all) { return all.chosen.sampler->make != nullptr && all.chosen.split.name() != "iid"; }},
      {"checkpoint.policy", "nothing", not_recorded, storage + "data.sampling=shade checkpoint.policy=fixed",
       [=](All all) { return lists_cached(all) && all.has_commits(); }},
      {"recovery.mode", "in-place", not_recorded, storage + "data.sampling=shade recovery.mode=restart",
       [=](All all) { return lists_cached(all) && all.launches_again(); }},
      {"transience.lifetime", "never", not_recorded,
       storage + "data.sampling=shade transience.lifetime=exponential",
       [=](All all) { return lists_cached(all) && all.may_depart(); }},
      // Before an epoch begins, all workers exchange their losses: none may wait for a worker that waits for
      // it.
      {"sync.algorithm", "an algorithm in which all workers take the same steps",
       "sampler {sampler} needs the losses of all workers when an epoch ends",
       "data.sampling=importance sync.algorithm=asp",
       [](All all) { return all.chosen.sampler->needs_losses && !all.chosen.takes_same_steps(); }},
      {"optimizer.cosine_rounds", "the number of rounds until the cosine ends",
       "the epochs of sampler {sampler} have different lengths",
       "data.sampling=importance optimizer.schedule=cosine stop.rounds=0 stop.epochs=2",
       [](All all) {
         return all.chosen.sampler->needs_losses && all.experiment.optimizer.schedule == RateDecay::cosine &&
                all.experiment.optimizer.cosine_rounds == 0 && all.experiment.stop.rounds == 0;
       }},
  };
}

std::vector<Limit> of_places() {
  return {
      {"placement.cache_nodes", "hosts with a disk", "data.source is storage", "data.source=storage",
       [](All all) {
         const auto& placement = all.experiment.placement;
         return all.has_cache_nodes() && placement.cache_nodes.empty() && placement.stores.empty();
       }},
      {"placement.cache_nodes", "hosts", "workers read the stores through cache nodes",
       "data.source=storage placement.stores=[server]",
       [](All all) { return all.has_cache_nodes() && all.experiment.placement.cache_nodes.empty(); }},
      {"placement.stores", "nothing",
       "workers have their samples in memory (data.source); use data.source: storage",
       "placement.stores=[server]",
       [](All all) { return !all.has_cache_nodes() && !all.experiment.placement.stores.empty(); }},
      {"data.store", "served", "workers have their samples in memory (data.source)", "data.store=mounted",
       [](All all) { return !all.has_cache_nodes() && all.experiment.data.store == StoreAccess::mounted; }},
      {"placement.stores", "hosts that stand for the mounted storage in simulations (data.store: mounted)",
       "", "data.source=storage placement.cache_nodes=[server] data.store=mounted",
       [](All all) {
         return all.experiment.data.store == StoreAccess::mounted && all.experiment.placement.stores.empty();
       }},
  };
}

}  // namespace

const std::vector<Limit>& limits_of_data() {
  static const std::vector<Limit> all = [] {
    std::vector<Limit> limits;
    for (const auto& part : {of_planning(), of_peers(), of_tiers(), of_samplers(), of_places()})
      limits.insert(limits.end(), part.begin(), part.end());
    return limits;
  }();
  return all;
}

const std::vector<Limit>& limits_of_shared_caches() {
  const std::string shared = "data.source=storage placement.cache_nodes=[server] data.shared=true ";
  const std::string because = "several jobs share the cache nodes (data.shared)";
  static const std::vector<Limit> all = {
      {"data.shared", "false", "workers have their samples in memory (data.source)", "data.shared=true",
       [](All one) { return !one.has_cache_nodes(); }},
      {"data.cache", "a policy that does not plan with the list of one job", because,
       shared + "data.cache=nopfs", [](All one) { return one.chosen.cache->plans_one_job; }},
      {"data.sampling", "a sampler that does not depend on what is cached", because,
       shared + "data.sampling=shade", [](All one) { return one.chosen.sampler->needs_cached; }},
      {"data.background", "always", because,
       shared + "data.cache=icache data.sampling=importance data.background=while-computing",
       reads_while_computing},
      {"data.keep", "false", because, shared + "data.keep=true data.disk_capacity=1MB",
       [](All one) { return one.experiment.data.keep; }},
      {"data.peers", "none, partition or ring", because,
       shared + "placement.cache_nodes=[server,node-4] data.peers=directory", [](All one) {
         return one.experiment.data.peers == Peers::plan || one.experiment.data.peers == Peers::directory;
       }}};
  return all;
}

}  // namespace tandem
