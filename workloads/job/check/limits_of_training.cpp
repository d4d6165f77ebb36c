// Limits of models, exchanges, ends, optimisers and runs.
#include <algorithm>
#include <cmath>

#include "workloads/job/check/limits.hpp"
#include "workloads/job/placement/roster.hpp"
#include "workloads/job/plan/all_reduce_plan.hpp"
#include "workloads/job/plan/ensemble.hpp"

namespace tandem {
namespace {

using sync::Route;
using All = const Combination&;
using Kind = Limit::Kind;

bool works_over(const sync::Factory& algorithm, Route route) {
  return std::ranges::find(algorithm.routes, route) != algorithm.routes.end();
}

bool is_synthetic(All all) { return all.experiment.workload.model == "synthetic"; }

bool has_measured_buffers(All all) { return all.experiment.workload.measured_buffers > Bytes(0); }

std::int64_t cosine_rounds(const Experiment& experiment) {
  return experiment.optimizer.cosine_rounds > 0 ? experiment.optimizer.cosine_rounds : experiment.stop.rounds;
}

/// The length of the cosine must be known before the job starts.
bool has_open_cosine(All all) {
  return all.experiment.optimizer.schedule == RateDecay::cosine && cosine_rounds(all.experiment) == 0;
}

bool has_no_limit(const Experiment::Stop& stop) {
  return stop.rounds == 0 && stop.epochs == 0.0 && stop.seconds == Seconds(0.0);
}

bool has_native_devices(All all) { return all.experiment.run.devices == DeviceSpeed::native; }
bool exchanges_by_key(All all) { return all.experiment.sync.exchange == ExchangeUnit::by_key; }
bool first_server_decides(All all) { return all.experiment.sync.decides == PushOrder::first_server; }

bool compresses_replies(All all) { return all.experiment.sync.compress_replies; }
bool may_err_widely(All all) {
  const auto method = all.chosen.compression->may_err_widely;
  return method != nullptr && method(all.chosen.compression.options());
}

bool varies_lengths(All all) {
  return compression::have_lengths(all.chosen.compression.make(), all.chosen.compression.options());
}

std::vector<Limit> of_models() {
  const auto has_tensors = [](All all) { return !all.experiment.workload.synthetic_tensors.empty(); };
  const auto has_measured_buckets = [](All all) { return !all.experiment.workload.measured_buckets.empty(); };
  return {
      {Kind::unsupported,
       "workload.math is real and fp16 would need a scaled loss",
       {{"workload.precision", "fp32, tf32 or bf16", "workload.math=real workload.precision=fp16",
         [](All all) { return all.is_real() && all.experiment.workload.precision == Precision::fp16; }}}},
      {Kind::unused,
       "workload.model is '{model}', not 'synthetic'",
       {{"workload.synthetic_tensors", "nothing", "workload.synthetic_tensors=[4MB,16kB]",
         [=](All all) { return has_tensors(all) && !is_synthetic(all); }},
        {"workload.measured_buckets", "nothing", "'workload.measured_buckets=[4MB 30ms]'",
         [=](All all) { return has_measured_buckets(all) && !is_synthetic(all); }},
        {"workload.measured_buffers", "0", "workload.measured_buffers=200kB",
         [](All all) { return has_measured_buffers(all) && !is_synthetic(all); }}}},
      {Kind::value,
       "a learner computes whole layers",
       {{"workload.bucket_rule", "layers where workload.math is real",
         "workload.math=real workload.bucket_rule=ddp",
         [](All all) { return all.is_real() && all.experiment.workload.bucket_rule == BucketRule::ddp; }}}},
      {Kind::unused,
       "workload.model is synthetic, whose tensors or buckets are listed",
       {{"workload.bucket_rule", "layers", "workload.model=synthetic workload.bucket_rule=ddp",
         [](All all) {
           return is_synthetic(all) && all.experiment.workload.bucket_rule == BucketRule::ddp;
         }}}},
      {Kind::unused,
       "",
       {{"workload.synthetic_buckets",
         "no value with workload.synthetic_tensors, which workload.bucket_bytes gathers into buckets",
         "workload.model=synthetic workload.synthetic_tensors=[4MB,16kB] workload.synthetic_buckets=3",
         [=](All all) { return has_tensors(all) && all.experiment.workload.synthetic_buckets > 1; }}}},
      {Kind::unused,
       "workload.measured_buckets lists the buckets",
       {{"workload.synthetic_tensors", "nothing",
         "workload.model=synthetic workload.synthetic_tensors=[4MB] workload.measured_forward=9ms "
         "'workload.measured_buckets=[4MB 30ms]'",
         [=](All all) { return has_tensors(all) && has_measured_buckets(all); }},
        {"workload.synthetic_buckets", "nothing",
         "workload.model=synthetic workload.synthetic_buckets=3 workload.measured_forward=9ms "
         "'workload.measured_buckets=[4MB 30ms]'",
         [=](All all) {
           return has_measured_buckets(all) && all.experiment.workload.synthetic_buckets > 1;
         }}}},
      {Kind::value,
       "workload.math is real",
       {{"workload.model", "a model that can be computed", "workload.model=synthetic workload.math=real",
         [](All all) { return is_synthetic(all) && all.is_real(); }}}},
      {Kind::value,
       "",
       {{"workload.synthetic_buckets", "at most workload.synthetic_parameters ({parameters})",
         "workload.model=synthetic workload.synthetic_parameters=3 workload.synthetic_buckets=4",
         [](All all) {
           const auto& workload = all.experiment.workload;
           return is_synthetic(all) && workload.synthetic_buckets > workload.synthetic_parameters;
         }}}},
      {Kind::value,
       "a model has at most a million buckets",
       {{"workload.bucket_bytes", "a larger size, or 0",
         "workload.model=synthetic workload.synthetic_parameters=2000000 workload.bucket_bytes=1",
         [](All all) {
           const auto& workload = all.experiment.workload;
           return is_synthetic(all) && workload.synthetic_buckets == 0 && workload.bucket_bytes > Bytes(0) &&
                  (workload.synthetic_parameters - 1) / 1'000'000 > (workload.bucket_bytes.count() - 1) / 4;
         }}}},
  };
}

/// One of the two passes is given, and nothing says how long the other one takes.
bool is_half(Seconds given, Seconds other, Seconds both) {
  return given > Seconds(0) && other == Seconds(0) && both == Seconds(0);
}

/// Both passes and the step are given, and do not agree.
bool disagree(const Experiment::Workload& workload) {
  constexpr double rounding = 1e-9;
  const double sum = (workload.measured_forward + workload.measured_backward).count();
  return workload.measured_forward > Seconds(0) && workload.measured_backward > Seconds(0) &&
         workload.measured_step > Seconds(0) &&
         std::abs(sum - workload.measured_step.count()) > rounding * sum;
}

bool is_part(Seconds pass, Seconds other, Seconds step) {
  return pass == Seconds(0) || step == Seconds(0) || other > Seconds(0) || pass < step;
}

std::vector<Limit> of_measured_times() {
  return {
      {Kind::value,
       "one pass alone does not say how long a step takes",
       {{"workload.measured_backward", "a time, or workload.measured_step with workload.measured_forward",
         "workload.measured_forward=60ms",
         [](All all) {
           const auto& workload = all.experiment.workload;
           return is_half(workload.measured_forward, workload.measured_backward, workload.measured_step);
         }},
        {"workload.measured_forward", "a time, or workload.measured_step with workload.measured_backward",
         "workload.measured_backward=120ms",
         [](All all) {
           const auto& workload = all.experiment.workload;
           return is_half(workload.measured_backward, workload.measured_forward, workload.measured_step);
         }}}},
      {Kind::value,
       "a pass is a part of the step",
       {{"workload.measured_forward", "less than workload.measured_step",
         "workload.measured_forward=200ms workload.measured_step=180ms",
         [](All all) {
           const auto& workload = all.experiment.workload;
           return !is_part(workload.measured_forward, workload.measured_backward, workload.measured_step);
         }},
        {"workload.measured_backward", "less than workload.measured_step",
         "workload.measured_backward=180ms workload.measured_step=180ms",
         [](All all) {
           const auto& workload = all.experiment.workload;
           return !is_part(workload.measured_backward, workload.measured_forward, workload.measured_step);
         }},
        {"workload.measured_step",
         "the sum of workload.measured_forward and workload.measured_backward, or no value with these",
         "workload.measured_forward=60ms workload.measured_backward=100ms workload.measured_step=180ms",
         [](All all) { return disagree(all.experiment.workload); }}}},
      {Kind::unused,
       "no measured time is given (workload.measured_step)",
       {{"workload.measured_on", "nothing", "workload.measured_on=a100",
         [](All all) {
           const auto& workload = all.experiment.workload;
           return !workload.measured_on.empty() && !workload.has_measured_times();
         }},
        {"workload.measured_update", "nothing", "workload.measured_update=1ms",
         [](All all) {
           const auto& workload = all.experiment.workload;
           return workload.measured_update > Seconds(0) && !workload.has_measured_times();
         }},
        {"workload.measured_host", "nothing", "workload.measured_host=1ms",
         [](All all) {
           const auto& workload = all.experiment.workload;
           return workload.measured_host > Seconds(0) && !workload.has_measured_times();
         }}}},
  };
}

std::vector<Limit> of_exchanges() {
  const auto overlaps_forward = [](All all) { return all.experiment.sync.overlaps_forward(); };
  return {
      {Kind::value,
       "{algorithm} works over {routes}",
       {{"sync.algorithm", "one that works over {over} ({algorithms_over})", "sync.algorithm=d-psgd",
         [](All all) { return !works_over(all.chosen.algorithm.make(), all.experiment.sync.over); }}}},
      {Kind::unsupported,
       "workers of {algorithm} need their whole model between exchanges",
       {{"sync.overlap", "none or backward", "sync.overlap=both sync.algorithm=local-sgd",
         [=](All all) {
           return overlaps_forward(all) && all.chosen.algorithm->payload != sync::Payload::gradient;
         }}}},
      {Kind::unused,
       "native devices run the forward pass as one piece (run.devices)",
       {{"sync.overlap", "none or backward", "sync.overlap=both run.devices=native",
         [=](All all) { return overlaps_forward(all) && has_native_devices(all); }}}},
      {Kind::unused,
       "over {over} no server answers workers (sync.over)",
       {{"sync.pull", "pushed", "sync.pull=requested sync.over=all-reduce",
         [](All all) {
           return all.experiment.sync.pull == ServerPull::requested && !all.is_over(Route::server);
         }},
        {"sync.exchange", "whole", "sync.exchange=by-key sync.over=all-reduce",
         [](All all) { return exchanges_by_key(all) && !all.is_over(Route::server); }},
        {"sync.decides", "each-server", "sync.decides=first-server sync.over=all-reduce",
         [](All all) { return first_server_decides(all) && !all.is_over(Route::server); }},
        {"sync.compress_replies", "false",
         "sync.compress_replies=true sync.compression=top-k sync.over=all-reduce",
         [](All all) { return compresses_replies(all) && !all.is_over(Route::server); }}}},
      {Kind::unused,
       "over {over} workers send no buffers before a step (sync.over)",
       {{"workload.measured_buffers", "0", "workload.model=synthetic workload.measured_buffers=200kB",
         [](All all) { return has_measured_buffers(all) && !all.is_over(Route::all_reduce); }}}},
      {Kind::unused,
       "workers of {algorithm} sum no gradients",
       {{"workload.measured_buffers", "0",
         "workload.model=synthetic workload.measured_buffers=200kB sync.over=all-reduce "
         "sync.algorithm=local-sgd",
         [](All all) {
           return has_measured_buffers(all) && all.chosen.algorithm->payload != sync::Payload::gradient;
         }}}},
      {Kind::unsupported,
       "each bucket of an exchange by key has its own rounds, about which servers of {algorithms_by_key} "
       "decide, and a compressed reply is the change of a whole model",
       {{"sync.exchange", "whole with {algorithm}", "sync.exchange=by-key sync.algorithm=k-sync",
         [](All all) { return exchanges_by_key(all) && !works_by_key(all.chosen.algorithm.make()); }},
        {"sync.decides", "each-server", "sync.decides=first-server sync.exchange=by-key sync.algorithm=asp",
         [](All all) { return first_server_decides(all) && exchanges_by_key(all); }},
        {"sync.compress_replies", "false",
         "sync.compress_replies=true sync.compression=top-k sync.exchange=by-key",
         [](All all) {
           return compresses_replies(all) && all.chosen.compresses() &&
                  (exchanges_by_key(all) || all.chosen.algorithm->keeps_models);
         }}}},
      {Kind::unused,
       "servers of {algorithm} decide alike, whatever the order of pushes",
       {{"sync.decides", "each-server", "sync.decides=first-server",
         [](All all) { return first_server_decides(all) && !all.chosen.algorithm->timing_driven; }}}},
      {Kind::unused,
       "sync.exchange is by-key: the bucket of the first layers is exchanged last, so forward would wait for "
       "all",
       {{"sync.overlap", "none or backward", "sync.exchange=by-key sync.overlap=both",
         [=](All all) { return exchanges_by_key(all) && overlaps_forward(all); }}}},
  };
}

std::vector<Limit> of_compressions() {
  return {
      {Kind::unused,
       "sync.compression is none",
       {{"sync.compress_replies", "false", "sync.compress_replies=true",
         [](All all) { return compresses_replies(all) && !all.chosen.compresses(); }}}},
      {Kind::value,
       "errors of {compression} may be larger than the values, and what a reply lacks is part of the next "
       "one",
       {{"sync.compress_replies",
         "false, or a method with error feedback, or optimizer.update_at workers where replies are means",
         "sync.compress_replies=true sync.compression=qsgd",
         [](All all) {
           return compresses_replies(all) && may_err_widely(all) &&
                  all.experiment.optimizer.update_at == UpdateSide::server;
         }}}},
      {Kind::value,
       "messages of {compression} have lengths of their own, which are counted when all have arrived",
       {{"sync.overlap", "none or backward",
         "sync.compress_replies=true sync.compression=lossless sync.overlap=both",
         [](All all) {
           return compresses_replies(all) && all.experiment.sync.overlaps_forward() && varies_lengths(all);
         }}}},
      {Kind::value,
       "messages of {compression} have lengths of their own, and an all-reduce takes equal ones",
       {{"sync.compression", "another one, sync.over server, or of dgc option warm_up 0",
         "sync.compression=lossless sync.over=all-reduce",
         [](All all) { return all.is_over(Route::all_reduce) && varies_lengths(all); }}}},
      {Kind::unsupported,
       "workers of {algorithm} exchange whole models, not gradients or changes",
       {{"sync.compression", "none", "sync.compression=top-k sync.algorithm=d-psgd sync.over=peers",
         [](All all) {
           return all.chosen.compresses() && all.chosen.algorithm->payload == sync::Payload::model;
         }}}},
  };
}

/// Of the all-reduce of a library, which has no schedule.
std::vector<Limit> of_native_sums() {
  const auto is_native = [](All all) {
    return all.is_over(Route::all_reduce) && all.experiment.sync.collective == native_all_reduce;
  };
  const auto names_algorithm = [](All all) {
    return all.experiment.physics.all_reduce != LibraryAlgorithm::automatic;
  };
  return {
      {Kind::unused,
       "the library chooses its own ways (sync.collective is native)",
       {{"sync.rings", "1", "sync.rings=2 sync.collective=native sync.over=all-reduce",
         [=](All all) { return all.experiment.sync.rings > 1 && is_native(all); }}}},
      {Kind::unused,
       "over {over} no library sums (sync.over)",
       {{"physics.all_reduce", "auto", "physics.all_reduce=ring",
         [=](All all) { return names_algorithm(all) && !all.is_over(Route::all_reduce); }}}},
      {Kind::unused,
       "messages of Tandem's own schedules sum, where sync.collective is not native",
       {{"physics.all_reduce", "auto", "physics.all_reduce=ring sync.over=all-reduce sync.collective=ring",
         [=](All all) {
           return names_algorithm(all) && all.is_over(Route::all_reduce) && !is_native(all);
         }}}},
  };
}

std::vector<Limit> of_ends() {
  const auto has_accuracy = [](All all) { return all.experiment.stop.accuracy > 0.0; };
  return {
      {Kind::value,
       "",
       {{"stop", "rounds, epochs or seconds above 0 with accuracy, which may never be reached",
         "stop.rounds=0 stop.accuracy=0.9",
         [=](All all) { return has_no_limit(all.experiment.stop) && has_accuracy(all); }},
        {"stop", "at least one of rounds, epochs and seconds above 0", "stop.rounds=0",
         [](All all) { return has_no_limit(all.experiment.stop); }}}},
      {Kind::unused,
       "nothing is learnt (workload.math is modelled; real is needed)",
       {{"stop.accuracy", "0", "stop.accuracy=0.9",
         [=](All all) { return has_accuracy(all) && !all.is_real(); }}}},
      // Modelled mathematics never evaluates, which the results report, so target_accuracy is no error there.
      {Kind::unused,
       "nothing is evaluated (evaluate_every is 0)",
       {{"stop.accuracy", "0", "stop.accuracy=0.9 workload.math=real",
         [=](All all) { return has_accuracy(all) && all.experiment.evaluate_every == 0; }},
        {"target_accuracy", "0", "target_accuracy=0.9 workload.math=real",
         [](All all) {
           return all.experiment.target_accuracy > 0.0 && all.experiment.evaluate_every == 0 && all.is_real();
         }}}},
      {Kind::unsupported,
       "all workers of {algorithm} stop after the same round, in which no message reaches all",
       {{"stop.seconds", "stop.rounds or stop.epochs",
         "stop.rounds=0 stop.seconds=5 sync.over=peers sync.algorithm=d-psgd",
         [](All all) {
           const bool is_common = !all.is_over(Route::server) && !all.chosen.algorithm->timing_driven;
           return all.experiment.stop.seconds > Seconds(0.0) && is_common && !all.exchanges_with_all();
         }}}},
      {Kind::unsupported,
       "with {algorithm} the server, which stops at stop.accuracy, does not count the rounds of the first "
       "worker",
       {{"placement.evaluator", "a host",
         "placement.evaluator=first-worker stop.accuracy=0.9 workload.math=real evaluate_every=2 "
         "sync.algorithm=asp",
         [=](All all) {
           const auto& algorithm = all.chosen.algorithm.make();
           return all.experiment.placement.evaluator == first_worker_evaluates && has_accuracy(all) &&
                  all.is_over(Route::server) && !algorithm.lockstep && algorithm.timing_driven;
         }}}},
  };
}

std::vector<Limit> of_optimizers() {
  return {
      {Kind::unused,
       "adam and adamw have beta1 instead",
       {{"optimizer.momentum", "0", "optimizer.kind=adam optimizer.momentum=0.9",
         [](All all) {
           const auto& optimizer = all.experiment.optimizer;
           return optimizer.kind != OptimizerKind::sgd && optimizer.momentum > 0.0;
         }}}},
      {Kind::unused,
       "optimizer.momentum is 0",
       {{"optimizer.nesterov", "false", "optimizer.nesterov=true",
         [](All all) {
           return all.experiment.optimizer.nesterov && all.experiment.optimizer.momentum == 0.0;
         }}}},
      {Kind::value,
       "optimizer.schedule is step",
       {{"optimizer.step_every", "1 round or more between drops", "optimizer.schedule=step",
         [](All all) {
           const auto& optimizer = all.experiment.optimizer;
           return optimizer.schedule == RateDecay::step && optimizer.step_every == 0;
         }}}},
      {Kind::value,
       "",
       {{"optimizer.warmup_rounds", "fewer than the {cosine} rounds of the cosine",
         "optimizer.schedule=cosine optimizer.warmup_rounds=10",
         [](All all) {
           const auto rounds = cosine_rounds(all.experiment);
           return all.experiment.optimizer.schedule == RateDecay::cosine && rounds > 0 &&
                  all.experiment.optimizer.warmup_rounds >= rounds;
         }}}},
      {Kind::value,
       "with {algorithm} it does not follow from stop.epochs",
       {{"optimizer.cosine_rounds", "the number of rounds until the cosine ends",
         "optimizer.schedule=cosine stop.rounds=0 stop.epochs=2 sync.algorithm=esync",
         [](All all) {
           return has_open_cosine(all) && all.experiment.stop.epochs > 0.0 && all.chosen.rounds_vary();
         }}}},
      {Kind::value,
       "",
       {{"optimizer.cosine_rounds",
         "the number of rounds until the cosine ends, or stop.rounds or stop.epochs",
         "optimizer.schedule=cosine stop.rounds=0 stop.seconds=5",
         [](All all) { return has_open_cosine(all) && all.experiment.stop.epochs == 0.0; }}}},
      // A worker that missed an update, or received two as one, would have a different model.
      {Kind::unsupported,
       "{algorithm} does not send all workers the gradient of every update at once "
       "({algorithms_in_lockstep} do)",
       {{"optimizer.update_at", "server", "optimizer.update_at=workers sync.algorithm=asp",
         [](All all) {
           return all.experiment.optimizer.update_at == UpdateSide::workers && all.is_over(Route::server) &&
                  !all.chosen.algorithm->lockstep;
         }}}},
  };
}

std::vector<Limit> of_runs() {
  const auto has_emulated_devices = [](All all) { return !has_native_devices(all); };
  const auto has_no_profile = [](All all) { return all.experiment.physics.profile.empty(); };
  const std::string profile = "a file made by `tandem calibrate`";
  return {
      {Kind::unused,
       "the speed of native devices cannot be changed (run.devices)",
       {{"run.slowdown_probability", "0", "run.slowdown_probability=0.1 run.devices=native",
         [](All all) { return all.experiment.run.slowdown_probability > 0.0 && has_native_devices(all); }}}},
      {Kind::unused,
       "emulated devices are no GPUs, and have no memory of their own (run.devices)",
       {{"run.device_messages", "auto", "run.device_messages=direct",
         [=](All all) {
           return all.experiment.run.device_messages != DeviceMessages::automatic &&
                  has_emulated_devices(all);
         }},
        {"run.cuda_graphs", "false", "run.cuda_graphs=true",
         [=](All all) { return all.experiment.run.cuda_graphs && has_emulated_devices(all); }}}},
      {Kind::value,
       "physics.network is profile",
       {{"physics.profile", profile, "physics.network=profile",
         [=](All all) {
           return all.experiment.physics.network == NetworkSource::profile && has_no_profile(all);
         }}}},
      {Kind::value,
       "physics.noise is profile",
       {{"physics.profile", profile, "physics.noise=profile",
         [=](All all) {
           return all.experiment.physics.noise == NoiseSource::profile && has_no_profile(all);
         }}}},
      {Kind::value,
       "fewer give no interval",
       {{"physics.ensemble",
         "0 (one simulation), or at least " + std::to_string(least_replicas) + " simulations",
         "physics.ensemble=2",
         [](All all) {
           const int replicas = all.experiment.physics.ensemble;
           return replicas > 0 && replicas < least_replicas;
         }}}},
  };
}

}  // namespace

const std::vector<Limit>& limits_of_training() {
  static const std::vector<Limit> all = [] {
    std::vector<Limit> limits;
    for (const auto& part : {of_models(), of_measured_times(), of_exchanges(), of_compressions(),
                             of_native_sums(), of_ends(), of_optimizers(), of_runs()})
      limits.insert(limits.end(), part.begin(), part.end());
    return limits;
  }();
  return all;
}

}  // namespace tandem
