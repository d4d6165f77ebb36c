#include "workloads/job/experiment_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "policies/checkpointing/policy.hpp"
#include "policies/compression/codec.hpp"
#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/data/augmentation.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/experiment/option_durations.hpp"
#include "workloads/experiment/overrides.hpp"
#include "workloads/experiment/quantity_text.hpp"
#include "workloads/experiment/tensor_list.hpp"
#include "workloads/experiment/utf8.hpp"
#include "workloads/job/all_reduce_plan.hpp"
#include "workloads/job/catalogues.hpp"
#include "workloads/job/commit_place.hpp"
#include "workloads/job/compression_rules.hpp"
#include "workloads/job/data_check.hpp"
#include "workloads/job/ensemble.hpp"
#include "workloads/job/roster.hpp"
#include "workloads/job/transience_check.hpp"

namespace tandem {
namespace {

bool works_over(const sync::Factory& algorithm, sync::Route route) {
  return std::find(algorithm.routes.begin(), algorithm.routes.end(), route) != algorithm.routes.end();
}

class Checker {
 public:
  Checker(Experiment& experiment, const Locate& locate) : experiment_(experiment), locate_(locate) {}

  void run() {
    check_name();
    check_names();
    resolve_options("sync.options", experiment_.sync.algorithm, Names::sync, experiment_.sync.options);
    resolve_options("sync.compression_options", experiment_.sync.compression, Names::compression,
                    experiment_.sync.compression_options);
    resolve_options("sync.sharding_options", experiment_.sync.sharding, Names::sharding,
                    experiment_.sync.sharding_options);
    resolve_options("data.cache_options", experiment_.data.cache, Names::cache,
                    experiment_.data.cache_options);
    resolve_options("data.sampling_options", experiment_.data.sampling, Names::sampling,
                    experiment_.data.sampling_options);
    resolve_options("data.split_options", experiment_.data.split, Names::split,
                    experiment_.data.split_options);
    resolve_options("workload.dataset_options", experiment_.workload.dataset, Names::dataset,
                    experiment_.workload.dataset_options);
    check_options("data.augment", "data.augment", augmentation_options(), experiment_.data.augment);
    if (!experiment_.data.augment.empty())
      experiment_.data.augment =
          Options::resolve("data.augment", augmentation_options(), experiment_.data.augment).values();
    check_options("transience.options", experiment_.transience.lifetime, Names::lifetime,
                  experiment_.transience.options);
    check_options("recovery.options", experiment_.recovery.policy, Names::recovery,
                  experiment_.recovery.options);
    check_options("recovery.provisioning_options", experiment_.recovery.provisioning, Names::provisioning,
                  experiment_.recovery.provisioning_options);
    resolve_commits();
    check_workload();
    check_route();
    check_overlap();
    check_pull();
    check_exchange();
    check_compression();
    check_rings();
    check_stop();
    check_evaluator();
    check_target();
    check_optimizer();
    check_update_at();
    check_slowdown();
    check_device_messages();
    check_cuda_graphs();
    check_data(experiment_, locate_);
    check_recovery();
    check_files();
    check_transience(experiment_, locate_);
    check_commits();
  }

 private:
  [[noreturn]] void fail_at(const std::string& path, const std::string& expected,
                            const std::string& found) const {
    const Origin origin = locate_(path);
    fail(origin.place, origin.label, expected, found);
  }

  // Result directories are named after the experiment and its variant.
  void check_name() const {
    const std::string& name = experiment_.name;
    const bool has_control = std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < ' '; });
    const auto slash = std::count(name.begin(), name.end(), '/');
    if (name.empty() || name.front() == '.' || name.front() == '/' || has_control || slash > 1 ||
        name.find("/.") != std::string::npos || !is_utf8(name))
      fail_at("name", "a name that can name a folder, in UTF-8", is_utf8(name) ? quote(name) : "other bytes");
  }

  void check_names() const {
    for (const auto& key : experiment_keys()) {
      if (key.accepts.names == Names::none) continue;
      const auto catalog = catalogue_of(key.accepts.names);
      const auto names = catalog.names();
      const std::string name = key_value(key, experiment_).get<std::string>();
      if (name.empty() && key_value(key, {}) == name) continue;
      const bool is_file = key.accepts.is_path(name);
      if (is_file || std::find(names.begin(), names.end(), name) != names.end()) continue;
      std::string expected;
      for (const auto& known : names) expected += (expected.empty() ? "" : " | ") + known;
      const std::string nearest = nearest_name(name, names);
      fail_at(key.path, "a " + catalog.kind() + " (" + expected + ")",
              quote(name) + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
    }
  }

  void resolve_options(const std::string& path, const std::string& owner, Names names,
                       OptionValues& options) const {
    check_options(path, owner, names, options);
    options = Options::resolve(owner, catalogue_of(names).find(owner).options, options).values();
  }

  void check_options(const std::string& path, const std::string& owner, Names names,
                     OptionValues& options) const {
    check_options(path, owner, catalogue_of(names).find(owner).options, options);
  }

  // One option at a time, so that each error points at its own line.
  void check_options(const std::string& path, const std::string& owner, const std::vector<OptionSpec>& specs,
                     OptionValues& options) const {
    read_durations(options, specs);
    for (const auto& [name, value] : options) {
      const Origin origin = locate_(path + '.' + name);
      const std::string key = origin.place + ": key '" + locate_(path).label + "' of " + owner;
      Options::resolve(key, specs, {{name, value}});
    }
  }

  void resolve_commits() const {
    auto& checkpoint = experiment_.checkpoint;
    if (!checkpoint.policy.empty())
      return resolve_options("checkpoint.options", checkpoint.policy, Names::checkpointing,
                             checkpoint.options);
    if (!checkpoint.options.empty())
      fail_at("checkpoint.options", "nothing, because checkpoint.policy is empty",
              quote(checkpoint.options.begin()->first));
  }

  void check_commits() const {
    const auto& checkpoint = experiment_.checkpoint;
    if (const auto why = why_commits_in_directory(experiment_, CommitReaders::writers))
      fail_at("checkpoint.to", "directory, because " + *why, quote(to_text(checkpoint.to)));
    if (checkpoint.keep_every > 0 && checkpoint.policy.empty())
      fail_at("checkpoint.keep_every", "0, because checkpoint.policy is empty",
              fmt::format("'{}'", checkpoint.keep_every));
    if (checkpoint.keep_every > 0 && checkpoint.to != CommitPlace::directory)
      fail_at(
          "checkpoint.keep_every",
          fmt::format("0, because checkpoint.to is {}: only the result directory keeps more than the last "
                      "commits",
                      to_text(checkpoint.to)),
          fmt::format("'{}'", checkpoint.keep_every));
    if (checkpoint.policy.empty()) return;
    if (checkpoint.policy == "on-warning" && experiment_.recovery.mode != RecoveryMode::restart)
      fail_at("checkpoint.policy",
              "a policy that plans commits, because machines are only warned where recovery.mode is restart",
              quote(checkpoint.policy));
    const auto& transience = experiment_.transience;
    if (checkpoint.policy == "on-warning" && transience.may_depart() && transience.notice == Seconds(0))
      fail_at(
          "checkpoint.policy",
          "a policy that plans commits, because machines depart without a warning (transience.notice is 0)",
          quote(checkpoint.policy));
    const auto& policy = checkpointing::catalog().find(checkpoint.policy);
    const Options options = Options::resolve(policy.name, policy.options, checkpoint.options);
    try {
      policy.make({.options = options});
    } catch (const OptionError& error) {
      const Origin origin = locate_("checkpoint.options." + error.option());
      throw ConfigError(origin.place + ": " + error.what());
    }
  }

  void check_workload() {
    const auto& workload = experiment_.workload;
    check_precision();
    check_tensors();
    if (workload.model != "synthetic") return;
    if (workload.math == Math::real)
      fail_at("workload.model", "a model that can be computed, because workload.math is real", "'synthetic'");
    if (workload.synthetic_buckets > workload.synthetic_parameters)
      fail_at("workload.synthetic_buckets",
              "at most workload.synthetic_parameters (" + std::to_string(workload.synthetic_parameters) + ")",
              "'" + std::to_string(workload.synthetic_buckets) + "'");
  }

  /// Tensors give the number of parameters and, where they state it, the work: what is given besides must be
  /// the same.
  void check_tensors() {
    auto& workload = experiment_.workload;
    if (workload.synthetic_tensors.empty()) return;
    const std::string key = "workload.synthetic_tensors";
    if (workload.model != "synthetic")
      fail_at(key, "nothing, because workload.model is " + quote(workload.model) + ", not 'synthetic'",
              fmt::format("{} tensors", workload.synthetic_tensors.size()));
    if (workload.synthetic_buckets != 1)
      fail_at("workload.synthetic_buckets",
              "nothing besides workload.synthetic_tensors, which workload.bucket_bytes gathers into buckets",
              quote(workload.synthetic_buckets));
    const Origin origin = locate_(key);
    const std::string place = origin.place + ": key '" + origin.label + "'";
    const auto tensors = parse_tensors(workload.synthetic_tensors, place);
    const std::int64_t elements = elements_of(tensors, place);
    if (locate_("workload.synthetic_parameters").is_given && workload.synthetic_parameters != elements)
      fail_at("workload.synthetic_parameters",
              fmt::format("{}, as many as the {} tensors of {} have together ({}), or nothing", elements,
                          tensors.size(), key, to_text(Bytes(4 * elements))),
              quote(workload.synthetic_parameters));
    workload.synthetic_parameters = elements;
    if (const auto work = work_of(tensors)) {
      take_work("workload.synthetic_forward", workload.synthetic_forward, work->forward);
      take_work("workload.synthetic_backward", workload.synthetic_backward, work->backward);
    }
    std::ranges::transform(tensors, workload.synthetic_tensors.begin(),
                           [](const ListedTensor& tensor) { return to_text(tensor); });
  }

  /// `sum`: of the tensors, which may be rounded in another order.
  void take_work(const std::string& key, Flops& given, Flops sum) const {
    constexpr double rounding = 1e-9;
    if (locate_(key).is_given && std::abs(given.count() - sum.count()) > rounding * sum.count())
      fail_at(key, to_text(sum) + ", the sum of the work that workload.synthetic_tensors state, or nothing",
              "'" + to_text(given) + "'");
    given = sum;
  }

  // Small gradients would become zero in fp16 without a scaled loss, which the learner does not have.
  void check_precision() const {
    const auto& workload = experiment_.workload;
    if (workload.math == Math::real && workload.precision == Precision::fp16)
      fail_at("workload.precision",
              "fp32, tf32 or bf16, because workload.math is real and fp16 would need a scaled loss",
              quote(to_text(workload.precision)));
  }

  void check_route() const {
    const auto& sync = experiment_.sync;
    std::string able;
    for (const auto& algorithm : sync::catalog().entries())
      if (works_over(algorithm.make, sync.over)) able += (able.empty() ? "" : " | ") + algorithm.name;
    const auto& chosen = sync::catalog().find(sync.algorithm).make;
    if (works_over(chosen, sync.over)) return;
    std::string routes;
    for (const auto other : chosen.routes) routes += (routes.empty() ? "" : " or ") + to_text(other);
    fail_at("sync.algorithm", "one that works over " + to_text(sync.over) + " (" + able + ")",
            "'" + sync.algorithm + "', which works over " + routes);
  }

  void check_overlap() const {
    if (!experiment_.sync.overlaps_forward()) return;
    const auto fail = [this](const std::string& why) {
      fail_at("sync.overlap", "none or backward, because " + why, "'both'");
    };
    if (sync::catalog().find(experiment_.sync.algorithm).make.payload != sync::Payload::gradient)
      fail("workers of " + experiment_.sync.algorithm + " need their whole model between exchanges");
    if (experiment_.run.devices == DeviceSpeed::native)
      fail("native devices run the forward pass as one piece (run.devices)");
    if (experiment_.sync.over == sync::Route::all_reduce && experiment_.sync.compression != "none")
      fail("a compressed all-reduce delivers its sum as one piece");
  }

  void check_pull() const {
    const auto& sync = experiment_.sync;
    if (sync.pull == ServerPull::requested && sync.over != sync::Route::server)
      fail_at("sync.pull", "pushed, because over " + to_text(sync.over) + " no server has a model to ask for",
              "'requested'");
  }

  /// A worker must get the answer to each bucket before it pushes the next.
  void check_exchange() const {
    const auto& sync = experiment_.sync;
    if (sync.exchange == ExchangeUnit::whole) return;
    const auto fail = [this](const std::string& why) {
      fail_at("sync.exchange", "whole, because " + why, "'by-key'");
    };
    if (sync.over != sync::Route::server)
      fail("over " + to_text(sync.over) + " workers do not wait for a server");
    const auto waits_for_all = [](const sync::Factory& algorithm) {
      return works_over(algorithm, sync::Route::server) && (algorithm.lockstep || !algorithm.timing_driven);
    };
    std::string able;
    for (const auto& algorithm : sync::catalog().entries())
      if (waits_for_all(algorithm.make)) able += (able.empty() ? "" : " | ") + algorithm.name;
    if (!waits_for_all(sync::catalog().find(sync.algorithm).make))
      fail("the server of " + sync.algorithm + " does not wait for the pushes of all workers (those of " +
           able + " do)");
    if (sync.overlaps_forward()) fail("sync.overlap is both, and the answer to the last bucket comes last");
  }

  void check_evaluator() const {
    if (experiment_.placement.evaluator != first_worker_evaluates || experiment_.stop.accuracy == 0.0) return;
    const auto& sync = experiment_.sync;
    const auto& algorithm = sync::catalog().find(sync.algorithm).make;
    if (sync.over != sync::Route::server || algorithm.lockstep || !algorithm.timing_driven) return;
    fail_at("placement.evaluator",
            "a host, because with " + sync.algorithm +
                " the server, which stops at stop.accuracy, does not count the rounds of the first worker",
            quote(experiment_.placement.evaluator));
  }

  void check_compression() const {
    const auto& sync = experiment_.sync;
    const auto& chosen = compression::catalog().find(sync.compression).make;
    if (chosen.make == nullptr) return;
    if (sync::catalog().find(sync.algorithm).make.payload == sync::Payload::model)
      fail_at("sync.compression",
              "none, because workers of " + sync.algorithm + " exchange whole models, not gradients or " +
                  "changes",
              quote(sync.compression));
    if (const auto needed = collective_needed(sync))
      fail_at("sync.collective", *needed, quote(sync.collective));
  }

  void check_rings() const {
    const auto& sync = experiment_.sync;
    if (sync.over == sync::Route::all_reduce && sync.rings > 1 && sync.collective == native_all_reduce)
      fail_at("sync.rings", "1 with sync.collective native, which is the library's own",
              std::to_string(sync.rings));
  }

  void check_stop() const {
    const auto& stop = experiment_.stop;
    if (stop.rounds == 0 && stop.epochs == 0.0 && stop.seconds == Seconds(0.0))
      fail_at("stop",
              stop.accuracy > 0.0
                  ? "rounds, epochs or seconds above 0 besides accuracy, which may never be reached"
                  : "at least one of rounds, epochs and seconds above 0",
              "none");
    check_accuracy_stop();
    const auto& sync = experiment_.sync;
    const bool counts_rounds_alike =
        sync.over != sync::Route::server && !sync::catalog().find(sync.algorithm).make.timing_driven;
    if (stop.seconds > Seconds(0.0) && counts_rounds_alike)
      fail_at("stop.seconds",
              "stop.rounds or stop.epochs, because all workers of " + sync.algorithm + " over " +
                  to_text(sync.over) + " stop after the same round",
              "a limit of time");
  }

  void check_accuracy_stop() const {
    if (experiment_.stop.accuracy == 0.0) return;
    if (experiment_.workload.math == Math::modelled)
      fail_at("stop.accuracy", "0, because nothing is learnt (workload.math is modelled; real is needed)",
              quote(experiment_.stop.accuracy));
    if (experiment_.evaluate_every == 0)
      fail_at("stop.accuracy", "0, because nothing is evaluated (evaluate_every is 0)",
              quote(experiment_.stop.accuracy));
  }

  // Modelled mathematics never evaluates, which the results report, so there it is no error.
  void check_target() const {
    if (experiment_.target_accuracy > 0.0 && experiment_.evaluate_every == 0 &&
        experiment_.workload.math == Math::real)
      fail_at("target_accuracy", "0, because nothing is evaluated (evaluate_every is 0)",
              quote(experiment_.target_accuracy));
  }

  void check_optimizer() const {
    const auto& optimizer = experiment_.optimizer;
    if (optimizer.kind != OptimizerKind::sgd && optimizer.momentum > 0.0)
      fail_at("optimizer.momentum", "0, because " + to_text(optimizer.kind) + " has beta1 instead",
              quote(optimizer.momentum));
    if (optimizer.nesterov && optimizer.momentum == 0.0)
      fail_at("optimizer.nesterov", "false, because optimizer.momentum is 0", "'true'");
    if (optimizer.schedule == RateDecay::step && optimizer.step_every == 0)
      fail_at("optimizer.step_every", "1 round or more between drops, because optimizer.schedule is step",
              "'0'");
    if (optimizer.schedule == RateDecay::cosine) check_cosine();
  }

  /// A worker that missed an update, or received two as one, would have a different model.
  void check_update_at() const {
    const auto& sync = experiment_.sync;
    if (experiment_.optimizer.update_at == UpdateSide::server || sync.over != sync::Route::server) return;
    if (sync::catalog().find(sync.algorithm).make.lockstep) return;
    std::string able;
    for (const auto& algorithm : sync::catalog().entries())
      if (algorithm.make.lockstep) able += (able.empty() ? "" : " | ") + algorithm.name;
    fail_at(
        "optimizer.update_at",
        "server, or an algorithm that sends all workers the gradient of every update at once (" + able + ")",
        "'workers' with " + sync.algorithm);
  }

  /// The length of the cosine must be known before the job starts.
  void check_cosine() const {
    const auto& optimizer = experiment_.optimizer;
    const auto& stop = experiment_.stop;
    const auto& algorithm = sync::catalog().find(experiment_.sync.algorithm);
    const bool rounds_vary = algorithm.make.steps_per_round(Options::resolve(
                                 algorithm.name, algorithm.options, experiment_.sync.options)) == 0;
    const std::int64_t rounds = optimizer.cosine_rounds > 0 ? optimizer.cosine_rounds : stop.rounds;
    if (rounds > 0 && optimizer.warmup_rounds >= rounds)
      fail_at("optimizer.warmup_rounds", "fewer than the " + std::to_string(rounds) + " rounds of the cosine",
              quote(optimizer.warmup_rounds));
    if (rounds > 0 || (stop.epochs > 0.0 && !rounds_vary)) return;
    fail_at("optimizer.cosine_rounds",
            stop.epochs > 0.0 ? "the number of rounds until the cosine ends, because with " + algorithm.name +
                                    " it does not follow from stop.epochs"
                              : "the number of rounds until the cosine ends, or stop.rounds or stop.epochs",
            "'0'");
  }

  void check_slowdown() const {
    if (experiment_.run.slowdown_probability > 0.0 && experiment_.run.devices == DeviceSpeed::native)
      fail_at("run.slowdown_probability",
              "0, because the speed of native devices cannot be changed (run.devices)",
              quote(experiment_.run.slowdown_probability));
  }

  void check_device_messages() const {
    if (experiment_.run.device_messages != DeviceMessages::automatic &&
        experiment_.run.devices == DeviceSpeed::emulated)
      fail_at("run.device_messages",
              "auto, because emulated devices have no memory of their own (run.devices)",
              quote(to_text(experiment_.run.device_messages)));
  }

  void check_cuda_graphs() const {
    if (experiment_.run.cuda_graphs && experiment_.run.devices == DeviceSpeed::emulated)
      fail_at("run.cuda_graphs", "false, because emulated devices are no GPUs (run.devices)", "'true'");
  }

  /// A restart needs states to continue from.
  void check_recovery() const {
    if (experiment_.recovery.mode != RecoveryMode::restart) return;
    const std::string found = quote(to_text(RecoveryMode::restart));
    if (experiment_.workload.math == Math::modelled && !experiment_.starts_again())
      fail_at("recovery.mode",
              "in-place, because modelled mathematics saves no states to start from again (workload.math)",
              found);
    if (experiment_.evaluate_every == 0 && experiment_.checkpoint.policy.empty())
      fail_at("recovery.mode",
              "in-place, because no states are saved to start from again (evaluate_every is 0, and "
              "checkpoint.policy is empty)",
              found);
  }

  void check_files() const {
    if (experiment_.platform.empty()) fail_at("platform", "a SimGrid platform file", "nothing");
    const auto& physics = experiment_.physics;
    for (const auto& [key, needs_profile] : {std::pair("network", physics.network == NetworkSource::profile),
                                             std::pair("noise", physics.noise == NoiseSource::profile)})
      if (needs_profile && physics.profile.empty())
        fail_at("physics.profile",
                std::string("a file made by `tandem calibrate`, because physics.") + key + " is profile",
                "nothing");
    if (physics.ensemble > 0 && physics.ensemble < least_replicas)
      fail_at("physics.ensemble",
              fmt::format("0 (one simulation), or at least {} simulations, because fewer give no interval",
                          least_replicas),
              fmt::format("'{}'", physics.ensemble));
  }

  Experiment& experiment_;
  const Locate& locate_;
};

}  // namespace

void complete_experiment(Experiment& experiment, const Locate& locate) { Checker(experiment, locate).run(); }

}  // namespace tandem
