// Limits of caches, samplers and where samples are.
#include "workloads/job/check/limits.hpp"
#include "workloads/job/plan/cache_policy.hpp"

namespace tandem {
namespace {

using sync::Route;
using All = const Combination&;
using Kind = Limit::Kind;

const cache::Needs& needs_of(All all) { return all.chosen.cache->needs; }

bool plans_run(All all) { return all.has_cache_nodes() && needs_of(all).plan; }

bool has_importance(All all) { return all.plans_epochs() && needs_of(all).importance; }

/// Cache nodes ask each other, whatever the policy.
bool asks_owners(All all) {
  const Peers peers = all.experiment.data.peers;
  return peers == Peers::partition || peers == Peers::ring || peers == Peers::directory;
}

bool needs_more(All all) {
  cache::Needs more = needs_of(all);
  more.manifest = false;
  return more != cache::Needs{};
}

bool reads_while_computing(All all) {
  return all.experiment.data.background == BackgroundReads::while_computing;
}

bool chooses_background(All all) {
  return all.experiment.data.background != BackgroundReads::idle || all.experiment.data.loaders > 0;
}

const std::string with_node = "data.source=storage placement.cache_nodes=[server] ";
const std::string with_two_nodes = "data.source=storage placement.cache_nodes=[server,node-4] ";

/// A job that commits, or that is launched again, needs this in its checkpoints.
std::vector<Limit::Case> not_recorded(const std::string& example, bool (*is_met)(All)) {
  return {{"checkpoint.policy", "nothing", example + " checkpoint.policy=fixed",
           [=](All all) { return is_met(all) && all.has_commits(); }},
          {"recovery.mode", "in-place", example + " recovery.mode=restart",
           [=](All all) { return is_met(all) && all.launches_again(); }}};
}

std::vector<Limit> of_planning() {
  return {
      {Kind::value,
       "cache policy {cache} needs losses",
       {{"data.sampling", "{samplers}", with_node + "data.cache=icache",
         [](All all) { return has_importance(all) && !all.chosen.sampler->needs_losses; }}}},
      {Kind::value,
       "cache policy {cache} needs the lists of epochs",
       {{"data.sampling", "{samplers}", with_node + "data.cache=ods",
         [](All all) { return all.plans_epochs() && all.chosen.sampler->make == nullptr; }}}},
      {Kind::unsupported,
       "cache policy {cache} needs samples that are listed once, to change their places",
       {{"data.sampling", "{samplers}", with_node + "data.cache=quiver data.sampling=replacement",
         [](All all) {
           return all.plans_epochs() && needs_of(all).ahead && all.chosen.sampler->may_repeat;
         }}}},
      {Kind::unsupported,
       "cache policy {cache} lets samples change places in a step, which commits do not record",
       not_recorded(with_node + "data.cache=locality-aware data.sampling=shuffled",
                    [](All all) { return all.plans_epochs() && all.chosen.cache->deals_steps; })},
      {Kind::unsupported,
       "cache policy {cache} lets samples change places in an epoch, and workers with modelled mathematics "
       "do "
       "not learn which they got",
       not_recorded(with_node + "data.cache=quiver data.sampling=shuffled",
                    [](All all) { return all.plans_epochs() && needs_of(all).ahead && !all.is_real(); })},
      {Kind::unsupported,
       "cache policy {cache} plans with the whole run",
       {{"data.sampling", "{samplers}", with_node + "data.cache=nopfs data.sampling=importance",
         [](All all) { return plans_run(all) && all.chosen.sampler->needs_losses; }}}},
      {Kind::value,
       "cache policy {cache} plans with the whole run",
       {{"stop.epochs", "the number of epochs, or stop.rounds",
         with_node + "data.cache=nopfs stop.rounds=0 stop.seconds=5",
         [](All all) {
           return plans_run(all) && all.experiment.stop.epochs == 0.0 && all.experiment.stop.rounds == 0;
         }}}},
      {Kind::unused,
       "no other job shares the cache nodes (data.shared)",
       {{"data.cache_options.probe", "0",
         with_node + "data.cache=icache data.sampling=importance data.cache_options.probe=10",
         [](All all) {
           return probe_steps(all.chosen.cache.options()) > 0 && !all.experiment.data.shared;
         }}}},
  };
}

std::vector<Limit> of_peers() {
  return {
      {Kind::unsupported,
       "cache policy {cache} needs more than requests: {needs}",
       {{"data.peers", "plan", with_two_nodes + "data.cache=nopfs data.peers=partition",
         [](All all) { return needs_of(all).peers && asks_owners(all); }},
        {"data.peers", "none",
         with_two_nodes + "data.cache=quiver data.sampling=shuffled data.peers=partition",
         [](All all) { return asks_owners(all) && needs_more(all) && !all.chosen.cache->follows_directory; }},
        {"data.peers", "none or directory",
         with_two_nodes + "data.cache=icache data.sampling=importance data.peers=partition",
         [](All all) {
           return asks_owners(all) && needs_more(all) && all.experiment.data.peers != Peers::directory;
         }}}},
      // A policy that compares rates does without.
      {Kind::value,
       "data.peers is none (with data.peers: plan they read from each other)",
       {{"data.cache", "a policy that reads from no other cache node",
         with_two_nodes + "data.cache=locality-aware data.sampling=shuffled",
         [](All all) {
           return needs_of(all).peers && !needs_of(all).rates && all.experiment.data.peers == Peers::none &&
                  all.experiment.placement.cache_nodes.size() > 1;
         }}}},
      {Kind::unused,
       "cache policy {cache} does not know what other cache nodes keep",
       {{"data.peers", "none, partition, ring or directory", with_two_nodes + "data.peers=plan",
         [](All all) { return !needs_of(all).peers && all.experiment.data.peers == Peers::plan; }}}},
      {Kind::unused,
       "data.peers is {peers}",
       {{"data.copies", "0, or data.peers partition, ring or directory", with_two_nodes + "data.copies=2",
         [](All all) { return all.experiment.data.copies > 0 && !asks_owners(all); }},
        {"placement.directory", "nothing, or data.peers directory",
         with_two_nodes + "placement.directory=server",
         [](All all) {
           return !all.experiment.placement.directory.empty() &&
                  all.experiment.data.peers != Peers::directory;
         }}}},
  };
}

/// Where workers have their samples in memory.
std::vector<Limit> of_memory() {
  return {
      {Kind::unused,
       "workers have their samples in memory (data.source) and no cache nodes; use data.source: storage",
       {{"data.peers", "none", "data.peers=partition",
         [](All all) { return !all.has_cache_nodes() && all.experiment.data.peers != Peers::none; }},
        {"data.keep", "false", "data.keep=true",
         [](All all) { return all.experiment.data.keep && !all.has_cache_nodes(); }},
        {"data.background", "idle", "data.background=while-computing",
         [](All all) { return chooses_background(all) && !all.has_cache_nodes(); }},
        {"placement.stores", "nothing", "placement.stores=[server]",
         [](All all) { return !all.has_cache_nodes() && !all.experiment.placement.stores.empty(); }},
        {"data.store", "served", "data.store=mounted",
         [](All all) {
           return !all.has_cache_nodes() && all.experiment.data.store == StoreAccess::mounted;
         }}}},
  };
}

std::vector<Limit> of_tiers() {
  return {
      {Kind::value,
       "data.keep keeps it (memory is lost with the process)",
       {{"data.disk_capacity", "the size of the second tier of cache nodes", with_node + "data.keep=true",
         [](All all) { return all.experiment.data.keep && all.experiment.data.disk_capacity == Bytes(0); }}}},
      {Kind::unsupported,
       "data.peers is directory, which does not know what a tier has kept",
       {{"data.keep", "false", with_two_nodes + "data.keep=true data.disk_capacity=1MB data.peers=directory",
         [](All all) { return all.experiment.data.keep && all.experiment.data.peers == Peers::directory; }}}},
      // Policies that need more than requests do without a second tier, but for those that plan the whole
      // run.
      {Kind::unused,
       "cache policy {cache} does not use the second tier, which data.keep keeps",
       {{"data.cache", "a policy that needs only requests, or nopfs",
         with_node + "data.keep=true data.disk_capacity=1MB data.cache=hoard data.sampling=shuffled",
         [](All all) {
           return all.experiment.data.keep && needs_of(all) != cache::Needs{} && !needs_of(all).plan;
         }}}},
      {Kind::unused,
       "cache policy {cache} reads nothing in the background",
       {{"data.background", "idle", with_node + "data.background=while-computing",
         [](All all) { return chooses_background(all) && !needs_of(all).idle && !needs_of(all).plan; }}}},
      {Kind::value,
       "over peers (sync.over), workers exchange models while they compute",
       {{"data.background", "idle",
         with_node + "data.background=while-computing data.cache=nopfs sync.algorithm=d-psgd sync.over=peers",
         [](All all) { return reads_while_computing(all) && all.is_over(Route::peers); }}}},
  };
}

std::vector<Limit> of_samplers() {
  // What caches hold when an epoch begins is in no checkpoint.
  const auto lists_cached = [](All all) { return all.chosen.sampler->needs_cached; };
  std::vector<Limit::Case> of_cached = not_recorded(with_node + "data.sampling=shade", lists_cached);
  of_cached.push_back({"transience.lifetime", "never",
                       with_node + "data.sampling=shade transience.lifetime=exponential",
                       [=](All all) { return lists_cached(all) && all.may_depart(); }});
  return {
      {Kind::unused,
       "real mathematics has losses of its own (workload.math)",
       {{"data.losses", "nothing", "data.losses=losses.csv workload.math=real data.sampling=importance",
         [](All all) { return !all.experiment.data.losses.empty() && all.is_real(); }}}},
      {Kind::unused,
       "sampler {sampler} does not depend on losses",
       {{"data.losses", "nothing", "data.losses=losses.csv",
         [](All all) { return !all.experiment.data.losses.empty() && !all.chosen.sampler->needs_losses; }}}},
      {Kind::unused,
       "sampler {sampler} deals one list to all workers",
       {{"data.split", "iid", "data.sampling=shuffled data.split=dirichlet",
         [](All all) { return all.chosen.sampler->make != nullptr && all.chosen.split.name() != "iid"; }}}},
      {Kind::unsupported,
       "the lists of sampler {sampler} depend on what is cached, which commits do not record", of_cached},
      // Cache nodes begin the epochs of their policies for all workers, and before an epoch begins, workers
      // exchange their losses: none may wait for a worker that waits for it.
      {Kind::unsupported,
       "{planner} needs epochs that begin for all workers at the same time",
       {{"sync.algorithm", "an algorithm in which all workers take the same steps",
         with_node + "data.cache=partitioned-minio data.sampling=shuffled sync.algorithm=asp",
         [](All all) { return all.plans_epochs() && !all.chosen.takes_same_steps(); }},
        {"sync.algorithm", "an algorithm in which all workers take the same steps",
         "data.sampling=importance sync.algorithm=asp",
         [](All all) { return all.chosen.sampler->needs_losses && !all.chosen.takes_same_steps(); }}}},
      {Kind::value,
       "the epochs of sampler {sampler} have different lengths",
       {{"optimizer.cosine_rounds", "the number of rounds until the cosine ends",
         "data.sampling=importance optimizer.schedule=cosine stop.rounds=0 stop.epochs=2",
         [](All all) {
           return all.chosen.sampler->needs_losses &&
                  all.experiment.optimizer.schedule == RateDecay::cosine &&
                  all.experiment.optimizer.cosine_rounds == 0 && all.experiment.stop.rounds == 0;
         }}}},
  };
}

std::vector<Limit> of_places() {
  return {
      {Kind::value,
       "data.source is storage",
       {{"placement.cache_nodes", "hosts with a disk", "data.source=storage",
         [](All all) {
           const auto& placement = all.experiment.placement;
           return all.has_cache_nodes() && placement.cache_nodes.empty() && placement.stores.empty();
         }}}},
      {Kind::value,
       "workers read the stores through cache nodes",
       {{"placement.cache_nodes", "hosts", "data.source=storage placement.stores=[server]",
         [](All all) { return all.has_cache_nodes() && all.experiment.placement.cache_nodes.empty(); }}}},
      {Kind::value,
       "",
       {{"placement.stores", "hosts that stand for the mounted storage in simulations (data.store: mounted)",
         "data.source=storage placement.cache_nodes=[server] data.store=mounted",
         [](All all) {
           return all.has_cache_nodes() && all.experiment.data.store == StoreAccess::mounted &&
                  all.experiment.placement.stores.empty();
         }}}},
  };
}

}  // namespace

const std::vector<Limit>& limits_of_data() {
  static const std::vector<Limit> all = [] {
    std::vector<Limit> limits;
    for (const auto& part : {of_planning(), of_peers(), of_memory(), of_tiers(), of_samplers(), of_places()})
      limits.insert(limits.end(), part.begin(), part.end());
    return limits;
  }();
  return all;
}

const std::vector<Limit>& limits_of_shared_caches() {
  const std::string shared = with_node + "data.shared=true ";
  const std::string because = "several jobs share the cache nodes (data.shared)";
  static const std::vector<Limit> all = {
      {Kind::unused,
       "workers have their samples in memory (data.source)",
       {{"data.shared", "false", "data.shared=true", [](All one) { return !one.has_cache_nodes(); }}}},
      {Kind::unused,
       "several jobs cannot be resumed, and nobody would find what is kept",
       {{"data.keep", "false", shared + "data.keep=true data.disk_capacity=1MB",
         [](All one) { return one.experiment.data.keep; }}}},
      {Kind::unsupported,
       because,
       {{"data.cache", "a policy that does not plan with the list of one job", shared + "data.cache=nopfs",
         [](All one) { return one.chosen.cache->plans_one_job; }}}},
      {Kind::unsupported,
       because,
       {{"data.sampling", "a sampler that does not depend on what is cached", shared + "data.sampling=shade",
         [](All one) { return one.chosen.sampler->needs_cached; }}}},
      {Kind::unsupported,
       because,
       {{"data.peers", "none, partition or ring",
         shared + "placement.cache_nodes=[server,node-4] data.peers=directory", [](All one) {
           return one.experiment.data.peers == Peers::plan || one.experiment.data.peers == Peers::directory;
         }}}}};
  return all;
}

}  // namespace tandem
