#include "workloads/job/transience_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <variant>

#include "policies/compression/codec.hpp"
#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/job/all_reduce_plan.hpp"

namespace tandem {
namespace {

class TransienceChecker {
 public:
  TransienceChecker(const Experiment& experiment, const Locate& locate)
      : experiment_(experiment), locate_(locate) {}

  void run() const {
    check_revoke();
    check_spares();
    if (!experiment_.transience.may_depart()) return;
    if (experiment_.starts_again()) return check_restart();
    check_recovery();
    check_exchange();
    check_data();
  }

 private:
  [[noreturn]] void fail_at(const std::string& path, const std::string& expected,
                            const std::string& found) const {
    const Origin origin = locate_(path);
    fail(origin.place, origin.label, expected + ", because machines may depart (transience.lifetime)", found);
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
    if (experiment_.sync.over != sync::Route::server)
      refuse("workers without servers have no slots for spares");
    const auto& algorithm = sync::catalog().find(experiment_.sync.algorithm);
    constexpr int enough_for_any_option = 1'000'000;
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

  /// Generations have all workers.
  void check_restart() const {
    const auto& recovery = experiment_.recovery;
    if (recovery.policy != "restart")
      fail_at("recovery.policy", "restart, as recovery.mode", quote(recovery.policy));
    if (recovery.scale_rate != RateScale::keep)
      fail_at("recovery.scale_rate", "keep for a job that starts again with all workers",
              quote(to_text(recovery.scale_rate)));
    if (recovery.batch != BatchRule::keep)
      fail_at("recovery.batch", "keep for a job that starts again with all workers",
              quote(to_text(recovery.batch)));
    if (experiment_.stop.seconds > Seconds(0))
      fail_at("stop.seconds",
              "stop.rounds or stop.epochs for a job that starts again, which counts no time that was lost",
              quote(experiment_.stop.seconds.count()));
    if (recovery.options.contains("replace") && !std::get<bool>(recovery.options.at("replace")))
      fail_at("recovery.options.replace", "true: a job that starts again needs all workers", "'false'");
  }

  void check_recovery() const {
    const auto& recovery = experiment_.recovery;
    if (recovery.policy == "restart")
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
      fail_at("recovery.batch", "keep with " + algorithm.name + ", which divides the batch itself",
              quote(to_text(experiment_.recovery.batch)));
    if (experiment_.sync.over == sync::Route::server) return check_servers();
    if (experiment_.sync.over == sync::Route::peers && algorithm.make.timing_driven)
      fail_at("sync.algorithm",
              "an algorithm of rounds over peers: without them, the first worker counts the steps of all",
              quote(algorithm.name));
    check_members();
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
      fail_at("recovery.batch", "keep without servers, where the mean gives all workers the same weight",
              quote(to_text(experiment_.recovery.batch)));
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

  void check_data() const {
    if (experiment_.data.source != DataSource::memory)
      fail_at("data.source", "memory", quote(to_text(experiment_.data.source)));
    if (experiment_.data.sampling != "shard")
      fail_at("data.sampling", "shard", quote(experiment_.data.sampling));
    if (experiment_.placement.evaluator == "first-worker")
      fail_at("placement.evaluator", "a host that does not depart", "'first-worker'");
  }

  const Experiment& experiment_;
  const Locate& locate_;
};

}  // namespace

void check_transience(const Experiment& experiment, const Locate& locate) {
  TransienceChecker(experiment, locate).run();
}

}  // namespace tandem
