#include "workloads/job/data_check.hpp"

#include <string>

#include "policies/cache/policy.hpp"
#include "policies/sampling/sampler.hpp"
#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/job/cache_policy.hpp"
#include "workloads/job/peers_check.hpp"

namespace tandem {
namespace {

class DataChecker {
 public:
  DataChecker(const Experiment& experiment, const Locate& locate)
      : experiment_(experiment), locate_(locate) {}

  void run() const {
    check_cache();
    check_sampling();
    check_places();
  }

 private:
  [[noreturn]] void fail_at(const std::string& path, const std::string& expected,
                            const std::string& found) const {
    const Origin origin = locate_(path);
    fail(origin.place, origin.label, expected, found);
  }

  /// "shuffled | chunked": names of those that jobs may have.
  template <class AreAble>
  static std::string samplers_that(const AreAble& are_able) {
    std::string able;
    for (const auto& entry : sampling::samplers().entries())
      if (are_able(entry.make)) able += (able.empty() ? "" : " | ") + entry.name;
    return able;
  }

  void check_cache() const {
    const auto& data = experiment_.data;
    const cache::Needs& needs = cache::catalog().find(data.cache).make.needs;
    if (data.source == DataSource::storage && (needs.ahead || needs.importance || needs.lists))
      check_planning_cache(needs);
    if (data.source == DataSource::storage && needs.plan) check_run_plan();
    if (const auto steps = probe_steps(data); steps > 0 && !data.shared)
      fail_at("data.cache_options.probe", "0, because no other job shares the cache nodes (data.shared)",
              quote(steps));
    check_peers(experiment_, locate_);
    check_kept_tier();
    if (data.background == BackgroundReads::while_computing) check_background(needs);
  }

  /// Policies that need more than requests do without a second tier, but for those that plan the whole run.
  void check_kept_tier() const {
    const auto& data = experiment_.data;
    if (!data.keep) return;
    if (data.source == DataSource::memory)
      fail_at("data.keep",
              "false, because workers have their samples in memory (data.source) and no cache nodes",
              "'true'");
    if (data.disk_capacity == Bytes(0))
      fail_at("data.disk_capacity",
              "the size of the second tier of cache nodes, which data.keep keeps (memory is lost with the "
              "process)",
              quote(data.disk_capacity.count()));
    if (data.peers == Peers::directory)
      fail_at("data.keep", "false, because data.peers is directory, which does not know what a tier has kept",
              "'true'");
    const cache::Needs& needs = cache::catalog().find(data.cache).make.needs;
    if (needs != cache::Needs{} && !needs.plan)
      fail_at("data.cache",
              "a policy that needs only requests, or nopfs, because data.keep keeps the second tier, which "
              "cache policy " +
                  data.cache + " does not use",
              quote(data.cache));
  }

  /// Workers tell their cache nodes when an exchange begins and ends.
  void check_background(const cache::Needs& needs) const {
    const auto refuse = [&](const std::string& reason) {
      fail_at("data.background", "always, because " + reason, quote(to_text(experiment_.data.background)));
    };
    if (experiment_.data.source == DataSource::memory)
      refuse("workers have their samples in memory (data.source) and no cache nodes");
    if (!needs.idle && !needs.plan)
      refuse("cache policy " + experiment_.data.cache + " reads nothing in the background");
    if (experiment_.sync.over == sync::Route::peers)
      refuse("over peers (sync.over), workers exchange models while they compute");
    if (experiment_.sync.overlaps_forward())
      refuse("with sync.overlap: both, exchanges last into the next step's computing");
    if (experiment_.transience.may_depart() && experiment_.recovery.mode == RecoveryMode::in_place)
      refuse("a worker that departs (transience.lifetime) does not tell the end of its exchange");
  }

  /// The policy knows the list of each epoch, which begins for all workers of a cache node at the same time.
  void check_planning_cache(const cache::Needs& needs) const {
    const auto& data = experiment_.data;
    const auto& sampler = sampling::samplers().find(data.sampling).make;
    const std::string because = ", because cache policy " + data.cache + " needs ";
    const auto samplers = [](const auto& are_able) {
      return samplers_that([&](const auto& make) { return make.make != nullptr && are_able(make); });
    };
    if (sampler.make == nullptr || (needs.importance && !sampler.needs_losses))
      fail_at("data.sampling",
              samplers([&](const auto& make) { return make.needs_losses || !needs.importance; }) + because +
                  (needs.importance ? "losses" : "the lists of epochs"),
              quote(data.sampling));
    if (needs.ahead && sampler.may_repeat)
      fail_at("data.sampling",
              samplers([](const auto& make) { return !make.may_repeat; }) + because +
                  "samples that are listed once, to change their places",
              quote(data.sampling));
    const std::string in_no_commit =
        ", because cache policy " + data.cache + " lets samples change places in ";
    const bool is_modelled = experiment_.workload.math == Experiment::Workload::Math::modelled;
    std::string why;
    if (cache::catalog().find(data.cache).make.deals_steps)
      why = in_no_commit + "a step, which commits do not record";
    if (needs.ahead && is_modelled)
      why = in_no_commit + "an epoch, and workers with modelled mathematics do not learn which they got";
    if (!why.empty() && !experiment_.checkpoint.policy.empty())
      fail_at("checkpoint.policy", "nothing" + why, quote(experiment_.checkpoint.policy));
    if (!why.empty() && experiment_.recovery.mode == RecoveryMode::restart)
      fail_at("recovery.mode", "in-place" + why, quote(to_text(RecoveryMode::restart)));
    if (!takes_same_steps())
      fail_at("sync.algorithm",
              "an algorithm in which all workers take the same steps" + because +
                  "epochs that begin for all workers at the same time",
              quote(experiment_.sync.algorithm));
    check_starts_once(because + "lists that stay as they are");
  }

  /// In place, the machines of the workers must stay, which depends on the platform (departing_nodes.hpp).
  void check_starts_once(const std::string& because) const {
    if (experiment_.transience.may_depart() && experiment_.starts_again())
      fail_at("recovery.mode", "in-place, or transience.lifetime never" + because,
              quote(to_text(RecoveryMode::restart)));
  }

  /// The policy knows the lists of all epochs before the job begins.
  void check_run_plan() const {
    const auto& data = experiment_.data;
    const std::string because = ", because cache policy " + data.cache + " plans with the whole run";
    if (sampling::samplers().find(data.sampling).make.needs_losses)
      fail_at("data.sampling", samplers_that([](const auto& make) { return !make.needs_losses; }) + because,
              quote(data.sampling));
    if (experiment_.stop.epochs == 0.0 && experiment_.stop.rounds == 0)
      fail_at("stop.epochs", "the number of epochs, or stop.rounds" + because, "'0'");
    check_starts_once(because);
  }

  bool takes_same_steps() const {
    const auto& algorithm = sync::catalog().find(experiment_.sync.algorithm);
    const bool rounds_vary = algorithm.make.steps_per_round(Options::resolve(
                                 algorithm.name, algorithm.options, experiment_.sync.options)) == 0;
    return !algorithm.make.timing_driven && !rounds_vary && !algorithm.make.varies_batch;
  }

  void check_sampling() const {
    const auto& data = experiment_.data;
    const auto& sampler = sampling::samplers().find(data.sampling);
    if (!data.losses.empty() && experiment_.workload.math == Experiment::Workload::Math::real)
      fail_at("data.losses", "nothing, because real mathematics has losses of its own (workload.math)",
              quote(data.losses));
    if (!data.losses.empty() && !sampler.make.needs_losses)
      fail_at("data.losses", "nothing, because sampler " + data.sampling + " does not depend on losses",
              quote(data.losses));
    if (sampler.make.make == nullptr) return;
    try {
      sampler.make.make({.samples = 1,
                         .batch = experiment_.workload.batch,
                         .seed = experiment_.seed,
                         .options = Options::resolve(sampler.name, sampler.options, data.sampling_options)});
    } catch (const OptionError& error) {
      const Origin origin = locate_("data.sampling_options." + error.option());
      throw ConfigError(origin.place + ": " + error.what());
    }
    if (data.split != "iid")
      fail_at("data.split", "iid, because sampler " + data.sampling + " deals one list to all workers",
              quote(data.split));
    if (sampler.make.needs_cached) check_residents();
    if (sampler.make.needs_losses) check_losses();
  }

  /// What caches hold when an epoch begins is in no checkpoint.
  void check_residents() const {
    const auto& data = experiment_.data;
    const std::string because = ", because the lists of sampler " + data.sampling +
                                " depend on what is cached, which commits do not record";
    if (!experiment_.checkpoint.policy.empty())
      fail_at("checkpoint.policy", "nothing" + because, quote(experiment_.checkpoint.policy));
    if (experiment_.recovery.mode == RecoveryMode::restart)
      fail_at("recovery.mode", "in-place" + because, quote(to_text(RecoveryMode::restart)));
    if (experiment_.transience.may_depart())
      fail_at("transience.lifetime", "never" + because, quote(experiment_.transience.lifetime));
  }

  /// Before an epoch begins, all workers exchange their losses: none may wait for a worker that waits for it.
  void check_losses() const {
    const auto& data = experiment_.data;
    if (!takes_same_steps())
      fail_at("sync.algorithm",
              "an algorithm in which all workers take the same steps, because sampler " + data.sampling +
                  " needs the losses of all workers when an epoch ends",
              quote(experiment_.sync.algorithm));
    if (experiment_.optimizer.schedule == RateDecay::cosine && experiment_.optimizer.cosine_rounds == 0 &&
        experiment_.stop.rounds == 0)
      fail_at("optimizer.cosine_rounds",
              "the number of rounds until the cosine ends, because the epochs of sampler " + data.sampling +
                  " have different lengths",
              "'0'");
  }

  /// Where samples are.
  void check_places() const {
    const auto& placement = experiment_.placement;
    if (experiment_.data.source == DataSource::storage && placement.cache_nodes.empty())
      fail_at("placement.cache_nodes",
              placement.stores.empty() ? "hosts with a disk, because data.source is storage"
                                       : "hosts, because workers read the stores through cache nodes",
              "nothing");
    if (experiment_.data.source == DataSource::memory && !placement.stores.empty())
      fail_at("placement.stores",
              "nothing, because workers have their samples in memory (data.source); use data.source: storage",
              quote(placement.stores.front()));
    if (experiment_.data.store == StoreAccess::mounted && experiment_.data.source == DataSource::memory)
      fail_at("data.store", "served, because workers have their samples in memory (data.source)",
              quote(to_text(experiment_.data.store)));
    if (experiment_.data.store == StoreAccess::mounted && placement.stores.empty())
      fail_at("placement.stores",
              "hosts that stand for the mounted storage in simulations (data.store: mounted)", "nothing");
  }

  const Experiment& experiment_;
  const Locate& locate_;
};

}  // namespace

void check_data(const Experiment& experiment, const Locate& locate) { DataChecker(experiment, locate).run(); }

}  // namespace tandem
