#include "workloads/job/check/experiment_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "platforms/description.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/data/augmentation.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/experiment/measured_buckets.hpp"
#include "workloads/experiment/option_durations.hpp"
#include "workloads/experiment/overrides.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/experiment/tensor_list.hpp"
#include "workloads/experiment/utf8.hpp"
#include "workloads/job/check/catalogues.hpp"
#include "workloads/job/check/limits.hpp"
#include "workloads/job/placement/host_lifetime.hpp"
#include "workloads/model/catalog.hpp"
#include "workloads/model/definition.hpp"

namespace tandem {
namespace {

class Checker {
 public:
  Checker(Experiment& experiment, const Locate& locate) : experiment_(experiment), locate_(locate) {}

  void run() {
    check_name();
    check_names();
    check_model_options();
    choose_route();
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
    expect_lifetime_of_options();
    check_options("transience.options", experiment_.transience.lifetime, Names::lifetime,
                  experiment_.transience.options);
    check_options("recovery.options", experiment_.recovery.policy, Names::recovery,
                  experiment_.recovery.options);
    check_options("recovery.provisioning_options", experiment_.recovery.provisioning, Names::provisioning,
                  experiment_.recovery.provisioning_options);
    resolve_commits();
    take_tensors();
    take_buckets();
    choose_buckets();
    check_measured_device();
    check_lifetime_groups();
    const ResolvedExperiment chosen(experiment_);
    for (const auto* limits : {&limits_of_training(), &limits_of_data(), &limits_of_machines()})
      check_limits(*limits, {experiment_, chosen}, locate_);
    check_policies(chosen);
    if (experiment_.platform.empty()) fail_at("platform", "a SimGrid platform file", "nothing");
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
      const std::string text = key_value(key, experiment_).get<std::string>();
      if (text.empty() && key_value(key, {}) == text) continue;
      const bool is_file = key.accepts.is_path(text);
      const std::string name = entry_name(key.accepts.names, text);
      if (is_file || std::find(names.begin(), names.end(), name) != names.end()) continue;
      std::string expected;
      for (const auto& known : names) expected += (expected.empty() ? "" : " | ") + known;
      const std::string nearest = nearest_name(name, names);
      const std::string way = way_without_catalogue(key.accepts.names);
      fail_at(key.path, "a " + catalog.kind() + " (" + expected + ")",
              quote(name) + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?") +
                  (nearest.empty() && !way.empty() ? "; " + way : ""));
    }
  }

  /// Those of a family; images make no difference to them.
  void check_model_options() const {
    const std::string& model = experiment_.workload.model;
    if (model == model_entry_name(model) || is_script(model)) return;
    try {
      define_model(model, {.name = "", .channels = 3, .height = 32, .width = 32, .classes = 10});
    } catch (const ConfigError& error) {
      fail_at("workload.model", "options of the model", error.what());
    }
  }

  /// A worker that has no other one needs no server to exchange with.
  void choose_route() {
    if (experiment_.sync.algorithm != "sequential") return;
    for (const char* of_server : {"sync.over", "sync.pull", "sync.exchange", "sync.sharding"})
      if (locate_(of_server).is_given) return;
    experiment_.sync.over = sync::Route::all_reduce;
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

  /// Most lifetimes have options, unlike that of machines that never depart.
  void expect_lifetime_of_options() const {
    if (experiment_.transience.may_depart()) return;
    const auto& known = catalogue_of(Names::lifetime).find(experiment_.transience.lifetime).options;
    for (const auto& [name, value] : experiment_.transience.options)
      if (std::ranges::find(known, name, &OptionSpec::name) == known.end())
        fail_at("transience.options." + name, "transience.lifetime, too (tandem list lifetime)",
                "machines that never depart");
  }

  /// A time is no number of rounds.
  void check_units(const std::string& path, const std::vector<OptionSpec>& specs,
                   const OptionValues& options) const {
    const auto unit = std::ranges::find(specs, "unit", &OptionSpec::name);
    if (unit == specs.end()) return;
    const auto given = options.find("unit");
    if ((given == options.end() ? unit->default_value : given->second) == OptionValue(std::string("seconds")))
      return;
    for (const auto& [name, value] : options)
      if (const auto* text = std::get_if<std::string>(&value); text != nullptr && parse_seconds(*text))
        fail_at(path + '.' + name, "a number of rounds, or a time with " + path + ".unit=seconds",
                quote(*text));
  }

  // One option at a time, so that each error points at its own line.
  void check_options(const std::string& path, const std::string& owner, const std::vector<OptionSpec>& specs,
                     OptionValues& options) const {
    check_units(path, specs, options);
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

  /// Tensors determine the number of parameters and, if they have it, the work: other keys for these must
  /// agree.
  void take_tensors() {
    auto& workload = experiment_.workload;
    if (workload.synthetic_tensors.empty() || workload.model != "synthetic") return;
    const std::string key = "workload.synthetic_tensors";
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

  /// Buckets give the number of parameters and, with the forward pass, the times of both passes.
  void take_buckets() {
    auto& workload = experiment_.workload;
    if (workload.measured_buckets.empty() || workload.model != "synthetic") return;
    const std::string key = "workload.measured_buckets";
    const Origin origin = locate_(key);
    const auto buckets =
        parse_buckets(workload.measured_buckets, origin.place + ": key '" + origin.label + "'");
    if (workload.measured_forward <= Seconds(0) || workload.measured_forward > buckets.front().ready)
      fail_at("workload.measured_forward",
              "a time above 0 and of at most " + to_text(buckets.front().ready) +
                  ", when the first bucket is complete (" + key + ")",
              quote(to_text(workload.measured_forward)));
    std::int64_t elements = 0;
    for (const ListedBucket& bucket : buckets) elements += bucket.size.count() / 4;
    if (locate_("workload.synthetic_parameters").is_given && workload.synthetic_parameters != elements)
      fail_at("workload.synthetic_parameters",
              fmt::format("{}, as many as the buckets of {} have together, or nothing", elements, key),
              quote(workload.synthetic_parameters));
    workload.synthetic_parameters = elements;
    const Seconds backward = buckets.back().ready - workload.measured_forward;
    take_time("workload.measured_backward", workload.measured_backward, backward);
    take_time("workload.measured_step", workload.measured_step, buckets.back().ready);
    std::ranges::transform(buckets, workload.measured_buckets.begin(),
                           [](const ListedBucket& bucket) { return to_text(bucket); });
  }

  void take_time(const std::string& key, Seconds& given, Seconds sum) const {
    constexpr double rounding = 1e-9;
    if (locate_(key).is_given && std::abs(given.count() - sum.count()) > rounding * sum.count())
      fail_at(key, to_text(sum) + ", as workload.measured_buckets say, or nothing", quote(to_text(given)));
    given = sum;
  }

  /// A size of buckets that is given counts, unless their number is given, too.
  void choose_buckets() {
    auto& workload = experiment_.workload;
    const bool are_listed = !workload.synthetic_tensors.empty() || !workload.measured_buckets.empty();
    if (workload.model != "synthetic" || are_listed || workload.synthetic_buckets != 1 ||
        locate_("workload.synthetic_buckets").is_given)
      return;
    for (const char* size : {"workload.bucket_bytes", "workload.first_bucket_bytes"})
      if (locate_(size).is_given) workload.synthetic_buckets = 0;
  }

  void check_measured_device() const {
    const std::string& name = experiment_.workload.measured_on;
    if (name.empty()) return;
    try {
      platforms::find_device(name);
      return;
    } catch (const ConfigError&) {
    }
    std::vector<std::string> names;
    for (const auto& device : platforms::device_catalog()) names.push_back(device.name);
    const std::string nearest = nearest_name(name, names);
    fail_at("workload.measured_on", "a device of `tandem list device`",
            quote(name) + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
  }

  /// Checks all groups, also of those to which no host belongs.
  void check_lifetime_groups() const {
    const Origin origin = locate_("transience.options.by_host");
    try {
      lifetime_groups_of(groups_of_hosts(experiment_.transience));
    } catch (const ConfigError& error) {
      throw ConfigError(origin.place + ": key '" + origin.label + "': " + error.what());
    }
  }

  /// Some options exclude each other, which only the policy knows.
  void check_policies(const ResolvedExperiment& chosen) const {
    if (chosen.sampler->make != nullptr)
      expect_made("data.sampling_options", [&] {
        chosen.sampler->make({.samples = 1,
                              .batch = experiment_.workload.batch,
                              .seed = experiment_.seed,
                              .options = chosen.sampler.options()});
      });
    if (chosen.checkpointing)
      expect_made("checkpoint.options",
                  [&] { chosen.checkpointing->make()({.options = chosen.checkpointing->options()}); });
  }

  template <class Make>
  void expect_made(const std::string& options, const Make& make) const {
    try {
      make();
    } catch (const OptionError& error) {
      throw ConfigError(locate_(options + '.' + error.option()).place + ": " + error.what());
    }
  }

  Experiment& experiment_;
  const Locate& locate_;
};

}  // namespace

void complete_experiment(Experiment& experiment, const Locate& locate) { Checker(experiment, locate).run(); }

}  // namespace tandem
