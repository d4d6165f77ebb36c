// Limits of departures, of recovery, and of commits.
#include "workloads/job/check/limits.hpp"
#include "workloads/job/placement/host_lifetime.hpp"
#include "workloads/job/placement/roster.hpp"
#include "workloads/job/plan/all_reduce_plan.hpp"

namespace tandem {
namespace {

using sync::Route;
using All = const Combination&;
using Kind = Limit::Kind;

const std::string departs = "transience.lifetime=exponential ";
const std::string commits = "checkpoint.policy=fixed ";
const std::string restarts = departs + commits + "recovery.mode=restart recovery.policy=restart ";
const std::string may_depart = "machines may depart (transience.lifetime)";

bool in_place(All all) { return all.continues(Continuation::in_place); }
bool in_place_over_server(All all) { return in_place(all) && all.is_over(Route::server); }
/// Workers that exchange directly.
bool in_place_without_server(All all) { return in_place(all) && !all.is_over(Route::server); }
bool restarts_on_departure(All all) { return all.continues(Continuation::restart_on_departure); }
bool drops_losses(All all) { return all.experiment.recovery.on_loss != LossRule::keep; }
bool shares_batches(All all) {
  const bool may_be_fewer = all.may_depart() || all.launches_again();
  return may_be_fewer && all.experiment.recovery.batch == BatchRule::global;
}
bool has_spares(All all) { return !all.experiment.placement.spares.empty(); }
bool revokes(All all) { return all.experiment.run.revoke != RevokeMode::none; }

/// Commits elsewhere than in the result directory.
bool apart(All all) { return all.experiment.checkpoint.to != CommitPlace::directory; }
bool commits_on_warning(All all) { return all.experiment.checkpoint.policy == "on-warning"; }

std::vector<Limit> of_restarts() {
  return {
      {Kind::value,
       "no states are saved to start from again (evaluate_every is 0, and checkpoint.policy is empty)",
       {{"recovery.mode", "in-place", "recovery.mode=restart workload.math=real",
         [](All all) {
           return all.launches_again() && all.experiment.evaluate_every == 0 && !all.has_commits();
         }}}},
  };
}

/// Of departures at all.
std::vector<Limit> of_departures() {
  return {
      {Kind::unsupported,
       "a job does not survive the death of a rank in place (recovery.mode)",
       {{"run.revoke", "none", departs + "run.revoke=kill",
         [](All all) { return revokes(all) && in_place(all); }}}},
      {Kind::unused,
       "no machine departs (transience.lifetime is never)",
       {{"transience.options.by_host", "an empty option",
         "'transience.options.by_host=\"region=north: fixed time=5\"'",
         [](All all) { return !groups_of_hosts(all.experiment.transience).empty() && !all.may_depart(); }},
        {"run.revoke", "none", "run.revoke=kill",
         [](All all) { return revokes(all) && !restarts_on_departure(all); }},
        {"placement.spares", "no hosts", "placement.spares=[node-4]",
         [](All all) { return has_spares(all) && !all.may_depart(); }}}},
  };
}

/// Of the slots beyond the workers'.
std::vector<Limit> of_spares() {
  return {
      {Kind::unused,
       "there are no slots beyond the workers' (placement.spares)",
       {{"recovery.most", "0", departs + "recovery.most=5",
         [](All all) { return all.experiment.recovery.most > 0 && !has_spares(all); }}}},
      {Kind::value,
       may_depart,
       {{"placement.spares", "hosts of the spares of recovery.policy spares",
         departs + "recovery.policy=spares",
         [](All all) {
           return in_place(all) && !has_spares(all) && all.chosen.recovery.name() == "spares";
         }}}},
      {Kind::unused,
       "a job that starts again has a slot for each worker alone (recovery.mode)",
       {{"placement.spares", "no hosts", restarts + "placement.spares=[node-4]",
         [](All all) { return has_spares(all) && !in_place(all); }}}},
      {Kind::unused,
       "recovery.policy {recovery} gets no machines there",
       {{"placement.spares", "no hosts", departs + "recovery.policy=shrink placement.spares=[node-4]",
         [](All all) {
           const std::string& policy = all.chosen.recovery.name();
           return has_spares(all) && policy != "spares" && policy != "replace";
         }}}},
      // Their rules count the slots, not the members.
      {Kind::unsupported,
       "the rule of {algorithm} would count their slots as workers",
       {{"placement.spares", "no hosts",
         departs + "recovery.policy=replace placement.spares=[node-4] sync.algorithm=lb-bsp",
         [](All all) {
           return has_spares(all) && (all.chosen.algorithm->varies_batch ||
                                      (all.chosen.algorithm->payload != sync::Payload::model &&
                                       all.chosen.has_models_of_their_own()));
         }}}},
  };
}

/// Of a job that starts again, and of one whose other ranks continue.
std::vector<Limit> of_policies() {
  return {
      {Kind::value,
       may_depart,
       {{"recovery.policy", "restart, shrink or liveput, with recovery.mode restart",
         departs + commits + "recovery.mode=restart recovery.policy=replace",
         [](All all) {
           const std::string& policy = all.chosen.recovery.name();
           return restarts_on_departure(all) && policy != "restart" && policy != "shrink" &&
                  policy != "liveput";
         }},
        {"recovery.policy", "a policy that recovers in place (shrink | replace | spares)",
         departs + "recovery.policy=restart",
         [](All all) {
           const std::string& policy = all.chosen.recovery.name();
           return in_place(all) && (policy == "restart" || policy == "liveput");
         }},
        {"transience.lifetime", "a model with a distribution of lifetimes for recovery.policy liveput",
         commits + "recovery.mode=restart recovery.policy=liveput transience.lifetime=trace "
                   "'transience.options.events=10 remove node-1'",
         [](All all) {
           return restarts_on_departure(all) && all.chosen.recovery.name() == "liveput" &&
                  all.chosen.lifetime->lifetime == nullptr;
         }}}},
      {Kind::unused,
       "{algorithm} divides the batch itself",
       {{"recovery.batch", "keep", departs + "recovery.batch=global sync.algorithm=lb-bsp",
         [](All all) { return shares_batches(all) && all.chosen.algorithm->varies_batch; }}}},
      {Kind::unused,
       "the job starts again (recovery.mode), and nothing of a round in progress remains",
       {{"recovery.on_loss", "keep", restarts + "recovery.on_loss=drop",
         [](All all) { return restarts_on_departure(all) && drops_losses(all); }}}},
      {Kind::unused,
       "a round is done again without the lost worker, where there are no servers",
       {{"recovery.on_loss", "keep", departs + "recovery.on_loss=drop sync.over=all-reduce",
         [](All all) { return in_place_without_server(all) && drops_losses(all); }}}},
      {Kind::unused,
       "{algorithm} has no rounds that wait for others",
       {{"recovery.on_loss", "keep", departs + "recovery.on_loss=drop sync.algorithm=asp",
         [](All all) {
           return in_place(all) && drops_losses(all) && !all.chosen.algorithm->membership.rounds_are_updates;
         }}}},
      {Kind::unsupported,
       "a job that starts again counts no time that was lost (recovery.mode)",
       {{"stop.seconds", "stop.rounds or stop.epochs", restarts + "stop.rounds=0 stop.seconds=5",
         [](All all) { return restarts_on_departure(all) && all.experiment.stop.seconds > Seconds(0); }}}},
  };
}

/// While the other ranks continue.
std::vector<Limit> of_departures_in_place() {
  return {
      {Kind::unsupported,
       may_depart +
           ", and a server whose workers come and go decides about what has reached it, and answers with the "
           "whole model",
       {{"sync.pull", "pushed", departs + "sync.pull=requested",
         [](All all) { return in_place_over_server(all) && all.experiment.sync.pull != ServerPull::pushed; }},
        {"sync.exchange", "whole", departs + "sync.exchange=by-key",
         [](All all) {
           return in_place_over_server(all) && all.experiment.sync.exchange != ExchangeUnit::whole;
         }},
        {"sync.decides", "each-server", departs + "sync.decides=first-server sync.algorithm=k-sync",
         [](All all) {
           return in_place_over_server(all) && all.experiment.sync.decides != PushOrder::each_server;
         }},
        {"sync.compress_replies", "false", departs + "sync.compress_replies=true sync.compression=top-k",
         [](All all) { return in_place_over_server(all) && all.experiment.sync.compress_replies; }},
        {"optimizer.update_at", "server", departs + "optimizer.update_at=workers",
         [](All all) {
           return in_place_over_server(all) && all.experiment.optimizer.update_at != UpdateSide::server;
         }}}},
      {Kind::unsupported,
       may_depart + ", and without rounds the first worker counts the steps of all",
       {{"sync.algorithm", "an algorithm of rounds over peers",
         departs + "sync.algorithm=ad-psgd sync.over=peers",
         [](All all) {
           return in_place(all) && all.is_over(Route::peers) && all.chosen.algorithm->timing_driven;
         }}}},
      {Kind::unsupported,
       may_depart + ", and the library's all-reduce cannot lose a member",
       {{"sync.collective", "a collective with a schedule",
         departs + "sync.over=all-reduce sync.collective=native",
         [](All all) {
           return in_place(all) && all.is_over(Route::all_reduce) &&
                  all.experiment.sync.collective == native_all_reduce;
         }}}},
      {Kind::unused,
       may_depart + ", and workers whose group may change send no buffers before a step",
       {{"workload.measured_buffers", "0",
         departs + "sync.over=all-reduce workload.model=synthetic workload.measured_buffers=200kB",
         [](All all) {
           return in_place_without_server(all) && all.experiment.workload.measured_buffers > Bytes(0);
         }}}},
      {Kind::unsupported,
       may_depart + ", and a repeated exchange could apply a bucket twice",
       {{"sync.overlap", "none or backward", departs + "sync.over=all-reduce sync.overlap=both",
         [](All all) { return in_place_without_server(all) && all.experiment.sync.overlaps_forward(); }}}},
      {Kind::unsupported,
       may_depart + ", and each worker would wait for the evaluator",
       {{"stop.accuracy", "another limit without servers",
         departs + "sync.over=all-reduce stop.accuracy=0.9 workload.math=real evaluate_every=2",
         [](All all) { return in_place_without_server(all) && all.experiment.stop.accuracy > 0.0; }}}},
      {Kind::unsupported,
       may_depart + ", and a worker takes its losses along",
       {{"data.sampling", "a sampler without losses", departs + "data.sampling=importance",
         [](All all) { return in_place(all) && all.chosen.sampler->needs_losses; }}}},
      {Kind::unsupported,
       may_depart,
       {{"placement.evaluator", "a host that does not depart",
         departs + "placement.evaluator=first-worker evaluate_every=2 workload.math=real",
         [](All all) {
           return in_place(all) && all.experiment.placement.evaluator == first_worker_evaluates;
         }}}},
  };
}

/// Where workers take different numbers of samples in a round.
std::vector<Limit> of_counted_samples() {
  return {
      // The last batch of a common list is smaller.
      {Kind::unsupported,
       "no message of a round reaches all workers of {algorithm} over {over}, so nobody counts their samples",
       {{"data.sampling", "shard", departs + "data.sampling=shuffled sync.algorithm=d-psgd sync.over=peers",
         [](All all) {
           return in_place_without_server(all) && all.chosen.sampler->make != nullptr &&
                  !all.exchanges_with_all();
         }},
        {"recovery.batch", "keep", departs + "recovery.batch=global sync.algorithm=d-psgd sync.over=peers",
         [](All all) {
           return shares_batches(all) && !all.is_over(Route::server) && !all.exchanges_with_all();
         }}}},
  };
}

std::vector<Limit> of_commits() {
  return {
      {Kind::unused,
       "checkpoint.policy is empty, and states are saved with the evaluations",
       {{"checkpoint.to", "directory", "checkpoint.to=local",
         [](All all) { return apart(all) && !all.has_commits(); }},
        {"checkpoint.keep_every", "0", "checkpoint.keep_every=10",
         [](All all) { return all.experiment.checkpoint.keep_every > 0 && !all.has_commits(); }}}},
      {Kind::unused,
       "commits in memory serve only a job that starts again (recovery.mode restart)",
       {{"checkpoint.to", "directory", commits + "checkpoint.to=buddy",
         [](All all) {
           return all.experiment.checkpoint.to == CommitPlace::buddy && !all.launches_again();
         }}}},
      {Kind::unsupported,
       "without servers the workers that are there commit for those that are not",
       {{"checkpoint.to", "directory", departs + commits + "checkpoint.to=local sync.over=all-reduce",
         [](All all) { return apart(all) && in_place_without_server(all); }}}},
      {Kind::unused,
       "checkpoint.to is {place}: only the result directory keeps more than the last commits",
       {{"checkpoint.keep_every", "0", commits + "checkpoint.to=local checkpoint.keep_every=10",
         [](All all) { return all.experiment.checkpoint.keep_every > 0 && apart(all); }}}},
      {Kind::unused,
       "machines are only warned where recovery.mode is restart",
       {{"checkpoint.policy", "a policy that plans commits", "checkpoint.policy=on-warning",
         [](All all) { return commits_on_warning(all) && !all.launches_again(); }}}},
      {Kind::unused,
       "machines depart without a warning (transience.notice is 0)",
       {{"checkpoint.policy", "a policy that plans commits", restarts + "checkpoint.policy=on-warning",
         [](All all) {
           return commits_on_warning(all) && all.may_depart() &&
                  all.experiment.transience.notice == Seconds(0);
         }}}},
  };
}

/// What makes a checkpoint that some workers wrote useless for others (why_workers_must_stay), and what else
/// cannot follow their number.
struct Tie {
  std::string because;
  std::string example;
  std::function<bool(All)> is_met;
};

std::vector<Tie> ties_to_workers() {
  return {
      {"each worker of {algorithm} has a model of its own", "sync.algorithm=d-psgd sync.over=peers",
       [](All all) { return all.chosen.has_models_of_their_own(); }},
      {"with data.sampling {sampler} each worker alone knows the losses of its samples",
       "data.sampling=importance", [](All all) { return all.chosen.sampler->needs_losses; }},
      {"cache policy {cache} plans with lists that stay as they are",
       "data.source=storage placement.cache_nodes=[server] data.cache=nopfs",
       [](All all) {
         const cache::Needs& needs = all.chosen.cache->needs;
         const bool plans = all.plans_epochs() || (all.has_cache_nodes() && needs.plan);
         return plans && (needs.ahead || restarts_on_departure(all));
       }},
  };
}

/// Of a job that is launched again, perhaps with fewer workers.
std::vector<Limit> of_fewer_workers() {
  const auto may_be_fewer = [](All all) {
    return all.launches_again() &&
           all.experiment.recovery.least < static_cast<int>(all.experiment.placement.workers.size());
  };
  const std::string shrinks = departs + commits + "recovery.mode=restart recovery.policy=shrink ";
  std::vector<Limit> limits;
  for (const Tie& tie : ties_to_workers())
    limits.push_back(
        {Kind::unsupported,
         tie.because,
         {{"recovery.policy", "restart, which waits for all workers", shrinks + tie.example,
           [=](All all) {
             return may_be_fewer(all) && all.experiment.recovery.shrinks() && tie.is_met(all);
           }},
          {"recovery.least", "{workers}, all workers", restarts + "recovery.least=2 " + tie.example,
           [=](All all) { return may_be_fewer(all) && tie.is_met(all); }}}});
  limits.push_back({Kind::value,
                    "a job that starts again needs them all",
                    {{"recovery.options.replace", "true, or a recovery.least below the number of workers",
                      restarts + "recovery.options.replace=false", [=](All all) {
                        const auto& values = all.chosen.recovery.options().values();
                        return !may_be_fewer(all) && restarts_on_departure(all) &&
                               all.chosen.recovery.name() == "restart" && values.contains("replace") &&
                               !all.chosen.recovery.options().boolean("replace");
                      }}}});
  return limits;
}

}  // namespace

const std::vector<Limit>& limits_of_machines() {
  static const std::vector<Limit> all = [] {
    std::vector<Limit> limits;
    for (const auto& part : {of_restarts(), of_departures(), of_spares(), of_policies(),
                             of_departures_in_place(), of_counted_samples(), of_commits()})
      limits.insert(limits.end(), part.begin(), part.end());
    return limits;
  }();
  return all;
}

const std::vector<Limit>& limits_of_placement() {
  static const std::vector<Limit> all = [] {
    std::vector<Limit> limits = of_fewer_workers();
    limits.push_back(
        {Kind::unused,
         "there is one server (placement.servers)",
         {{"sync.decides", "each-server", "sync.decides=first-server sync.algorithm=k-sync", [](All all) {
             return all.experiment.sync.decides != PushOrder::each_server &&
                    all.experiment.placement.servers.size() < 2;
           }}}});
    return limits;
  }();
  return all;
}

/// Features that one simulation or one launch of several jobs does not have yet.
const std::vector<Limit>& limits_of_company() {
  static const std::vector<Limit> all = {
      {Kind::unsupported,
       "several jobs run at the same time",
       {{"transience.lifetime", "never", departs, [](All one) { return one.may_depart(); }},
        {"recovery.mode", "in-place", commits + "recovery.mode=restart workload.math=real",
         [](All one) { return one.launches_again(); }}}}};
  return all;
}

}  // namespace tandem
