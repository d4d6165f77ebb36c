#include "validation/campaign/suite.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/numbered_name.hpp"
#include "policies/vocabulary/options.hpp"
#include "validation/campaign/suite_file.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/experiment/lifetime_file.hpp"
#include "workloads/experiment/overrides.hpp"
#include "workloads/experiment/tensor_list.hpp"
#include "workloads/experiment/yaml.hpp"
#include "workloads/job/check/experiment_file.hpp"

namespace tandem::validation {
namespace {

namespace fs = std::filesystem;

/// A value of the grid, or an experiment, or a variant, as a configuration has it.
struct Choice {
  std::string key;   ///< experiment key, "experiment" or "variant"
  std::string text;  ///< as written in the suite
  std::string place;
};

bool is_algorithm_key(const std::string& key) {
  return key == "variant" || key_of_job(key).path.starts_with("sync.");
}

std::string plain(std::string text) {
  for (char& c : text) {
    const bool allowed =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string("._=+-").find(c) != std::string::npos;
    if (!allowed) c = '_';
  }
  return text;
}

bool is_file(const Choice& choice) {
  if (choice.key == "experiment") return true;
  if (choice.key == "variant" || !key_of_job(choice.key).job.empty()) return false;
  const ExperimentKey& key = *find_experiment_key(choice.key);
  const bool is_tensor_file = key.accepts.tensors && !choice.text.empty() && !choice.text.starts_with('[') &&
                              !is_tensor_text(choice.text);
  return key.accepts.file_path || is_tensor_file;
}

/// "quad" of a platform file, else as written.
std::string value_of(const Choice& choice) {
  return is_file(choice) ? plain(fs::path(choice.text).stem().string()) : choice.text;
}

/// "quad" of a platform file, "mlp", "bucket_bytes=64KiB", "late.start=20s" of a job.
std::string label_of(const Choice& choice) {
  if (is_file(choice) || choice.key == "variant") return value_of(choice);
  if (const auto [job, path] = key_of_job(choice.key); !job.empty())
    return plain(job + '.' + path.substr(path.rfind('.') + 1) + "=" + choice.text);
  const bool speaks = !choice.text.empty() && std::isalpha(static_cast<unsigned char>(choice.text[0])) != 0 &&
                      plain_scalar(choice.text).is_string();
  if (speaks) return plain(choice.text);
  return plain(choice.key.substr(choice.key.rfind('.') + 1) + "=" + choice.text);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : "/") + part;
  return text;
}

/// Paths are relative to the suite's folder, or else to the working directory.
std::string resolved_text(const std::string& key, const std::string& text, const fs::path& folder) {
  const auto* known = find_experiment_key(key_of_job(key).path);
  const bool is_path = key == "experiment" ||
                       (known != nullptr && (known->accepts.file_path || known->accepts.tensors)) ||
                       (key_of_job(key).path == "transience.lifetime" && is_lifetime_file(text));
  std::error_code impossible;
  if (!is_path || text.empty() || !fs::exists(folder / text, impossible)) return text;
  return fs::proximate(fs::absolute(folder / text).lexically_normal()).string();
}

/// The names that a study gives must be those of configurations.
void check_study(const Suite& suite) {
  const StudySection& study = suite.study;
  std::vector<std::string> names, algorithms;
  for (const auto& configuration : suite.configurations)
    for (const auto& entry : configuration.entries()) {
      names.push_back(entry.name);
      algorithms.push_back(entry.algorithm);
    }
  const auto check = [](const std::string& place, const std::string& key, const std::string& what,
                        const std::string& name, const std::vector<std::string>& known) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    const std::string nearest = nearest_name(name, known);
    fail(place, key, what + ", like '" + known.front() + "'",
         "'" + name + "'" + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
  };
  if (!study.baseline.empty())
    check(study.place, "study.baseline", "the algorithm of a configuration", study.baseline, algorithms);
  for (const auto& published : study.published)
    check(published.place, "study.published.configuration", "the name of a configuration",
          published.configuration, names);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : " | ") + name;
  return text;
}

/// A key of a job must be of one that the experiment has: another name is that of a new job, and a mistake.
void check_job(const Choice& setting, const std::string& file) {
  const std::string job = key_of_job(setting.key).job;
  if (job.empty()) return;
  std::vector<std::string> jobs;
  for (const auto& assignment : read_yaml_file(file))
    if (!assignment.job.empty() && std::find(jobs.begin(), jobs.end(), assignment.job) == jobs.end())
      jobs.push_back(assignment.job);
  if (std::find(jobs.begin(), jobs.end(), job) != jobs.end()) return;
  if (jobs.empty())
    fail(setting.place, setting.key, "a key of the experiment, because " + file + " is one job",
         "one of job '" + job + "'");
  const std::string nearest = nearest_name(job, jobs);
  fail(setting.place, setting.key, "a job of " + file + " (" + listed(jobs) + ")",
       "'" + job + "'" + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

std::vector<SuiteJob> jobs_of(const LocatedExperiment& located) {
  std::vector<SuiteJob> jobs;
  for (const auto& job : located.jobs) {
    jobs.push_back({job.name, job.start, job.experiment});
    choose_loaders(jobs.back().experiment, job.locate);
  }
  return jobs;
}

/// Its keys, so that a default that depends on other keys does not look like a value that was given.
void fill(SuiteConfiguration& configuration, const LocatedExperiment& located) {
  configuration.experiment = located.experiment;
  if (located.jobs.empty()) choose_loaders(configuration.experiment, located.locate);
  configuration.jobs = jobs_of(located);
}

class Expansion {
 public:
  Expansion(std::string path, const std::vector<std::string>& settings)
      : path_(std::move(path)), folder_(fs::path(path_).parent_path()), document_(read_suite_file(path_)) {
    for (const auto& list : document_.settings) add_setting(list.key, list.values.front().text, list.place);
    if (document_.repetitions)
      add_setting("repetitions", std::to_string(*document_.repetitions), document_.place);
    for (const auto& setting : settings) {
      const auto [key, text] = parse_override(setting);
      const auto varies = [&key = key](const SuiteList& axis) { return axis.key == key; };
      if (std::any_of(document_.grid.begin(), document_.grid.end(), varies))
        fail("--set", key, "a key that the suite's grid does not vary", "'" + key + "'");
      add_setting(key, text, "--set");
    }
    for (const auto& axis : document_.calibration) check_calibration(axis);
  }

  Suite expand() {
    suite_.name = fs::path(path_).stem().string();
    suite_.has_grid = true;
    suite_.tolerance = document_.tolerance;
    suite_.on_cluster = document_.cluster;
    suite_.with_witness = document_.witness;
    suite_.with_alone = document_.alone.has_value();
    suite_.seed = static_cast<std::uint64_t>(document_.seed.value_or(1));
    for (const auto& experiment : document_.experiments) {
      choices_ = {{"experiment", experiment.file.text, experiment.file.place}};
      expand_axis(experiment, 0);
    }
    for (const auto& [variant, place] : unknown_variants_)
      fail(place, "variants", "a variant of one of the experiments", "'" + variant + "'");
    check_split();
    if (document_.alone && !has_several_jobs(suite_))
      fail(document_.alone->place, "alone", "an experiment of several jobs (key jobs)",
           "one job in each experiment, which is always alone");
    if (document_.study) suite_.study = *document_.study;
    check_study(suite_);
    return std::move(suite_);
  }

 private:
  void add_setting(const std::string& key, const std::string& text, const std::string& place) {
    std::erase_if(settings_, [&](const Choice& known) { return known.key == key; });
    settings_.push_back({key, text, place});
  }

  void check_calibration(const SuiteList& axis) const {
    std::vector<std::string> known;
    if (axis.key == "experiment")
      for (const auto& experiment : document_.experiments) known.push_back(experiment.file.text);
    const auto in_grid = std::find_if(document_.grid.begin(), document_.grid.end(),
                                      [&](const SuiteList& list) { return list.key == axis.key; });
    if (in_grid != document_.grid.end())
      for (const auto& value : in_grid->values) known.push_back(value.text);
    if (axis.key == "variant") return;  // Those of the experiments, which are not read yet.
    if (known.empty())
      fail(axis.place, "calibration." + axis.key, "a key of the grid, 'variant' or 'experiment'",
           "'" + axis.key + "'");
    for (const auto& value : axis.values)
      if (std::find(known.begin(), known.end(), value.text) == known.end())
        fail(value.place, "calibration." + axis.key, "one of its values in the grid: " + listed(known),
             "'" + value.text + "'");
  }

  void expand_axis(const SuiteExperiment& experiment, std::size_t axis) {
    if (axis == document_.grid.size()) return add_variants();
    const std::string& key = document_.grid[axis].key;
    const auto narrowed = std::find_if(experiment.grid.begin(), experiment.grid.end(),
                                       [&](const SuiteList& list) { return list.key == key; });
    const auto& list = narrowed == experiment.grid.end() ? document_.grid[axis] : *narrowed;
    for (const auto& value : list.values) {
      choices_.push_back({key, value.text, value.place});
      expand_axis(experiment, axis + 1);
      choices_.pop_back();
    }
  }

  std::vector<Choice> all_settings() const {
    std::vector<Choice> all = settings_;
    all.insert(all.end(), choices_.begin() + 1, choices_.end());
    for (auto& setting : all) setting.text = resolved_text(setting.key, setting.text, folder_);
    return all;
  }

  /// Errors of values name the line of the suite that gave them.
  LocatedExperiment load(const std::string& file, const std::vector<Choice>& settings,
                         const std::string& variant = "") const {
    Overrides overrides;
    for (const auto& setting : settings) {
      check_job(setting, file);
      overrides.emplace_back(setting.key, setting.text);
    }
    try {
      return load_located(file, overrides, variant);
    } catch (const ConfigError& error) {
      const std::string message = error.what();
      for (const auto& setting : settings)
        for (const char* before : {"--set: key '", "--set: unknown key '"})
          if (message.starts_with(before + setting.key))
            throw ConfigError(setting.place + message.substr(std::string("--set").size()));
      throw;
    }
  }

  void add_variants() {
    const auto settings = all_settings();
    const std::string file = resolved_text("experiment", choices_.front().text, folder_);
    const LocatedExperiment located = load(file, settings);
    const Experiment& base = located.experiment;
    note_unknown_variants(base);
    if (base.variants.empty()) return add(file, located, settings, "");
    std::vector<std::string> variants;
    for (const auto& [name, keys] : base.variants) variants.push_back(name);
    std::ranges::sort(variants, precedes_naturally);
    for (const std::string& variant : variants) {
      if (!is_wanted(variant)) continue;
      const auto& overrides = base.variants.at(variant);
      for (const auto& choice : settings)
        for (const auto& [path, value] : overrides.items())
          if (path == choice.key || path.starts_with(choice.key + '.') || choice.key.starts_with(path + '.'))
            fail(choice.place, choice.key, "a key that no variant overrides",
                 "one that variant '" + variant + "' of " + file + " overrides");
      add(file, load(file, settings, variant), settings, variant);
    }
  }

  bool is_wanted(const std::string& variant) const {
    const auto& wanted = document_.variants;
    return wanted.empty() || std::any_of(wanted.begin(), wanted.end(),
                                         [&](const SuiteValue& value) { return value.text == variant; });
  }

  void note_unknown_variants(const Experiment& base) {
    if (known_variants_.empty())
      for (const auto& value : document_.variants) unknown_variants_[value.text] = value.place;
    for (const auto& [variant, overrides] : base.variants) {
      known_variants_.push_back(variant);
      unknown_variants_.erase(variant);
    }
  }

  bool is_calibration(const std::string& variant) const {
    if (document_.calibration.empty()) return false;
    return std::all_of(
        document_.calibration.begin(), document_.calibration.end(), [&](const SuiteList& axis) {
          return std::any_of(axis.values.begin(), axis.values.end(), [&](const SuiteValue& value) {
            if (axis.key == "variant") return value.text == variant;
            return std::any_of(choices_.begin(), choices_.end(), [&](const Choice& choice) {
              return choice.key == axis.key && choice.text == value.text;
            });
          });
        });
  }

  /// Parts of the name: what varies, the algorithm last.
  void name(SuiteConfiguration& configuration, const std::string& variant) const {
    std::vector<std::string> group, algorithm;
    for (const auto& choice : choices_) {
      const auto axis = std::find_if(document_.grid.begin(), document_.grid.end(),
                                     [&](const SuiteList& list) { return list.key == choice.key; });
      const std::size_t values =
          choice.key == "experiment" ? document_.experiments.size() : axis->values.size();
      if (values <= 1) continue;
      (is_algorithm_key(choice.key) ? algorithm : group).push_back(label_of(choice));
      if (!is_algorithm_key(choice.key)) configuration.coordinates.emplace_back(choice.key, value_of(choice));
    }
    if (!variant.empty()) algorithm.insert(algorithm.begin(), variant);
    configuration.algorithm = algorithm.empty() ? configuration.experiment.sync.algorithm : joined(algorithm);
    configuration.group = group.empty() ? suite_.name : joined(group);
    auto parts = group;
    parts.insert(parts.end(), algorithm.begin(), algorithm.end());
    configuration.name = parts.empty() ? configuration.experiment.name : joined(parts);
    configuration.folder = configuration.name;
  }

  void add(const std::string& file, const LocatedExperiment& located, const std::vector<Choice>& settings,
           const std::string& variant) {
    SuiteConfiguration configuration;
    configuration.calibration = is_calibration(variant);
    configuration.experiment_file = file;
    configuration.variant = variant;
    for (const auto& setting : settings) configuration.settings.push_back(setting.key + "=" + setting.text);
    fill(configuration, located);
    name(configuration, variant);
    check_alone(configuration);
    suite_.configurations.push_back(std::move(configuration));
  }

  void check_alone(const SuiteConfiguration& configuration) {
    const auto [known, is_new] = same_experiment_.emplace(configuration.keys().dump(), configuration.name);
    if (!is_new)
      throw ConfigError(path_ + ": configurations '" + known->second + "' and '" + configuration.name +
                        "' are the same experiment; remove one of them");
    for (const auto& other : suite_.configurations)
      if (other.name == configuration.name)
        throw ConfigError(path_ + ": two configurations are called '" + other.name +
                          "'; give their files different names");
  }

  void check_split() const {
    if (document_.calibration.empty()) return;
    const auto count = std::count_if(suite_.configurations.begin(), suite_.configurations.end(),
                                     [](const auto& configuration) { return configuration.calibration; });
    const auto& first = document_.calibration.front();
    if (count == 0)
      fail(first.place, "calibration", "values that some configuration has", "none that has them");
    if (static_cast<std::size_t>(count) == suite_.configurations.size())
      fail(first.place, "calibration", "values that leave a hold-out set", "those of every configuration");
  }

  std::string path_;
  fs::path folder_;
  SuiteDocument document_;
  std::vector<Choice> settings_;
  std::vector<Choice> choices_;  ///< the experiment, then one a key of the grid
  std::vector<std::string> known_variants_;
  std::map<std::string, std::string> unknown_variants_;
  std::map<std::string, std::string> same_experiment_;
  Suite suite_;
};

}  // namespace

namespace {

/// "wide/bsp" of a job with asp: "wide/asp".
std::string with_algorithm(const std::string& label, const std::string& common, const std::string& own) {
  if (own == common) return label;
  const auto at = ('/' + label + '/').find('/' + common + '/');
  if (at == std::string::npos) return label + '/' + own;
  return std::string(label).replace(at, common.size(), own);
}

}  // namespace

std::vector<const Experiment*> SuiteConfiguration::experiments() const {
  if (jobs.empty()) return {&experiment};
  std::vector<const Experiment*> all;
  for (const auto& job : jobs) all.push_back(&job.experiment);
  return all;
}

std::vector<SuiteEntry> SuiteConfiguration::entries() const {
  if (jobs.empty()) return {{name, group, algorithm, coordinates}};
  std::vector<SuiteEntry> all;
  for (const auto& job : jobs) {
    all.push_back({name + '/' + job.name, group + '/' + job.name,
                   with_algorithm(algorithm, experiment.sync.algorithm, job.experiment.sync.algorithm),
                   coordinates, job.name});
    all.back().coordinates.emplace_back("job", job.name);
  }
  return all;
}

std::vector<SuiteEntry> SuiteConfiguration::shown_entries() const {
  auto all = entries();
  if (!shown.empty()) std::erase_if(all, [this](const SuiteEntry& one) { return !shown.contains(one.job); });
  return all;
}

nlohmann::json SuiteConfiguration::keys() const {
  nlohmann::json all = to_json(experiment);
  all.erase("name");
  for (const auto& job : jobs) {
    nlohmann::json own = to_json(job.experiment);
    own.erase("name");
    all["jobs"].push_back({{"name", job.name}, {"start_s", job.start.count()}, {"keys", std::move(own)}});
  }
  return all;
}

bool has_several_jobs(const Suite& suite) {
  return std::any_of(suite.configurations.begin(), suite.configurations.end(),
                     [](const auto& configuration) { return !configuration.jobs.empty(); });
}

Suite load_suite(const std::string& path, const std::vector<std::string>& settings) {
  return Expansion(path, settings).expand();
}

Suite suite_of_experiment(const std::string& path, const std::vector<std::string>& settings,
                          const std::string& variant) {
  Overrides overrides;
  for (const auto& setting : settings) overrides.push_back(parse_override(setting));
  const LocatedExperiment located = load_located(path, overrides, "");
  const Experiment& base = located.experiment;
  Suite suite;
  suite.name = base.name;
  suite.seed = base.seed;
  std::vector<std::string> variants;
  if (!variant.empty())
    variants = {variant};
  else
    for (const auto& [name, keys] : base.variants) variants.push_back(name);
  if (variants.size() > 1) suite.replaced = located.replaced;
  if (variants.empty()) variants.emplace_back();
  for (const auto& name : variants) {
    SuiteConfiguration configuration;
    fill(configuration, name.empty() ? located : load_located(path, overrides, name));
    configuration.name = configuration.algorithm = name.empty() ? base.name : name;
    configuration.group = base.name;
    configuration.folder = name.empty() ? "job" : name;
    configuration.experiment_file = path;
    configuration.variant = name;
    configuration.settings = settings;
    suite.configurations.push_back(std::move(configuration));
  }
  return suite;
}

void keep_only(Suite& suite, const std::vector<std::string>& names) {
  if (names.empty()) return;
  const auto picks = [](const std::string& name, const std::string& known) {
    return known == name || known.starts_with(name + '/');
  };
  std::set<std::string> picking;
  std::vector<std::string> known;
  std::vector<SuiteConfiguration> kept;
  for (auto& configuration : suite.configurations) {
    bool is_whole = false;
    known.push_back(configuration.name);
    for (const auto& name : names)
      if (picks(name, configuration.name)) {
        is_whole = true;
        picking.insert(name);
      }
    for (const auto& entry : configuration.entries()) {
      if (entry.job.empty()) continue;
      known.push_back(entry.name);
      if (std::ranges::find(names, entry.name) == names.end()) continue;
      picking.insert(entry.name);
      configuration.shown.insert(entry.job);
    }
    if (is_whole || !configuration.shown.empty()) {
      if (is_whole) configuration.shown.clear();
      kept.push_back(std::move(configuration));
    }
  }
  for (const auto& name : names) {
    if (picking.contains(name)) continue;
    const std::string nearest = nearest_name(name, known);
    throw ConfigError("--only: no configuration '" + name + "'" +
                      (nearest.empty() ? "; names look like '" + known.front() + "'"
                                       : "; did you mean '" + nearest + "'?"));
  }
  suite.configurations = std::move(kept);
}

}  // namespace tandem::validation
