#include "workloads/experiment/overrides.hpp"

#include <algorithm>
#include <cctype>

#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/keys.hpp"

namespace tandem {
namespace {

using Json = nlohmann::json;

std::string last_part(const std::string& path) { return path.substr(path.rfind('.') + 1); }

// Sections are meant where a map was given. A key of another section is meant when its last part is the same,
// or when no whole path begins like it or is near.
std::string nearest_key(const Given& given) {
  std::vector<std::string> paths;
  std::vector<std::string> lasts;
  for (const auto& key : experiment_keys()) {
    const std::string section = key.path.substr(0, key.path.find('.'));
    if (given.value.is_object() && (paths.empty() || paths.back() != section)) paths.push_back(section);
    if (given.value.is_object()) continue;
    paths.push_back(key.path);
    lasts.push_back(last_part(key.path));
  }
  const auto path_of = [&](const std::string& last) {
    const auto at = std::find(lasts.begin(), lasts.end(), last);
    return at == lasts.end() ? std::string() : paths[static_cast<std::size_t>(at - lasts.begin())];
  };
  if (const auto same = path_of(last_part(given.path)); !same.empty()) return same;
  for (const auto& path : paths)
    if (path.starts_with(given.path)) return path;
  if (const auto near = nearest_name(given.path, paths); !near.empty()) return near;
  return path_of(nearest_name(last_part(given.path), lasts));
}

std::size_t position(const Given& given) {
  const auto& keys = experiment_keys();
  const auto* key = find_experiment_key(given.path);
  return key == nullptr ? keys.size() : static_cast<std::size_t>(key - keys.data());
}

// The member of "sync.options.h" is "h"; of the whole key it is empty.
std::string member_of(const ExperimentKey& key, const Given& given) {
  return given.path.size() > key.path.size() ? given.path.substr(key.path.size() + 1) : std::string();
}

void assign_given(const ExperimentKey& key, Experiment& experiment, const Given& given) {
  const std::string member = member_of(key, given);
  const Json value = member.empty() ? given.value : Json{{member, given.value}};
  if (assign(key, experiment, value)) return;
  const bool is_option = !member.empty();
  const std::string expected = is_option ? "true, false, a number or text" : describe_type(key);
  refuse(given.place, given.label(), expected, quote(given.value));
}

void check_variant_name(const Given& given) {
  const auto allowed = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };
  if (given.variant.empty() || !std::all_of(given.variant.begin(), given.variant.end(), allowed))
    refuse(given.place, "variants", "names of letters, digits, - and _", quote(given.variant));
}

// Stores the override in its own form (plain numbers), so that it is written back as the same experiment.
void store_override(Experiment& experiment, const Given& given) {
  check_variant_name(given);
  auto& overrides = experiment.variants[given.variant];
  if (overrides.is_null()) overrides = Json::object();
  if (given.path.empty()) {
    if (!given.value.is_null() && !(given.value.is_object() && given.value.empty()))
      refuse(given.place, given.label(), "a map of keys", quote(given.value));
    return;
  }
  const auto* key = find_experiment_key(given.path);
  if (key->path == "name" || key->path == "variants")
    refuse(given.place, given.label(), "a key that a variant can override", quote(key->path));
  Experiment scratch;
  assign_given(*key, scratch, given);
  const Json value = key_value(*key, scratch);
  const std::string member = member_of(*key, given);
  overrides[given.path] = member.empty() ? value : value.at(member);
}

/// Where the options stand of what a key names; empty when it names nothing that has any.
std::string options_of(const std::string& path) {
  if (path == "sync.algorithm") return "sync.options";
  if (path == "sync.compression") return "sync.compression_options";
  if (path == "sync.sharding") return "sync.sharding_options";
  if (path == "data.cache") return "data.cache_options";
  if (path == "data.split") return "data.split_options";
  return "";
}

/// Options go with the algorithm that they belong to.
void drop_options(Json& overrides, const std::string& path) {
  const std::string options = options_of(path);
  if (options.empty()) return;
  Json kept = Json::object();
  for (const auto& [key, value] : overrides.items())
    if (!key.starts_with(options + '.')) kept[key] = value;
  overrides = std::move(kept);
}

/// Sets the key of a given; options of what it replaces are dropped. Pre: the table has the owner before its
/// options, and givens come in that order.
void assign_and_drop(const ExperimentKey& key, Experiment& experiment, const Given& given) {
  const Json before = key_value(key, experiment);
  assign_given(key, experiment, given);
  const std::string options = options_of(key.path);
  if (options.empty() || key_value(key, experiment) == before) return;
  std::get<OptionValues*>(find_experiment_key(options)->field(experiment))->clear();
}

}  // namespace

std::string Given::label() const {
  if (variant.empty()) return path;
  return "variants." + variant + (path.empty() ? "" : '.' + path);
}

void apply_givens(Experiment& experiment, std::vector<Given> givens) {
  for (const auto& given : givens)
    if (!given.path.empty() && find_experiment_key(given.path) == nullptr) refuse_unknown(given);
  std::stable_sort(givens.begin(), givens.end(),
                   [](const auto& a, const auto& b) { return position(a) < position(b); });
  for (const auto& given : givens)
    if (given.variant.empty()) assign_and_drop(*find_experiment_key(given.path), experiment, given);
  for (const auto& given : givens)
    if (!given.variant.empty()) store_override(experiment, given);
}

std::vector<Given> override_variants(Experiment& experiment, const std::vector<Given>& layer) {
  std::vector<Given> givens;
  for (const auto& given : layer)
    for (auto& [variant, keys] : experiment.variants) {
      if (!given.variant.empty() || !keys.contains(given.path)) continue;
      const Json before = keys.at(given.path);
      store_override(experiment, givens.emplace_back(given.place, variant, given.path, given.value));
      if (keys.at(given.path) != before) drop_options(keys, given.path);
    }
  return givens;
}

std::vector<Given> givens_of_variant(const Experiment& experiment, const std::string& variant,
                                     const std::string& place) {
  std::vector<Given> givens;
  for (const auto& [path, value] : experiment.variants.at(variant).items())
    givens.push_back({place, "", path, value});
  return givens;
}

void refuse(const std::string& place, const std::string& label, const std::string& expected,
            const std::string& found) {
  throw ConfigError(place + ": key '" + label + "': expected " + expected + ", found " + found);
}

void refuse_unknown(const Given& given) {
  const std::string nearest = nearest_key(given);
  throw ConfigError(given.place + ": unknown key '" + given.label() + "'" +
                    (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

std::string quote(const Json& value) {
  if (value.is_null() || value == "") return "nothing";
  if (value.is_array()) return "a list";
  if (value.is_object()) return "a map";
  if (!value.is_string()) return "'" + value.dump() + "'";
  const std::string text = value.get<std::string>();
  return (plain_scalar(text).is_string() ? "'" : "text '") + text + "'";
}

}  // namespace tandem
