#include "workloads/job/transience_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <variant>

#include "policies/cache/policy.hpp"
#include "policies/compression/codec.hpp"
#include "policies/sampling/partition.hpp"
#include "policies/sampling/sampler.hpp"
#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/job/all_reduce_plan.hpp"
#include "workloads/job/host_lifetime.hpp"
#include "workloads/job/recovery_plan.hpp"

namespace tandem {
namespace {

constexpr int enough_for_any_option = 1'000'000;

/// Of recovery.policy restart.
bool requests_machines(const Experiment::Recovery& recovery) {
  const auto replace = recovery.options.find("replace");
  return replace == recovery.options.end() || std::get<bool>(replace->second);
}

class TransienceChecker {
 public:
  TransienceChecker(const Experiment& experiment, const Locate& locate)
      : experiment_(experiment), locate_(locate) {}

  void run() const {
    check_groups_of_hosts();
    check_revoke();
    check_spares();
    if (!experiment_.transience.may_depart()) return;
    if (experiment_.starts_again()) return check_restart();
    check_recovery();
    check_exchange();
    check_data();
  }

  /// Of a job that is launched again, perhaps with fewer workers.
  void check_batches() const {
    if (experiment_.recovery.batch != BatchRule::global) return;
    const Origin origin = locate_("recovery.batch");
    const auto refuse = [&](const std::string& expected) {
      fail(origin.place, origin.label, expected, quote(to_text(experiment_.recovery.batch)));
    };
    if (sync::catalog().find(experiment_.sync.algorithm).make.varies_batch) refuse(own_batches());
    if (experiment_.sync.over != sync::Route::server) refuse(equal_weights);
    if (experiment_.optimizer.update_at != UpdateSide::server)
      refuse("keep with optimizer.update_at workers, or optimizer.update_at server");
  }

  /// What makes a checkpoint that some workers wrote useless for others (why_workers_must_stay), found before
  /// the job begins.
  void check_fewer_workers() const {
    const auto& algorithm = sync::catalog().find(experiment_.sync.algorithm);
    const sync::Setting setting{
        .workers = enough_for_any_option,
        .batch = experiment_.workload.batch,
        .route = experiment_.sync.over,
        .options = Options::resolve(algorithm.name, algorithm.options, experiment_.sync.options)};
    if (algorithm.make.payload == sync::Payload::model ||
        std::holds_alternative<sync::ElasticTie>(algorithm.make.update_rule(setting)))
      refuse_fewer("each worker of " + algorithm.name + " has a model of its own");
    const auto& data = experiment_.data;
    if (sampling::samplers().find(data.sampling).make.needs_losses)
      refuse_fewer("with data.sampling " + data.sampling +
                   " each worker alone knows the losses of its samples");
    if (data.source == DataSource::storage && cache::catalog().find(data.cache).make.needs.ahead)
      refuse_fewer("cache policy " + data.cache + " lets samples of the workers change places in an epoch");
    if (experiment_.workload.math == Experiment::Workload::Math::modelled &&
        sampling::splits().find(data.split).make.needs_labels)
      refuse_fewer("modelled mathematics has no labels for data.split " + data.split);
    if (experiment_.optimizer.schedule == RateDecay::cosine && experiment_.optimizer.cosine_rounds == 0 &&
        experiment_.stop.epochs > 0.0)
      refuse_fewer(
          "the cosine schedule of the learning rate is as long as the job (optimizer.cosine_rounds is 0)");
  }

  void check_replacement() const {
    if (experiment_.recovery.policy == "restart" && !requests_machines(experiment_.recovery))
      fail_at("recovery.options.replace",
              "true, or a recovery.least below the number of workers, without which a job that starts again "
              "needs them all",
              "'false'");
  }

 private:
  static constexpr const char* equal_weights =
      "keep without servers, where the mean gives all workers the same weight";
  std::string own_batches() const {
    return "keep with " + experiment_.sync.algorithm + ", which divides the batch itself";
  }

  [[noreturn]] void fail_at(const std::string& path, const std::string& expected,
                            const std::string& found) const {
    const Origin origin = locate_(path);
    fail(origin.place, origin.label, expected + ", because machines may depart (transience.lifetime)", found);
  }

  /// Of all groups, also of those to which no host belongs.
  void check_groups_of_hosts() const {
    const std::string groups = groups_of_hosts(experiment_.transience);
    if (groups.empty()) return;
    const Origin origin = locate_("transience.options.by_host");
    if (!experiment_.transience.may_depart())
      fail(origin.place, origin.label,
           "an empty option, because no machine departs (transience.lifetime is never)", quote(groups));
    try {
      lifetime_groups_of(groups);
    } catch (const ConfigError& error) {
      throw ConfigError(origin.place + ": key '" + origin.label + "': " + error.what());
    }
  }

  void check_revoke() const {
    if (experiment_.run.revoke == RevokeMode::none || experiment_.starts_again()) return;
    const Origin origin = locate_("run.revoke");
    fail(origin.place, origin.label,
         experiment_.transience.may_depart()
             ? "none, because a job does not survive the death of a rank in place (recovery.mode)"
             : "none, because no machine departs (transience.lifetime is never)",
         quote(to_text(experiment_.run.revoke)));
  }

  /// Slots beyond the workers'.
  void check_spares() const {
    const auto& policy = experiment_.recovery.policy;
    const bool in_place = experiment_.transience.may_depart() && !experiment_.starts_again();
    if (experiment_.placement.spares.empty()) {
      if (in_place && policy == "spares")
        fail_at("placement.spares", "hosts of the spares of recovery.policy spares", "none");
      return;
    }
    const auto refuse = [this](const std::string& why) {
      const Origin origin = locate_("placement.spares");
      fail(origin.place, origin.label, "no hosts, because " + why,
           quote(fmt::format("{}", fmt::join(experiment_.placement.spares, ", "))));
    };
    if (!experiment_.transience.may_depart()) refuse("no machine departs (transience.lifetime is never)");
    if (!in_place) refuse("a job that starts again has a slot for each worker alone (recovery.mode)");
    if (policy != "spares" && policy != "replace")
      refuse("recovery.policy " + policy + " gets no machines there");
    const auto& algorithm = sync::catalog().find(experiment_.sync.algorithm);
    const sync::Setting setting{
        .workers = enough_for_any_option,
        .batch = experiment_.workload.batch,
        .route = experiment_.sync.over,
        .options = Options::resolve(algorithm.name, algorithm.options, experiment_.sync.options)};
    // Their rules count the slots, not the members.
    if (algorithm.make.varies_batch ||
        std::holds_alternative<sync::ElasticTie>(algorithm.make.update_rule(setting)))
      refuse("the rule of " + algorithm.name + " would count their slots as workers");
  }

  void check_restart() const {
    const auto& recovery = experiment_.recovery;
    if (recovery.policy != "restart" && recovery.policy != "shrink" && recovery.policy != "liveput")
      fail_at("recovery.policy", "restart, shrink or liveput, with recovery.mode restart",
              quote(recovery.policy));
    if (recovery.policy == "liveput" && !has_distribution(experiment_.transience))
      fail_at("transience.lifetime", "a model with a distribution of lifetimes for recovery.policy liveput",
              quote(experiment_.transience.lifetime));
    check_loss("where the job starts again (recovery.mode), and nothing of a round in progress remains");
    if (experiment_.stop.seconds > Seconds(0))
      fail_at("stop.seconds",
              "stop.rounds or stop.epochs for a job that starts again, which counts no time that was lost",
              quote(experiment_.stop.seconds.count()));
  }

  [[noreturn]] void refuse_fewer(const std::string& why) const {
    const auto& recovery = experiment_.recovery;
    const bool shrinks = recovery.shrinks();
    const Origin origin = locate_(shrinks ? "recovery.policy" : "recovery.least");
    fail(origin.place, origin.label,
         (shrinks ? "restart, which waits for all workers"
                  : fmt::format("{}, all workers", experiment_.placement.workers.size())) +
             ", because " + why,
         shrinks ? quote(recovery.policy) : quote(recovery.least));
  }

  void check_recovery() const {
    const auto& recovery = experiment_.recovery;
    if (recovery.policy == "restart" || recovery.policy == "liveput")
      fail_at("recovery.policy", "a policy that recovers in place (shrink | replace | spares)",
              quote(recovery.policy));
  }

  void check_exchange() const {
    const auto& algorithm = sync::catalog().find(experiment_.sync.algorithm);
    const auto& membership = algorithm.make.membership;
    if (membership.bears != sync::Membership::Bears::departures_and_arrivals)
      fail_at("sync.algorithm", "an algorithm that supports departures and arrivals",
              quote(algorithm.name) + ": " + membership.how);
    if (experiment_.recovery.batch == BatchRule::global && algorithm.make.varies_batch)
      fail_at("recovery.batch", own_batches(), quote(to_text(experiment_.recovery.batch)));
    if (experiment_.sync.over != sync::Route::server)
      check_loss("without servers, where a round is done again without the lost worker");
    if (!membership.rounds_are_updates)
      check_loss("with " + algorithm.name + ", which has no rounds that wait for others");
    if (experiment_.sync.over == sync::Route::server) return check_servers();
    if (experiment_.sync.over == sync::Route::peers && algorithm.make.timing_driven)
      fail_at("sync.algorithm",
              "an algorithm of rounds over peers: without them, the first worker counts the steps of all",
              quote(algorithm.name));
    check_members();
  }

  void check_loss(const std::string& where_only_kept) const {
    if (experiment_.recovery.on_loss != LossRule::keep)
      fail_at("recovery.on_loss", "keep " + where_only_kept, quote(to_text(experiment_.recovery.on_loss)));
  }

  /// Workers that exchange directly.
  void check_members() const {
    if (experiment_.sync.over == sync::Route::all_reduce && experiment_.sync.collective == native_all_reduce)
      fail_at("sync.collective",
              "a collective with a schedule: the library's all-reduce cannot lose a member",
              quote(experiment_.sync.collective));
    if (experiment_.sync.overlaps_forward())
      fail_at("sync.overlap", "nothing or backward: a repeated exchange could apply a bucket twice",
              quote(to_text(experiment_.sync.overlap)));
    if (compression::catalog().find(experiment_.sync.compression).make.make != nullptr)
      fail_at("sync.compression", "none: repeating a compressed exchange would drop the residual twice",
              quote(experiment_.sync.compression));
    if (experiment_.recovery.batch == BatchRule::global)
      fail_at("recovery.batch", equal_weights, quote(to_text(experiment_.recovery.batch)));
    if (experiment_.stop.accuracy > 0.0)
      fail_at("stop.accuracy",
              "another limit without servers, since each worker would wait for the evaluator",
              fmt::format("'{:g}'", experiment_.stop.accuracy));
  }

  void check_servers() const {
    if (experiment_.sync.pull != ServerPull::pushed)
      fail_at("sync.pull", "pushed", quote(to_text(experiment_.sync.pull)));
    if (experiment_.sync.exchange != ExchangeUnit::whole)
      fail_at("sync.exchange", "whole", quote(to_text(experiment_.sync.exchange)));
    if (experiment_.optimizer.update_at != UpdateSide::server)
      fail_at("optimizer.update_at", "server, which has the model for workers that join",
              quote(to_text(experiment_.optimizer.update_at)));
  }

  bool exchanges_in_groups() const {
    const auto& options = sync::catalog().find(experiment_.sync.algorithm).options;
    return std::ranges::any_of(options, [](const auto& option) { return option.name == "group_size"; });
  }

  void check_data() const {
    const auto& sampler = sampling::samplers().find(experiment_.data.sampling).make;
    if (sampler.needs_losses)
      fail_at("data.sampling", "a sampler without losses, which a worker takes along",
              quote(experiment_.data.sampling));
    if (sampler.make != nullptr && (experiment_.sync.over == sync::Route::peers || exchanges_in_groups()))
      fail_at("data.sampling",
              "shard over peers or in groups: the last batch of a common list is smaller, and nobody counts "
              "the samples of all",
              quote(experiment_.data.sampling));
    if (experiment_.placement.evaluator == "first-worker")
      fail_at("placement.evaluator", "a host that does not depart", "'first-worker'");
  }

  const Experiment& experiment_;
  const Locate& locate_;
};

}  // namespace

void check_least_workers(const Experiment& experiment, const Locate& locate) {
  const TransienceChecker checker(experiment, locate);
  checker.check_batches();
  if (experiment.recovery.least < static_cast<int>(experiment.placement.workers.size()))
    checker.check_fewer_workers();
  else if (experiment.starts_again())
    checker.check_replacement();
}

void check_transience(const Experiment& experiment, const Locate& locate) {
  TransienceChecker(experiment, locate).run();
}

}  // namespace tandem
