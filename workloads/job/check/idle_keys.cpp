#include "workloads/job/check/idle_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "workloads/experiment/keys.hpp"

namespace tandem {
namespace {

using All = const Combination&;

/// One server shard has all of the model. Before the roles are placed, their hosts may be a word.
bool has_several_servers(All all) {
  const auto& servers = all.experiment.placement.servers;
  return servers.size() > 1 || (servers.size() == 1 && (servers[0] == "own" || servers[0] == "co-located"));
}

std::vector<ConditionalKeys> keys_of_training() {
  return {
      // Not optimizer.learning_rate and workload.test_samples: files that state what is trained are simulated
      // with both mathematics.
      // Not kind and momentum: their state needs memory and is committed.
      {{"workload.non_finite", "workload.deterministic", "optimizer.nesterov", "optimizer.weight_decay",
        "optimizer.global_rate", "optimizer.schedule", "optimizer.warmup_rounds"},
       "workload.math: real",
       "workload.math=real",
       [](All all) { return all.is_real(); }},
      {{"placement.evaluator"},
       "evaluate_every over 0",
       "evaluate_every=5",
       [](All all) { return all.experiment.evaluate_every > 0; }},
      {{"optimizer.beta1", "optimizer.beta2", "optimizer.epsilon"},
       "workload.math: real and optimizer.kind: adam or adamw",
       "workload.math=real optimizer.kind=adam",
       [](All all) { return all.is_real() && all.experiment.optimizer.kind != OptimizerKind::sgd; }},
      {{"optimizer.step_every", "optimizer.step_factor"},
       "workload.math: real and optimizer.schedule: step",
       "workload.math=real optimizer.schedule=step optimizer.step_every=5",
       [](All all) { return all.is_real() && all.experiment.optimizer.schedule == RateDecay::step; }},
      {{"optimizer.cosine_rounds", "optimizer.cosine_floor"},
       "workload.math: real and optimizer.schedule: cosine",
       "workload.math=real optimizer.schedule=cosine",
       [](All all) { return all.is_real() && all.experiment.optimizer.schedule == RateDecay::cosine; }},
      {{"workload.image_size"},
       "data.source: storage, or a model that is not synthetic",
       "workload.model=lenet",
       [](All all) { return all.experiment.workload.model != "synthetic" || all.has_cache_nodes(); }},
      {{"sync.collective", "sync.order", "sync.rings"},
       "sync.over: all-reduce",
       "sync.over=all-reduce",
       [](All all) { return all.is_over(sync::Route::all_reduce); }},
      {{"sync.sharding"},
       "several servers (placement.servers)",
       "placement.servers=[server,node-4]",
       [](All all) { return all.is_over(sync::Route::server) && has_several_servers(all); }},
      {{"run.slowdown_factor"},
       "run.slowdown_probability over 0",
       "run.slowdown_probability=0.1",
       [](All all) { return all.experiment.run.slowdown_probability > 0.0; }},
      {{"physics.ensemble"},
       "algorithms whose decisions depend on timing (asp, ssp, esync, ...)",
       "sync.algorithm=asp",
       // Without an ensemble there is one simulation, as asked for.
       [](All all) { return all.chosen.algorithm->timing_driven || all.experiment.physics.ensemble == 0; }},
      {{"physics.spread"},
       "physics.noise: spread, or in ensembles",
       "physics.noise=spread",
       [](All all) {
         const auto& physics = all.experiment.physics;
         return physics.noise == NoiseSource::spread ||
                (physics.ensemble > 0 && all.chosen.algorithm->timing_driven);
       }},
  };
}

std::vector<ConditionalKeys> keys_of_data() {
  return {
      {{"data.cache", "data.cache_options", "data.cache_capacity", "data.disk_capacity", "data.bad_sample",
        "data.decode_threads", "placement.cache_nodes"},
       "data.source: storage",
       "data.source=storage placement.cache_nodes=[server]",
       [](All all) { return all.has_cache_nodes(); }},
      {{"data.cold"},
       "data.source: storage and run.devices: native",
       "data.source=storage placement.cache_nodes=[server] run.devices=native",
       [](All all) { return all.has_cache_nodes() && all.experiment.run.devices == DeviceSpeed::native; }},
      {{"data.split", "data.split_options"},
       "data.source: storage or workload.math: real",
       "workload.math=real",
       [](All all) { return all.is_real() || all.has_cache_nodes(); }},
      {{"data.augment"}, "workload.math: real", "workload.math=real", [](All all) { return all.is_real(); }},
  };
}

std::vector<ConditionalKeys> keys_of_machines() {
  return {
      {{"transience.options", "transience.limit", "transience.notice", "transience.start",
        "transience.detect", "transience.time_scale"},
       "transience.lifetime other than never",
       "transience.lifetime=exponential",
       [](All all) { return all.may_depart(); }},
      {{"recovery.policy", "recovery.options", "recovery.provisioning", "recovery.provisioning_options",
        "recovery.least", "recovery.scale_rate", "recovery.ramp", "recovery.batch", "recovery.on_loss",
        "recovery.give_up", "recovery.launch", "recovery.restarts"},
       "transience.lifetime other than never, or recovery.mode: restart",
       "transience.lifetime=exponential",
       [](All all) { return all.experiment.continuation() != Continuation::none; }},
      {{"checkpoint.mode", "checkpoint.keep", "checkpoint.at_end"},
       "checkpoint.policy",
       "checkpoint.policy=fixed",
       [](All all) { return all.has_commits(); }},
      {{"checkpoint.policy"},
       "a policy other than on-warning, or transience.lifetime other than never",
       "checkpoint.policy=fixed",
       [](All all) { return all.experiment.checkpoint.policy != "on-warning" || all.may_depart(); }},
  };
}

}  // namespace

const std::vector<ConditionalKeys>& conditional_keys() {
  static const std::vector<ConditionalKeys> all = [] {
    std::vector<ConditionalKeys> rows = keys_of_training();
    for (const auto& more : {keys_of_data(), keys_of_machines()})
      rows.insert(rows.end(), more.begin(), more.end());
    return rows;
  }();
  return all;
}

std::vector<std::string> acting_keys(const Combination& all) {
  std::vector<std::string> keys;
  for (const ConditionalKeys& row : conditional_keys())
    if (row.act(all)) keys.insert(keys.end(), row.keys.begin(), row.keys.end());
  return keys;
}

std::string warning_of_idle_keys(const Combination& all, const Locate& locate) {
  if (!locate) return "";
  std::string text;
  for (const ConditionalKeys& row : conditional_keys()) {
    if (row.act(all)) continue;
    std::vector<std::string> idle;
    for (const std::string& path : row.keys) {
      const Origin origin = locate(path);
      if (!origin.is_given || origin.may_be_idle) continue;
      const ExperimentKey& key = *find_experiment_key(path);
      // A variant sets it to switch something off.
      if (key_value(key, all.experiment) == key_value(key, Experiment{})) continue;
      idle.push_back(fmt::format("{} ({})", path, origin.place));
    }
    if (idle.empty()) continue;
    text += fmt::format("{}{} act{} with {}", text.empty() ? "no effect in this job: " : "; ",
                        fmt::join(idle, ", "), idle.size() == 1 ? "s" : "", row.needs);
  }
  return text;
}

}  // namespace tandem
