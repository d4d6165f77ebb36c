// Limits of machines that depart, of what follows, and of commits.
#include <algorithm>

#include "workloads/job/check/limits.hpp"
#include "workloads/job/placement/host_lifetime.hpp"
#include "workloads/job/placement/roster.hpp"
#include "workloads/job/plan/all_reduce_plan.hpp"

namespace tandem {
namespace {

using sync::Route;
using All = const Combination&;

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
bool shares_batches(All all) { return all.experiment.recovery.batch == BatchRule::global; }
bool has_spares(All all) { return !all.experiment.placement.spares.empty(); }

/// Commits elsewhere than in the result directory.
bool apart(All all) { return all.experiment.checkpoint.to != CommitPlace::directory; }

bool exchanges_in_groups(All all) {
  return std::ranges::any_of(all.chosen.algorithm.entry().options,
                             [](const auto& option) { return option.name == "group_size"; });
}

std::vector<Limit> of_restarts() {
  const std::string mode = "recovery.mode";
  return {
      // The baseline of jobs that start again.
      {"transience.lifetime", "a model of lifetimes, or recovery.mode in-place where machines stay",
       "recovery.mode is restart, and modelled mathematics starts again only where machines depart",
       "recovery.mode=restart " + commits,
       [](All all) {
         return all.continues(Continuation::restart_on_death) && !all.is_real() && all.has_commits();
       }},
      {mode, "in-place", "modelled mathematics saves no states to start from again (workload.math)",
       "recovery.mode=restart",
       [](All all) { return all.continues(Continuation::restart_on_death) && !all.is_real(); }},
      {mode, "in-place",
       "no states are saved to start from again (evaluate_every is 0, and checkpoint.policy is empty)",
       "recovery.mode=restart workload.math=real",
       [](All all) {
         return all.launches_again() && all.experiment.evaluate_every == 0 && !all.has_commits();
       }},
  };
}

/// Of departures at all, and of the slots beyond the workers'.
std::vector<Limit> of_departures() {
  return {
      {"transience.options.by_host", "an empty option", "no machine departs (transience.lifetime is never)",
       "'transience.options.by_host=\"region=north: fixed time=5\"'",
       [](All all) { return !groups_of_hosts(all.experiment.transience).empty() && !all.may_depart(); }},
      {"run.revoke", "none", "a job does not survive the death of a rank in place (recovery.mode)",
       departs + "run.revoke=kill",
       [](All all) { return all.experiment.run.revoke != RevokeMode::none && in_place(all); }},
      {"transience.lifetime", "a model of lifetimes, or run.revoke none where machines stay",
       "run.revoke kills the ranks of machines that depart",
       "run.revoke=kill recovery.mode=restart workload.math=real " + commits,
       [](All all) {
         return all.experiment.run.revoke != RevokeMode::none &&
                all.continues(Continuation::restart_on_death);
       }},
      {"run.revoke", "none", "no machine departs (transience.lifetime is never)", "run.revoke=kill",
       [](All all) { return all.experiment.run.revoke != RevokeMode::none && !restarts_on_departure(all); }},
      {"placement.spares", "hosts of the spares of recovery.policy spares", may_depart,
       departs + "recovery.policy=spares",
       [](All all) { return in_place(all) && !has_spares(all) && all.chosen.recovery.name() == "spares"; }},
      {"placement.spares", "no hosts", "no machine departs (transience.lifetime is never)",
       "placement.spares=[node-4]", [](All all) { return has_spares(all) && !all.may_depart(); }},
      {"placement.spares", "no hosts",
       "a job that starts again has a slot for each worker alone (recovery.mode)",
       restarts + "placement.spares=[node-4]", [](All all) { return has_spares(all) && !in_place(all); }},
      {"placement.spares", "no hosts", "recovery.policy {recovery} gets no machines there",
       departs + "recovery.policy=shrink placement.spares=[node-4]",
       [](All all) {
         const std::string& policy = all.chosen.recovery.name();
         return has_spares(all) && policy != "spares" && policy != "replace";
       }},
      // Their rules count the slots, not the members.
      {"placement.spares", "no hosts", "the rule of {algorithm} would count their slots as workers",
       departs + "recovery.policy=replace placement.spares=[node-4] sync.algorithm=lb-bsp",
       [](All all) {
         return has_spares(all) && (all.chosen.algorithm->varies_batch ||
                                    (all.chosen.algorithm->payload != sync::Payload::model &&
                                     all.chosen.has_models_of_their_own()));
       }},
  };
}

/// Of a job that starts again.
std::vector<Limit> of_starting_again() {
  return {
      {"recovery.policy", "restart, shrink or liveput, with recovery.mode restart", may_depart,
       departs + commits + "recovery.mode=restart recovery.policy=replace",
       [](All all) {
         const std::string& policy = all.chosen.recovery.name();
         return restarts_on_departure(all) && policy != "restart" && policy != "shrink" &&
                policy != "liveput";
       }},
      {"transience.lifetime", "a model with a distribution of lifetimes for recovery.policy liveput",
       may_depart,
       commits + "recovery.mode=restart recovery.policy=liveput transience.lifetime=trace "
                 "'transience.options.events=10 remove node-1'",
       [](All all) {
         return restarts_on_departure(all) && all.chosen.recovery.name() == "liveput" &&
                all.chosen.lifetime->lifetime == nullptr;
       }},
      {"recovery.on_loss", "keep",
       "the job starts again (recovery.mode), and nothing of a round in progress remains",
       restarts + "recovery.on_loss=drop",
       [](All all) { return restarts_on_departure(all) && drops_losses(all); }},
      {"stop.seconds", "stop.rounds or stop.epochs",
       "a job that starts again counts no time that was lost (recovery.mode)",
       restarts + "stop.rounds=0 stop.seconds=5",
       [](All all) { return restarts_on_departure(all) && all.experiment.stop.seconds > Seconds(0); }},
  };
}

/// While the other ranks continue.
std::vector<Limit> of_departures_in_place() {
  return {
      {"recovery.policy", "a policy that recovers in place (shrink | replace | spares)", may_depart,
       departs + "recovery.policy=restart",
       [](All all) {
         const std::string& policy = all.chosen.recovery.name();
         return in_place(all) && (policy == "restart" || policy == "liveput");
       }},
      {"sync.algorithm", "an algorithm that supports departures and arrivals",
       "machines may depart (transience.lifetime); {algorithm}: {membership}",
       "",  // no algorithm of the catalogue
       [](All all) {
         return in_place(all) &&
                all.chosen.algorithm->membership.bears != sync::Membership::Bears::departures_and_arrivals;
       }},
      {"recovery.batch", "keep with {algorithm}, which divides the batch itself", may_depart,
       departs + "recovery.batch=global sync.algorithm=lb-bsp",
       [](All all) { return in_place(all) && shares_batches(all) && all.chosen.algorithm->varies_batch; }},
      {"recovery.on_loss", "keep without servers", "a round is done again without the lost worker",
       departs + "recovery.on_loss=drop sync.over=all-reduce",
       [](All all) { return in_place_without_server(all) && drops_losses(all); }},
      {"recovery.on_loss", "keep with {algorithm}", "it has no rounds that wait for others",
       departs + "recovery.on_loss=drop sync.algorithm=asp",
       [](All all) {
         return in_place(all) && drops_losses(all) && !all.chosen.algorithm->membership.rounds_are_updates;
       }},
      {"sync.pull", "pushed", may_depart, departs + "sync.pull=requested",
       [](All all) { return in_place_over_server(all) && all.experiment.sync.pull != ServerPull::pushed; }},
      {"sync.exchange", "whole", may_depart, departs + "sync.exchange=by-key",
       [](All all) {
         return in_place_over_server(all) && all.experiment.sync.exchange != ExchangeUnit::whole;
       }},
      {"optimizer.update_at", "server, which has the model for workers that join", may_depart,
       departs + "optimizer.update_at=workers",
       [](All all) {
         return in_place_over_server(all) && all.experiment.optimizer.update_at != UpdateSide::server;
       }},
  };
}

/// Of workers that exchange directly, and of what a worker takes along.
std::vector<Limit> of_departures_of_members() {
  return {
      {"sync.algorithm", "an algorithm of rounds over peers",
       "machines may depart (transience.lifetime), and without rounds the first worker counts the steps of "
       "all",
       departs + "sync.algorithm=ad-psgd sync.over=peers",
       [](All all) {
         return in_place(all) && all.is_over(Route::peers) && all.chosen.algorithm->timing_driven;
       }},
      {"sync.collective", "a collective with a schedule",
       "machines may depart (transience.lifetime), and the library's all-reduce cannot lose a member",
       departs + "sync.over=all-reduce sync.collective=native",
       [](All all) {
         return in_place(all) && all.is_over(Route::all_reduce) &&
                all.experiment.sync.collective == native_all_reduce;
       }},
      {"sync.overlap", "none or backward",
       "machines may depart (transience.lifetime), and a repeated exchange could apply a bucket twice",
       departs + "sync.over=all-reduce sync.overlap=both",
       [](All all) { return in_place_without_server(all) && all.experiment.sync.overlaps_forward(); }},
      {"sync.compression", "none",
       "machines may depart (transience.lifetime), and repeating a compressed exchange would drop the "
       "residual twice",
       departs + "sync.over=all-reduce sync.compression=top-k",
       [](All all) { return in_place_without_server(all) && all.chosen.compresses(); }},
      {"recovery.batch", "keep without servers", "the mean gives all workers the same weight",
       departs + "sync.over=all-reduce recovery.batch=global",
       [](All all) { return in_place_without_server(all) && shares_batches(all); }},
      {"stop.accuracy", "another limit without servers",
       "machines may depart (transience.lifetime), and each worker would wait for the evaluator",
       departs + "sync.over=all-reduce stop.accuracy=0.9 workload.math=real evaluate_every=2",
       [](All all) { return in_place_without_server(all) && all.experiment.stop.accuracy > 0.0; }},
      {"data.sampling", "a sampler without losses",
       "machines may depart (transience.lifetime), and a worker takes its losses along",
       departs + "data.sampling=importance",
       [](All all) { return in_place(all) && all.chosen.sampler->needs_losses; }},
      {"data.sampling", "shard over peers or in groups",
       "machines may depart (transience.lifetime), the last batch of a common list is smaller, and nobody "
       "counts the samples of all",
       departs + "data.sampling=shuffled sync.algorithm=d-psgd sync.over=peers",
       [](All all) {
         return in_place(all) && all.chosen.sampler->make != nullptr &&
                (all.is_over(Route::peers) || exchanges_in_groups(all));
       }},
      {"placement.evaluator", "a host that does not depart", may_depart,
       departs + "placement.evaluator=first-worker evaluate_every=2 workload.math=real",
       [](All all) { return in_place(all) && all.experiment.placement.evaluator == first_worker_evaluates; }},
  };
}

std::vector<Limit> of_commits() {
  return {
      {"checkpoint.to", "directory", "states are saved with the evaluations where checkpoint.policy is empty",
       "checkpoint.to=local", [](All all) { return apart(all) && !all.has_commits(); }},
      {"checkpoint.to", "directory",
       "commits in memory serve only a job that starts again (recovery.mode restart)",
       commits + "checkpoint.to=buddy",
       [](All all) { return all.experiment.checkpoint.to == CommitPlace::buddy && !all.launches_again(); }},
      {"checkpoint.to", "directory",
       "without servers the workers that are there commit for those that are not",
       departs + commits + "checkpoint.to=local sync.over=all-reduce",
       [](All all) { return apart(all) && in_place(all) && !all.is_over(Route::server); }},
      {"checkpoint.keep_every", "0", "checkpoint.policy is empty", "checkpoint.keep_every=10",
       [](All all) { return all.experiment.checkpoint.keep_every > 0 && !all.has_commits(); }},
      {"checkpoint.keep_every", "0",
       "checkpoint.to is {place}: only the result directory keeps more than the last commits",
       commits + "checkpoint.to=local checkpoint.keep_every=10",
       [](All all) { return all.experiment.checkpoint.keep_every > 0 && apart(all); }},
      {"checkpoint.policy", "a policy that plans commits",
       "machines are only warned where recovery.mode is restart", "checkpoint.policy=on-warning",
       [](All all) { return all.experiment.checkpoint.policy == "on-warning" && !all.launches_again(); }},
      {"checkpoint.policy", "a policy that plans commits",
       "machines depart without a warning (transience.notice is 0)",
       restarts + "checkpoint.policy=on-warning",
       [](All all) {
         return all.experiment.checkpoint.policy == "on-warning" && all.may_depart() &&
                all.experiment.transience.notice == Seconds(0);
       }},
  };
}

/// What makes a checkpoint that some workers wrote useless for others (why_workers_must_stay).
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
      {"cache policy {cache} lets samples of the workers change places in an epoch",
       "workload.math=real transience.lifetime=never data.source=storage placement.cache_nodes=[server] "
       "data.cache=quiver data.sampling=shuffled",
       [](All all) { return all.has_cache_nodes() && all.chosen.cache->needs.ahead; }},
      {"modelled mathematics has no labels for data.split {split}", "data.split=dirichlet",
       [](All all) { return !all.is_real() && all.chosen.split->needs_labels; }},
      {"the cosine schedule of the learning rate is as long as the job (optimizer.cosine_rounds is 0)",
       "optimizer.schedule=cosine stop.epochs=2",
       [](All all) {
         return all.experiment.optimizer.schedule == RateDecay::cosine &&
                all.experiment.optimizer.cosine_rounds == 0 && all.experiment.stop.epochs > 0.0;
       }},
  };
}

/// Of a job that is launched again, perhaps with fewer workers.
std::vector<Limit> of_fewer_workers() {
  const std::string again = commits + "recovery.mode=restart ";
  std::vector<Limit> limits = {
      {"recovery.batch", "keep with {algorithm}, which divides the batch itself", "",
       restarts + "recovery.batch=global sync.algorithm=lb-bsp",
       [](All all) { return shares_batches(all) && all.chosen.algorithm->varies_batch; }},
      {"recovery.batch", "keep without servers, where the mean gives all workers the same weight", "",
       restarts + "recovery.batch=global sync.over=all-reduce",
       [](All all) { return shares_batches(all) && !all.is_over(Route::server); }},
      {"recovery.batch", "keep with optimizer.update_at workers, or optimizer.update_at server", "",
       restarts + "recovery.batch=global optimizer.update_at=workers",
       [](All all) {
         return shares_batches(all) && all.experiment.optimizer.update_at != UpdateSide::server;
       }},
  };
  const auto may_be_fewer = [](All all) {
    return all.experiment.recovery.least < static_cast<int>(all.experiment.placement.workers.size());
  };
  for (const Tie& tie : ties_to_workers()) {
    limits.push_back({"recovery.policy", "restart, which waits for all workers", tie.because,
                      departs + again + "recovery.policy=shrink " + tie.example, [=](All all) {
                        return may_be_fewer(all) && all.experiment.recovery.shrinks() && tie.is_met(all);
                      }});
    limits.push_back({"recovery.least", "{workers}, all workers", tie.because,
                      restarts + "recovery.least=2 " + tie.example,
                      [=](All all) { return may_be_fewer(all) && tie.is_met(all); }});
  }
  limits.push_back(
      {"recovery.options.replace", "true, or a recovery.least below the number of workers",
       "a job that starts again needs them all", restarts + "recovery.options.replace=false", [=](All all) {
         const auto& values = all.chosen.recovery.options().values();
         return !may_be_fewer(all) && restarts_on_departure(all) && all.chosen.recovery.name() == "restart" &&
                values.contains("replace") && !all.chosen.recovery.options().boolean("replace");
       }});
  return limits;
}

}  // namespace

const std::vector<Limit>& limits_of_machines() {
  static const std::vector<Limit> all = [] {
    std::vector<Limit> limits;
    for (const auto& part : {of_restarts(), of_departures(), of_starting_again(), of_departures_in_place(),
                             of_departures_of_members(), of_commits()})
      limits.insert(limits.end(), part.begin(), part.end());
    return limits;
  }();
  return all;
}

const std::vector<Limit>& limits_of_workers() {
  static const std::vector<Limit> all = of_fewer_workers();
  return all;
}

/// What one simulation or one launch of several jobs cannot do yet.
const std::vector<Limit>& limits_of_company() {
  const std::string because = "several jobs run at the same time";
  static const std::vector<Limit> all = {
      {"transience.lifetime", "never", because, departs, [](All one) { return one.may_depart(); }},
      {"recovery.mode", "in-place", because, commits + "recovery.mode=restart workload.math=real",
       [](All one) { return one.launches_again(); }}};
  return all;
}

}  // namespace tandem
