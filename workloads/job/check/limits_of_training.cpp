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

bool works_over(const sync::Factory& algorithm, Route route) {
  return std::ranges::find(algorithm.routes, route) != algorithm.routes.end();
}

bool is_synthetic(All all) { return all.experiment.workload.model == "synthetic"; }

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

/// Messages of workers cannot be added up: each worker gets those of all.
bool is_gathered(All all) {
  return all.is_over(Route::all_reduce) && all.chosen.compresses() &&
         all.chosen.compression->sharing == compression::Sharing::gathered;
}

std::vector<Limit> of_models() {
  return {
      {"workload.precision", "fp32, tf32 or bf16", "workload.math is real and fp16 would need a scaled loss",
       "workload.math=real workload.precision=fp16",
       [](All all) { return all.is_real() && all.experiment.workload.precision == Precision::fp16; }},
      {"workload.synthetic_tensors", "nothing", "workload.model is '{model}', not 'synthetic'",
       "workload.synthetic_tensors=[4MB,16kB]",
       [](All all) { return !all.experiment.workload.synthetic_tensors.empty() && !is_synthetic(all); }},
      {"workload.synthetic_buckets",
       "nothing besides workload.synthetic_tensors, which workload.bucket_bytes gathers into buckets", "",
       "workload.model=synthetic workload.synthetic_tensors=[4MB,16kB] workload.synthetic_buckets=3",
       [](All all) {
         return !all.experiment.workload.synthetic_tensors.empty() &&
                all.experiment.workload.synthetic_buckets != 1;
       }},
      {"workload.model", "a model that can be computed", "workload.math is real",
       "workload.model=synthetic workload.math=real",
       [](All all) { return is_synthetic(all) && all.is_real(); }},
      {"workload.synthetic_buckets", "at most workload.synthetic_parameters ({parameters})", "",
       "workload.model=synthetic workload.synthetic_parameters=3 workload.synthetic_buckets=4",
       [](All all) {
         const auto& workload = all.experiment.workload;
         return is_synthetic(all) && workload.synthetic_buckets > workload.synthetic_parameters;
       }},
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
      {"workload.measured_backward", "a time, or workload.measured_step besides workload.measured_forward",
       "the forward pass alone does not say how long a step takes", "workload.measured_forward=60ms",
       [](All all) {
         const auto& workload = all.experiment.workload;
         return is_half(workload.measured_forward, workload.measured_backward, workload.measured_step);
       }},
      {"workload.measured_forward", "a time, or workload.measured_step besides workload.measured_backward",
       "the backward pass alone does not say how long a step takes", "workload.measured_backward=120ms",
       [](All all) {
         const auto& workload = all.experiment.workload;
         return is_half(workload.measured_backward, workload.measured_forward, workload.measured_step);
       }},
      {"workload.measured_forward", "less than workload.measured_step, of which it is a part", "",
       "workload.measured_forward=200ms workload.measured_step=180ms",
       [](All all) {
         const auto& workload = all.experiment.workload;
         return !is_part(workload.measured_forward, workload.measured_backward, workload.measured_step);
       }},
      {"workload.measured_backward", "less than workload.measured_step, of which it is a part", "",
       "workload.measured_backward=180ms workload.measured_step=180ms",
       [](All all) {
         const auto& workload = all.experiment.workload;
         return !is_part(workload.measured_backward, workload.measured_forward, workload.measured_step);
       }},
      {"workload.measured_step",
       "the sum of workload.measured_forward and workload.measured_backward, or nothing besides these", "",
       "workload.measured_forward=60ms workload.measured_backward=100ms workload.measured_step=180ms",
       [](All all) { return disagree(all.experiment.workload); }},
      {"workload.measured_on", "nothing", "no measured time is given (workload.measured_step)",
       "workload.measured_on=a100",
       [](All all) {
         const auto& workload = all.experiment.workload;
         return !workload.measured_on.empty() && !workload.has_measured_times();
       }},
  };
}

std::vector<Limit> of_exchanges() {
  return {
      {"sync.algorithm", "one that works over {over} ({algorithms_over})", "{algorithm} works over {routes}",
       "sync.algorithm=d-psgd",
       [](All all) { return !works_over(all.chosen.algorithm.make(), all.experiment.sync.over); }},
      {"sync.overlap", "none or backward", "workers of {algorithm} need their whole model between exchanges",
       "sync.overlap=both sync.algorithm=local-sgd",
       [](All all) {
         return all.experiment.sync.overlaps_forward() &&
                all.chosen.algorithm->payload != sync::Payload::gradient;
       }},
      {"sync.overlap", "none or backward", "native devices run the forward pass as one piece (run.devices)",
       "sync.overlap=both run.devices=native",
       [](All all) {
         return all.experiment.sync.overlaps_forward() && all.experiment.run.devices == DeviceSpeed::native;
       }},
      {"sync.overlap", "none or backward", "a compressed all-reduce delivers its sum as one piece",
       "sync.overlap=both sync.over=all-reduce sync.compression=top-k",
       [](All all) {
         return all.experiment.sync.overlaps_forward() && all.is_over(Route::all_reduce) &&
                all.chosen.compresses();
       }},
      {"sync.pull", "pushed", "over {over} no server has a model to ask for",
       "sync.pull=requested sync.over=all-reduce",
       [](All all) {
         return all.experiment.sync.pull == ServerPull::requested && !all.is_over(Route::server);
       }},
      {"sync.exchange", "whole", "over {over} workers do not wait for a server",
       "sync.exchange=by-key sync.over=all-reduce",
       [](All all) {
         return all.experiment.sync.exchange == ExchangeUnit::by_key && !all.is_over(Route::server);
       }},
      {"sync.exchange", "whole",
       "the server of {algorithm} does not wait for the pushes of all workers (servers of "
       "{algorithms_that_wait} do)",
       "sync.exchange=by-key sync.algorithm=asp",
       [](All all) {
         return all.experiment.sync.exchange == ExchangeUnit::by_key &&
                !waits_for_all(all.chosen.algorithm.make());
       }},
      {"sync.exchange", "whole", "sync.overlap is both, and the answer to the last bucket comes last",
       "sync.exchange=by-key sync.overlap=both",
       [](All all) {
         return all.experiment.sync.exchange == ExchangeUnit::by_key &&
                all.experiment.sync.overlaps_forward();
       }},
      {"sync.compression", "none", "workers of {algorithm} exchange whole models, not gradients or changes",
       "sync.compression=top-k sync.algorithm=d-psgd sync.over=peers",
       [](All all) {
         return all.chosen.compresses() && all.chosen.algorithm->payload == sync::Payload::model;
       }},
      {"sync.collective", "ring or native",
       "messages of {compression} cannot be added up, and every worker gets those of all",
       "sync.compression=top-k sync.over=all-reduce sync.collective=tree",
       [](All all) {
         const std::string& collective = all.experiment.sync.collective;
         return is_gathered(all) && collective != "ring" && collective != native_all_reduce;
       }},
      {"sync.rings", "1 with sync.collective native, which is the library's own", "",
       "sync.rings=2 sync.collective=native sync.over=all-reduce",
       [](All all) {
         const auto& sync = all.experiment.sync;
         return all.is_over(Route::all_reduce) && sync.rings > 1 && sync.collective == native_all_reduce;
       }},
  };
}

std::vector<Limit> of_ends() {
  return {
      {"stop", "rounds, epochs or seconds above 0 besides accuracy, which may never be reached", "",
       "stop.rounds=0 stop.accuracy=0.9",
       [](All all) { return has_no_limit(all.experiment.stop) && all.experiment.stop.accuracy > 0.0; }},
      {"stop", "at least one of rounds, epochs and seconds above 0", "", "stop.rounds=0",
       [](All all) { return has_no_limit(all.experiment.stop); }},
      {"stop.accuracy", "0", "nothing is learnt (workload.math is modelled; real is needed)",
       "stop.accuracy=0.9", [](All all) { return all.experiment.stop.accuracy > 0.0 && !all.is_real(); }},
      {"stop.accuracy", "0", "nothing is evaluated (evaluate_every is 0)",
       "stop.accuracy=0.9 workload.math=real",
       [](All all) { return all.experiment.stop.accuracy > 0.0 && all.experiment.evaluate_every == 0; }},
      {"stop.seconds", "stop.rounds or stop.epochs",
       "all workers of {algorithm} over {over} stop after the same round",
       "stop.rounds=0 stop.seconds=5 sync.over=all-reduce",
       [](All all) {
         return all.experiment.stop.seconds > Seconds(0.0) && !all.is_over(Route::server) &&
                !all.chosen.algorithm->timing_driven;
       }},
      {"placement.evaluator", "a host",
       "with {algorithm} the server, which stops at stop.accuracy, does not count the rounds of the first "
       "worker",
       "placement.evaluator=first-worker stop.accuracy=0.9 workload.math=real evaluate_every=2 "
       "sync.algorithm=asp",
       [](All all) {
         const auto& algorithm = all.chosen.algorithm.make();
         return all.experiment.placement.evaluator == first_worker_evaluates &&
                all.experiment.stop.accuracy > 0.0 && all.is_over(Route::server) && !algorithm.lockstep &&
                algorithm.timing_driven;
       }},
      // Modelled mathematics never evaluates, which the results report, so there it is no error.
      {"target_accuracy", "0", "nothing is evaluated (evaluate_every is 0)",
       "target_accuracy=0.9 workload.math=real",
       [](All all) {
         return all.experiment.target_accuracy > 0.0 && all.experiment.evaluate_every == 0 && all.is_real();
       }},
  };
}

std::vector<Limit> of_optimizers() {
  return {
      {"optimizer.momentum", "0", "adam and adamw have beta1 instead",
       "optimizer.kind=adam optimizer.momentum=0.9",
       [](All all) {
         const auto& optimizer = all.experiment.optimizer;
         return optimizer.kind != OptimizerKind::sgd && optimizer.momentum > 0.0;
       }},
      {"optimizer.nesterov", "false", "optimizer.momentum is 0", "optimizer.nesterov=true",
       [](All all) { return all.experiment.optimizer.nesterov && all.experiment.optimizer.momentum == 0.0; }},
      {"optimizer.step_every", "1 round or more between drops", "optimizer.schedule is step",
       "optimizer.schedule=step",
       [](All all) {
         const auto& optimizer = all.experiment.optimizer;
         return optimizer.schedule == RateDecay::step && optimizer.step_every == 0;
       }},
      {"optimizer.warmup_rounds", "fewer than the {cosine} rounds of the cosine", "",
       "optimizer.schedule=cosine optimizer.warmup_rounds=10",
       [](All all) {
         const auto rounds = cosine_rounds(all.experiment);
         return all.experiment.optimizer.schedule == RateDecay::cosine && rounds > 0 &&
                all.experiment.optimizer.warmup_rounds >= rounds;
       }},
      {"optimizer.cosine_rounds", "the number of rounds until the cosine ends",
       "with {algorithm} it does not follow from stop.epochs",
       "optimizer.schedule=cosine stop.rounds=0 stop.epochs=2 sync.algorithm=esync",
       [](All all) {
         return has_open_cosine(all) && all.experiment.stop.epochs > 0.0 && all.chosen.rounds_vary();
       }},
      {"optimizer.cosine_rounds", "the number of rounds until the cosine ends, or stop.rounds or stop.epochs",
       "", "optimizer.schedule=cosine stop.rounds=0 stop.seconds=5",
       [](All all) { return has_open_cosine(all) && all.experiment.stop.epochs == 0.0; }},
      // A worker that missed an update, or received two as one, would have a different model.
      {"optimizer.update_at", "server",
       "{algorithm} does not send all workers the gradient of every update at once "
       "({algorithms_in_lockstep} do)",
       "optimizer.update_at=workers sync.algorithm=asp",
       [](All all) {
         return all.experiment.optimizer.update_at == UpdateSide::workers && all.is_over(Route::server) &&
                !all.chosen.algorithm->lockstep;
       }},
  };
}

std::vector<Limit> of_runs() {
  return {
      {"run.slowdown_probability", "0", "the speed of native devices cannot be changed (run.devices)",
       "run.slowdown_probability=0.1 run.devices=native",
       [](All all) {
         return all.experiment.run.slowdown_probability > 0.0 &&
                all.experiment.run.devices == DeviceSpeed::native;
       }},
      {"run.device_messages", "auto", "emulated devices have no memory of their own (run.devices)",
       "run.device_messages=direct",
       [](All all) {
         return all.experiment.run.device_messages != DeviceMessages::automatic &&
                all.experiment.run.devices == DeviceSpeed::emulated;
       }},
      {"run.cuda_graphs", "false", "emulated devices are no GPUs (run.devices)", "run.cuda_graphs=true",
       [](All all) {
         return all.experiment.run.cuda_graphs && all.experiment.run.devices == DeviceSpeed::emulated;
       }},
      {"physics.profile", "a file made by `tandem calibrate`", "physics.network is profile",
       "physics.network=profile",
       [](All all) {
         const auto& physics = all.experiment.physics;
         return physics.network == NetworkSource::profile && physics.profile.empty();
       }},
      {"physics.profile", "a file made by `tandem calibrate`", "physics.noise is profile",
       "physics.noise=profile",
       [](All all) {
         const auto& physics = all.experiment.physics;
         return physics.noise == NoiseSource::profile && physics.profile.empty();
       }},
      {"physics.ensemble",
       "0 (one simulation), or at least " + std::to_string(least_replicas) + " simulations",
       "fewer give no interval", "physics.ensemble=2",
       [](All all) {
         const int replicas = all.experiment.physics.ensemble;
         return replicas > 0 && replicas < least_replicas;
       }},
  };
}

}  // namespace

const std::vector<Limit>& limits_of_training() {
  static const std::vector<Limit> all = [] {
    std::vector<Limit> limits;
    for (const auto& part :
         {of_models(), of_measured_times(), of_exchanges(), of_ends(), of_optimizers(), of_runs()})
      limits.insert(limits.end(), part.begin(), part.end());
    return limits;
  }();
  return all;
}

}  // namespace tandem
