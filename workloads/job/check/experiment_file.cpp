#include "workloads/job/check/experiment_file.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/experiment/lifetime_file.hpp"
#include "workloads/experiment/overrides.hpp"
#include "workloads/experiment/presets.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/experiment/tensor_list.hpp"
#include "workloads/experiment/yaml.hpp"
#include "workloads/job/check/catalogues.hpp"
#include "workloads/job/check/experiment_check.hpp"
#include "workloads/job/check/idle_keys.hpp"
#include "workloads/job/check/limits.hpp"
#include "workloads/job/check/shared_check.hpp"
#include "workloads/job/placement/placement.hpp"

namespace tandem {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

const char* const override_place = "--set";

// Makes a path absolute: in the first folder where the file exists, else in the first folder.
std::string absolute_path(const Assignment& assignment, const std::vector<fs::path>& folders) {
  const std::string path = assignment.value.get<std::string>();
  std::string tried;
  for (const auto& folder : folders) {
    const fs::path candidate = fs::absolute(folder / path).lexically_normal();
    // Names that the system cannot have (too long, say) do not exist either.
    std::error_code impossible;
    if (fs::exists(candidate, impossible)) return candidate.string();
    if (tried.find("'" + candidate.string() + "'") == std::string::npos)
      tried += (tried.empty() ? "" : " or ") + ("'" + candidate.string() + "'");
  }
  if (const std::string& file = find_experiment_key(assignment.path)->accepts.needed_file; !file.empty())
    fail(assignment.place, assignment.label(), file + " at " + tried, "no such file");
  return fs::absolute(folders.front() / path).lexically_normal().string();
}

/// Replaces the path of a file with tensors by its tensors, so that a resolved experiment does not depend on
/// the file.
void read_tensors(Assignment& assignment, const std::vector<fs::path>& folders) {
  Json& value = assignment.value;
  if (value.is_array() && value.size() == 1 && value.front().is_string()) value = value.front();
  if (!value.is_string() || value == "" || is_tensor_text(value.get<std::string>())) return;
  Json lines = Json::array();
  for (const auto& tensor : read_tensor_file(absolute_path(assignment, folders)))
    lines.push_back(to_text(tensor));
  value = std::move(lines);
}

/// Replaces the path of a file with a lifetime model by the name of the model, for the same reason. Returns
/// its options.
std::vector<Assignment> read_lifetime(Assignment& assignment, const std::vector<fs::path>& folders) {
  const bool is_file = assignment.path == "transience.lifetime" && assignment.value.is_string() &&
                       is_lifetime_file(assignment.value.get<std::string>());
  if (!is_file) return {};
  const std::string path = absolute_path(assignment, folders);
  const LifetimeFile model = read_lifetime_file(path, catalogue_of(Names::lifetime).names());
  assignment.value = model.name;
  assignment.drops_options = true;
  std::vector<Assignment> options;
  for (const auto& [name, value] : model.options.items())
    options.push_back({.place = path,
                       .variant = assignment.variant,
                       .path = "transience.options." + name,
                       .value = value,
                       .job = assignment.job,
                       .is_implied = true});
  return options;
}

/// Makes paths absolute, and adds the keys that single values imply: the options of a lifetime file, the
/// keys of a preset.
void resolve_layer(std::vector<Assignment>& assignments, const std::vector<fs::path>& folders) {
  std::vector<Assignment> options;
  for (auto& assignment : assignments) {
    std::ranges::move(read_lifetime(assignment, folders), std::back_inserter(options));
    const auto* key = find_experiment_key(assignment.path);
    if (key != nullptr && key->accepts.tensors) read_tensors(assignment, folders);
    if (key == nullptr || !assignment.value.is_string() || assignment.value == "") continue;
    if (key->accepts.is_path(assignment.value.get<std::string>()))
      assignment.value = absolute_path(assignment, folders);
  }
  // The options that are given come after those of a file, and so replace them.
  assignments.insert(assignments.begin(), std::make_move_iterator(options.begin()),
                     std::make_move_iterator(options.end()));
  add_presets(assignments);
}

bool has_option(const ExperimentKey& key, const std::string& name, const std::string& option) {
  if (name.empty()) return false;
  const auto catalogue = catalogue_of(key.accepts.names);
  const auto names = catalogue.names();
  if (std::ranges::find(names, name) == names.end()) return true;
  const auto& options = catalogue.find(name).options;
  return std::ranges::find(options, option, &OptionSpec::name) != options.end();
}

/// The last override of a key counts.
std::vector<Assignment> assignments_of(const Overrides& overrides) {
  std::vector<Assignment> assignments;
  for (const auto& [key, text] : overrides)
    for (auto& assignment : read_yaml_value(override_place, key, text)) {
      if (!assignment.path.empty())
        std::erase_if(assignments,
                      [&](const Assignment& known) { return known.label() == assignment.label(); });
      assignments.push_back(std::move(assignment));
    }
  return assignments;
}

// The place of the last assignment to each key, for errors about several keys.
class Origins {
 public:
  explicit Origins(std::string file) : file_(std::move(file)) {}

  void add(const std::vector<Assignment>& assignments) {
    for (const auto& assignment : assignments) {
      places_[assignment.label()] = assignment.place;
      if (assignment.is_implied)
        implied_.insert(assignment.label());
      else
        implied_.erase(assignment.label());
      // "checkpoint.options" is set where one of its options is.
      const ExperimentKey* key = find_experiment_key(assignment.path);
      if (key != nullptr && key->path != assignment.path && !assignment.is_implied)
        places_.try_emplace(own_label(assignment, key->path), assignment.place);
    }
  }
  /// The experiment or a variant of it. Where a key acts in one, it is no mistake that others have it, too.
  void add_acting(const Experiment& complete) {
    for (std::string& key : acting_keys({complete, ResolvedExperiment(complete)}))
      acting_.insert(std::move(key));
  }
  /// Not all of them are known.
  void allow_idle() { may_all_be_idle_ = true; }
  /// The locations in an experiment (`variant` empty) or one of its variants; of a job of it (empty: none).
  Locate of(const std::string& variant, const std::string& job = "") const {
    return [origins = *this, variant, job](const std::string& path) -> Origin {
      const auto& places = origins.places_;
      for (const std::string& label : {"jobs." + job + '.' + path, "variants." + variant + '.' + path})
        if (const auto own = places.find(label); own != places.end())
          return {own->second, label, true, origins.implied_.contains(label)};
      const auto base = places.find(path);
      std::string place = base == places.end() ? origins.file_ : base->second;
      const bool may_be_idle =
          origins.implied_.contains(path) || origins.acting_.contains(path) || origins.may_all_be_idle_;
      if (!variant.empty()) place += ": variant '" + variant + "'";
      if (!job.empty()) place += ": job '" + job + "'";
      return {place, path, base != places.end(), may_be_idle};
    };
  }

 private:
  static std::string own_label(Assignment assignment, const std::string& path) {
    assignment.path = path;
    return assignment.label();
  }

  std::string file_;
  std::map<std::string, std::string> places_;
  std::set<std::string> implied_, acting_;
  bool may_all_be_idle_ = false;
};

/// Not complete.
Experiment changed_by_variant(const Experiment& experiment, const std::string& variant) {
  Experiment changed = experiment;
  apply_assignments(changed, assignments_of_variant(experiment, variant, "variant '" + variant + "'"),
                    has_option);
  changed.name += '/' + variant;
  changed.variants.clear();
  return changed;
}

Experiment with_variant(const Experiment& experiment, const std::string& variant, const Locate& locate) {
  Experiment changed = changed_by_variant(experiment, variant);
  complete_experiment(changed, locate);
  return changed;
}

void expect_variant(const Experiment& experiment, const std::string& variant) {
  if (experiment.variants.contains(variant)) return;
  std::vector<std::string> names;
  std::string known;
  for (const auto& [name, keys] : experiment.variants) {
    names.push_back(name);
    known += ' ' + name;
  }
  const std::string nearest = nearest_name(variant, names);
  throw ConfigError("experiment '" + experiment.name + "': unknown variant '" + variant + "'" +
                    (nearest.empty() ? "." : "; did you mean '" + nearest + "'?") +
                    " Known:" + (known.empty() ? " none" : known));
}

// ---- Several jobs ----

std::vector<Assignment> take_of_jobs(std::vector<Assignment>& assignments) {
  const auto first = std::ranges::stable_partition(assignments, [](const Assignment& one) {
                       return one.job.empty();
                     }).begin();
  std::vector<Assignment> taken(std::make_move_iterator(first), std::make_move_iterator(assignments.end()));
  assignments.erase(first, assignments.end());
  return taken;
}

Seconds start_of(const Assignment& assignment) {
  const Json& value = assignment.value;
  std::optional<Seconds> start;
  if (value.is_number()) start = Seconds(value.get<double>());
  if (value.is_string()) start = parse_seconds(value.get<std::string>());
  if (!start || start->count() < 0.0)
    fail(assignment.place, assignment.label(), "time >= 0 (" + time_examples() + ")", quote(value));
  return *start;
}

void check_key_of_job(const Assignment& assignment) {
  const std::string section = assignment.path.substr(0, assignment.path.find('.'));
  if (section == "jobs" || section == "variants" || section == "name")
    fail(assignment.place, assignment.label(), "a key that jobs can override", quote(section));
  const ExperimentKey* key = find_experiment_key(assignment.path);
  if (key != nullptr && key->shared == Shared::by_all_jobs)
    fail(assignment.place, assignment.label(), "a key that jobs can override: all of them share one",
         quote(assignment.path));
}

/// `locate_of`: in a job. The jobs are complete, without placement.
std::vector<LocatedJob> split_into_jobs(const Experiment& experiment,
                                        const std::vector<Assignment>& assignments,
                                        const std::function<Locate(const std::string& job)>& locate_of) {
  std::vector<LocatedJob> jobs;
  for (const Assignment& one : assignments)
    if (std::ranges::find(jobs, one.job, &LocatedJob::name) == jobs.end())
      jobs.push_back({one.job, Seconds(0), Json::object(), experiment, locate_of(one.job)});
  for (LocatedJob& job : jobs) {
    std::vector<Assignment> own;
    for (const Assignment& one : assignments) {
      if (one.job != job.name || one.path.empty()) continue;
      job.overrides[one.path] = one.value;
      if (one.path == "start") {
        job.start = start_of(one);
        continue;
      }
      check_key_of_job(one);
      own.push_back(one);
    }
    apply_assignments(job.experiment, own, has_option);
    // A name has at most one slash, which that of a variant has already.
    job.experiment.name += (job.experiment.name.find('/') == std::string::npos ? '/' : '-') + job.name;
    job.experiment.variants.clear();
    complete_experiment(job.experiment, job.locate);
    check_limits(limits_of_company(), {job.experiment, ResolvedExperiment(job.experiment)}, job.locate);
  }
  return jobs;
}

}  // namespace

namespace {

/// The keys of variants, as written in the file, that have another value now.
std::vector<std::string> replaced_keys(const decltype(Experiment::variants)& written,
                                       const Experiment& experiment) {
  std::vector<std::string> replaced;
  for (const auto& [variant, keys] : written) {
    const auto now = experiment.variants.find(variant);
    if (now == experiment.variants.end()) continue;  // `variants={}` removes them
    for (const auto& [path, value] : keys.items())
      if (now->second.contains(path) && now->second.at(path) != value)
        replaced.push_back(path + " of variant '" + variant + "'");
  }
  return replaced;
}

}  // namespace

std::pair<std::string, std::string> parse_override(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw ConfigError(std::string(override_place) + ": expected KEY=VALUE, found '" + text + "'");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

Experiment load_experiment(const std::string& path, const Overrides& overrides) {
  return load_located_job(path, overrides, "").experiment;
}

LocatedExperiment load_located_job(const std::string& path, const Overrides& overrides,
                                   const std::string& variant) {
  LocatedExperiment located = load_located(path, overrides, variant);
  if (!located.jobs.empty())
    throw ConfigError(
        path +
        ": key 'jobs': expected an experiment of one job, found several jobs, which only tandem "
        "simulate, run, study, validate and show know");
  return located;
}

LocatedExperiment load_located(const std::string& path, const Overrides& overrides,
                               const std::string& variant) {
  const fs::path folder = fs::path(path).parent_path();
  std::vector<Assignment> from_file = read_yaml_file(path);
  std::vector<Assignment> from_overrides = assignments_of(overrides);
  // The platform that an override replaces need not exist.
  const auto is_platform = [](const Assignment& one) { return one.label() == "platform"; };
  if (std::ranges::any_of(from_overrides, is_platform)) std::erase_if(from_file, is_platform);
  resolve_layer(from_file, {folder, "."});
  resolve_layer(from_overrides, {".", folder});
  std::vector<Assignment> of_jobs = take_of_jobs(from_file);

  Experiment experiment;
  experiment.name = fs::path(path).stem().string();
  apply_assignments(experiment, from_file, has_option);
  override_jobs(of_jobs, experiment, variant, from_overrides, has_option);
  take_of_jobs(from_overrides);
  const auto written = experiment.variants;
  const auto of_variants = override_variants(experiment, from_overrides, has_option);
  apply_assignments(experiment, from_overrides, has_option);
  Origins origins(path);
  origins.add(from_file);
  origins.add(of_variants);
  origins.add(from_overrides);
  origins.add(of_jobs);
  // Where there are jobs, the keys that all of them have need not make a job, nor where a variant is chosen.
  const bool is_one_job = of_jobs.empty();
  if (is_one_job && variant.empty()) {
    complete_experiment(experiment, origins.of(""));
    origins.add_acting(experiment);
  }
  // What suits the chosen variant need not suit the others.
  const auto is_checked = [&](const std::string& name) {
    return variant.empty() || overrides.empty() || name == variant;
  };
  std::optional<Experiment> chosen;
  for (const auto& [name, keys] : experiment.variants) {
    if (!is_checked(name)) {
      try {
        origins.add_acting(changed_by_variant(experiment, name));
      } catch (const ConfigError&) {
        origins.allow_idle();
      }
      continue;
    }
    Experiment changed =
        is_one_job ? with_variant(experiment, name, origins.of(name)) : changed_by_variant(experiment, name);
    if (is_one_job) origins.add_acting(changed);
    if (name == variant) chosen = std::move(changed);
  }
  if (!variant.empty()) expect_variant(experiment, variant);
  std::vector<std::string> replaced = replaced_keys(written, experiment);
  // Keys that jobs have in common act in some of them.
  if (!is_one_job) origins.allow_idle();
  LocatedExperiment located{chosen ? std::move(*chosen) : std::move(experiment), origins.of(variant)};
  located.replaced = std::move(replaced);
  located.jobs = split_into_jobs(located.experiment, of_jobs,
                                 [&](const std::string& job) { return origins.of(variant, job); });
  check_sharing(located.jobs);
  return located;
}

Experiment with_overrides(Experiment experiment, const Overrides& overrides, const std::string& place) {
  std::vector<Assignment> assignments = assignments_of(overrides);
  for (const Assignment& one : assignments)
    if (!one.job.empty()) fail(one.place, one.label(), "a key of one job", "one of several jobs");
  resolve_layer(assignments, {"."});
  apply_assignments(experiment, assignments, has_option);
  Origins origins(place);
  origins.add(assignments);
  // Nothing is chosen again: the value of a key may be its default and differ from what would be chosen.
  complete_experiment(experiment, [given = origins.of("")](const std::string& path) {
    Origin origin = given(path);
    origin.is_given = true;
    return origin;
  });
  return experiment;
}

void choose_loaders(Experiment& experiment, const Locate& locate) {
  Experiment::Data& data = experiment.data;
  if (data.source != DataSource::storage || locate("data.background").is_given) return;
  data.loaders = ResolvedExperiment(experiment).cache->loaders;
}

Experiment apply_variant(const Experiment& experiment, const std::string& variant) {
  expect_variant(experiment, variant);
  const std::string place = "variant '" + variant + "'";
  return with_variant(experiment, variant, [&](const std::string& path) { return Origin{place, path}; });
}

void resolve_placement(Experiment& experiment, const platforms::Description& platform, const Locate& locate) {
  place_roles(experiment, platform, locate,
              [&locate](const Experiment& placed, const ResolvedExperiment& chosen) {
                check_limits(limits_of_placement(), {placed, chosen}, locate);
              });
}

void resolve_placement(Experiment& experiment, const platforms::Description& platform) {
  resolve_placement(experiment, platform,
                    [place = "experiment '" + experiment.name + "'"](const std::string& path) {
                      return Origin{place, path};
                    });
}

}  // namespace tandem
