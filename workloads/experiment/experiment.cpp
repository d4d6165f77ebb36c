#include "workloads/experiment/experiment.hpp"

#include <set>

#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/experiment/overrides.hpp"

namespace tandem {
namespace {

using Json = nlohmann::json;

const char* const place = "experiment document";

Json& slot_of(Json& document, const std::string& path) {
  const auto dot = path.find('.');
  if (dot == std::string::npos) return document[path];
  return document[path.substr(0, dot)][path.substr(dot + 1)];
}

void collect_variants(const Json& variants, std::vector<Assignment>& assignments) {
  if (!variants.is_object()) fail(place, "variants", "a map of variants", quote(variants));
  for (const auto& [variant, overrides] : variants.items()) {
    if (!overrides.is_object()) fail(place, "variants." + variant, "a map of keys", quote(overrides));
    assignments.push_back({place, variant, "", nullptr});
    for (const auto& [path, value] : overrides.items()) assignments.push_back({place, variant, path, value});
  }
}

void collect(const Json& node, const std::string& prefix, std::vector<Assignment>& assignments) {
  for (const auto& [name, value] : node.items()) {
    const std::string path = prefix.empty() ? name : prefix + '.' + name;
    if (path == "variants")
      collect_variants(value, assignments);
    else if (value.is_object() && is_experiment_section(path))
      collect(value, path, assignments);
    else
      assignments.push_back({place, "", path, value});
  }
}

}  // namespace

Json to_json(const Experiment& experiment) {
  Json document = Json::object();
  for (const auto& key : experiment_keys()) slot_of(document, key.path) = key_value(key, experiment);
  return document;
}

Experiment experiment_from_json(const Json& json) {
  if (!json.is_object()) throw ConfigError(std::string(place) + ": expected an object, found " + quote(json));
  std::vector<Assignment> assignments;
  collect(json, "", assignments);
  std::set<std::string> present;
  for (const auto& assignment : assignments) present.insert(assignment.path);
  if (json.contains("variants")) present.insert("variants");

  Experiment experiment;
  apply_assignments(experiment, assignments);
  for (const auto& key : experiment_keys())
    if (!present.contains(key.path)) fail(place, key.path, describe_type(key), "nothing");
  return experiment;
}

}  // namespace tandem
