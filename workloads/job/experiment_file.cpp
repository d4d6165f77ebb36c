#include "workloads/job/experiment_file.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/experiment/overrides.hpp"
#include "workloads/experiment/tensor_list.hpp"
#include "workloads/experiment/yaml.hpp"
#include "workloads/job/catalogues.hpp"
#include "workloads/job/experiment_check.hpp"

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
  if (assignment.path == "platform")
    fail(assignment.place, assignment.label(), "a platform file at " + tried, "no such file");
  if (assignment.path == "workload.model")
    fail(assignment.place, assignment.label(), "a TorchScript file at " + tried, "no such file");
  if (assignment.path == "workload.synthetic_tensors")
    fail(assignment.place, assignment.label(),
         "tensors (sizes like 4MB), or a file with one per line at " + tried, "no such file");
  return fs::absolute(folders.front() / path).lexically_normal().string();
}

/// Replaces the path of a file with tensors by what the file lists, so that a resolved experiment does not
/// depend on the file.
void read_tensors(Assignment& assignment, const std::vector<fs::path>& folders) {
  Json& value = assignment.value;
  if (value.is_array() && value.size() == 1 && value.front().is_string()) value = value.front();
  if (!value.is_string() || value == "" || is_tensor_text(value.get<std::string>())) return;
  Json lines = Json::array();
  for (const auto& tensor : read_tensor_file(absolute_path(assignment, folders)))
    lines.push_back(to_text(tensor));
  value = std::move(lines);
}

void resolve_paths(std::vector<Assignment>& assignments, const std::vector<fs::path>& folders) {
  for (auto& assignment : assignments) {
    const auto* key = find_experiment_key(assignment.path);
    if (key != nullptr && key->accepts.tensors) read_tensors(assignment, folders);
    if (key == nullptr || !assignment.value.is_string() || assignment.value == "") continue;
    if (key->accepts.is_path(assignment.value.get<std::string>()))
      assignment.value = absolute_path(assignment, folders);
  }
}

std::vector<Assignment> assignments_of(const Overrides& overrides) {
  std::vector<Assignment> assignments;
  for (const auto& [key, text] : overrides)
    for (auto& assignment : read_yaml_value(override_place, key, text))
      assignments.push_back(std::move(assignment));
  return assignments;
}

// The place of the last assignment to each key, for errors about several keys.
class Origins {
 public:
  explicit Origins(std::string file) : file_(std::move(file)) {}

  void add(const std::vector<Assignment>& assignments) {
    for (const auto& assignment : assignments) places_[assignment.label()] = assignment.place;
  }
  /// Of an experiment (`variant` empty) or one of its variants.
  Locate of(const std::string& variant) const {
    return [origins = *this, variant](const std::string& path) -> Origin {
      const std::string label = "variants." + variant + '.' + path;
      const auto& places = origins.places_;
      if (const auto own = places.find(label); own != places.end()) return {own->second, label, true};
      const auto base = places.find(path);
      const std::string place = base == places.end() ? origins.file_ : base->second;
      return {variant.empty() ? place : place + ": variant '" + variant + "'", path, base != places.end()};
    };
  }

 private:
  std::string file_;
  std::map<std::string, std::string> places_;
};

Experiment with_variant(const Experiment& experiment, const std::string& variant, const Locate& locate) {
  Experiment changed = experiment;
  apply_assignments(changed, assignments_of_variant(experiment, variant, "variant '" + variant + "'"));
  changed.name += '/' + variant;
  changed.variants.clear();
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

std::string names_text(Names names) {
  std::string text;
  for (const auto& name : catalogue_of(names).names()) text += (text.empty() ? "" : " | ") + name;
  return text;
}

std::string default_text(const ExperimentKey& key) {
  const Json value = written_value(key, {});
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  return text.empty() || value.empty() ? "empty" : text;
}

}  // namespace

std::pair<std::string, std::string> parse_override(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw ConfigError(std::string(override_place) + ": expected KEY=VALUE, found '" + text + "'");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

Experiment load_experiment(const std::string& path, const Overrides& overrides) {
  return load_located(path, overrides, "").experiment;
}

LocatedExperiment load_located(const std::string& path, const Overrides& overrides,
                               const std::string& variant) {
  const fs::path folder = fs::path(path).parent_path();
  std::vector<Assignment> from_file = read_yaml_file(path);
  std::vector<Assignment> from_overrides = assignments_of(overrides);
  // The platform that an override replaces need not exist.
  const auto is_platform = [](const Assignment& one) { return one.label() == "platform"; };
  if (std::ranges::any_of(from_overrides, is_platform)) std::erase_if(from_file, is_platform);
  resolve_paths(from_file, {folder, "."});
  resolve_paths(from_overrides, {".", folder});

  Experiment experiment;
  experiment.name = fs::path(path).stem().string();
  apply_assignments(experiment, from_file);
  const auto of_variants = override_variants(experiment, from_overrides);
  apply_assignments(experiment, from_overrides);
  Origins origins(path);
  origins.add(from_file);
  origins.add(of_variants);
  origins.add(from_overrides);
  complete_experiment(experiment, origins.of(""));
  // What suits the chosen variant need not suit the others.
  const auto is_checked = [&](const std::string& name) {
    return variant.empty() || overrides.empty() || name == variant;
  };
  std::optional<Experiment> chosen;
  for (const auto& [name, keys] : experiment.variants) {
    if (!is_checked(name)) continue;
    Experiment changed = with_variant(experiment, name, origins.of(name));
    if (name == variant) chosen = std::move(changed);
  }
  if (!variant.empty()) expect_variant(experiment, variant);
  return {chosen ? std::move(*chosen) : std::move(experiment), origins.of(variant)};
}

Experiment with_overrides(Experiment experiment, const Overrides& overrides, const std::string& place) {
  std::vector<Assignment> assignments = assignments_of(overrides);
  resolve_paths(assignments, {"."});
  apply_assignments(experiment, assignments);
  Origins origins(place);
  origins.add(assignments);
  complete_experiment(experiment, origins.of(""));
  return experiment;
}

Experiment apply_variant(const Experiment& experiment, const std::string& variant) {
  expect_variant(experiment, variant);
  const std::string place = "variant '" + variant + "'";
  return with_variant(experiment, variant, [&](const std::string& path) { return Origin{place, path}; });
}

std::string describe_keys() {
  std::vector<std::string> types;
  std::size_t path_width = 0;
  for (const auto& key : experiment_keys()) {
    types.push_back(key.accepts.names == Names::none ? describe_type(key) : names_text(key.accepts.names));
    path_width = std::max(path_width, key.path.size());
  }
  std::string text = "key" + std::string(path_width - 1, ' ') + "accepted values  [default]  meaning\n";
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto& key = experiment_keys()[i];
    text += key.path + std::string(path_width - key.path.size() + 2, ' ') + types[i] + "  [" +
            default_text(key) + "]  " + key.summary + '\n';
  }
  return text;
}

}  // namespace tandem
