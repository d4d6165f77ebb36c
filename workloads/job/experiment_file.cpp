#include "workloads/job/experiment_file.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/experiment/overrides.hpp"
#include "workloads/experiment/yaml.hpp"
#include "workloads/job/catalogues.hpp"
#include "workloads/job/experiment_check.hpp"

namespace tandem {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

const char* const override_place = "--set";

// Makes a path absolute: the first folder that has it, else the first folder.
std::string absolute_path(const Given& given, const std::vector<fs::path>& folders) {
  const std::string path = given.value.get<std::string>();
  std::string tried;
  for (const auto& folder : folders) {
    const fs::path candidate = fs::absolute(folder / path).lexically_normal();
    if (fs::exists(candidate)) return candidate.string();
    if (tried.find("'" + candidate.string() + "'") == std::string::npos)
      tried += (tried.empty() ? "" : " or ") + ("'" + candidate.string() + "'");
  }
  if (given.path == "platform") refuse(given.place, given.label(), "a platform file at " + tried, "none");
  if (given.path == "workload.model")
    refuse(given.place, given.label(), "a TorchScript file at " + tried, "none");
  return fs::absolute(folders.front() / path).lexically_normal().string();
}

void resolve_paths(std::vector<Given>& givens, const std::vector<fs::path>& folders) {
  for (auto& given : givens) {
    const auto* key = find_experiment_key(given.path);
    if (key == nullptr || !given.value.is_string() || given.value == "") continue;
    if (key->accepts.is_path(given.value.get<std::string>())) given.value = absolute_path(given, folders);
  }
}

std::vector<Given> givens_of(const Overrides& overrides) {
  std::vector<Given> givens;
  for (const auto& [key, text] : overrides)
    for (auto& given : read_yaml_value(override_place, key, text)) givens.push_back(std::move(given));
  return givens;
}

// Remembers where each key was given last, to say so when the experiment as a whole is wrong.
class Origins {
 public:
  explicit Origins(std::string file) : file_(std::move(file)) {}

  void add(const std::vector<Given>& givens) {
    for (const auto& given : givens) places_[given.label()] = given.place;
  }
  /// Of an experiment (`variant` empty) or one of its variants.
  Locate of(const std::string& variant) const {
    return [origins = *this, variant](const std::string& path) -> Origin {
      const std::string label = "variants." + variant + '.' + path;
      const auto& places = origins.places_;
      if (const auto own = places.find(label); own != places.end()) return {own->second, label};
      const auto base = places.find(path);
      const std::string place = base == places.end() ? origins.file_ : base->second;
      return {variant.empty() ? place : place + ": variant '" + variant + "'", path};
    };
  }

 private:
  std::string file_;
  std::map<std::string, std::string> places_;
};

Experiment with_variant(const Experiment& experiment, const std::string& variant, const Locate& locate) {
  Experiment changed = experiment;
  apply_givens(changed, givens_of_variant(experiment, variant, "variant '" + variant + "'"));
  changed.name += '/' + variant;
  changed.variants.clear();
  complete_experiment(changed, locate);
  return changed;
}

std::string names_text(Names names) {
  std::string text;
  for (const auto& name : catalogue_of(names).names()) text += (text.empty() ? "" : " | ") + name;
  return text;
}

std::string default_text(const ExperimentKey& key) {
  const Json value = written_value(key, {});
  return value.is_string() ? value.get<std::string>() : value.dump();
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
  std::vector<Given> from_file = read_yaml_file(path);
  resolve_paths(from_file, {folder, "."});
  std::vector<Given> from_overrides = givens_of(overrides);
  resolve_paths(from_overrides, {".", folder});

  Experiment experiment;
  experiment.name = fs::path(path).stem().string();
  apply_givens(experiment, from_file);
  const auto of_variants = override_variants(experiment, from_overrides);
  apply_givens(experiment, from_overrides);
  Origins origins(path);
  origins.add(from_file);
  origins.add(of_variants);
  origins.add(from_overrides);
  complete_experiment(experiment, origins.of(""));
  for (const auto& [name, keys] : experiment.variants) with_variant(experiment, name, origins.of(name));
  if (!variant.empty()) experiment = apply_variant(experiment, variant);
  return {std::move(experiment), origins.of(variant)};
}

Experiment with_overrides(Experiment experiment, const Overrides& overrides, const std::string& place) {
  std::vector<Given> givens = givens_of(overrides);
  resolve_paths(givens, {"."});
  apply_givens(experiment, givens);
  Origins origins(place);
  origins.add(givens);
  complete_experiment(experiment, origins.of(""));
  return experiment;
}

Experiment apply_variant(const Experiment& experiment, const std::string& variant) {
  if (!experiment.variants.contains(variant)) {
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
  std::string text;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto& key = experiment_keys()[i];
    text += key.path + std::string(path_width - key.path.size() + 2, ' ') + types[i] + "  [" +
            default_text(key) + "]  " + key.summary + '\n';
  }
  return text;
}

}  // namespace tandem
