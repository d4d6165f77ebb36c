#include "validation/campaign/suite_nodes.hpp"

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"
#include "workloads/experiment/overrides.hpp"

namespace tandem::validation {

void SuiteNodes::fail_at(const std::string& place, const std::string& key, const std::string& expected,
                         const YAML::Node& node) {
  const std::string found = node.IsSequence() ? "a list"
                            : node.IsMap()    ? "a map"
                            : node.IsNull()   ? "nothing"
                                              : "'" + node.Scalar() + "'";
  fail(place, key, expected, found);
}

void SuiteNodes::fail_unknown_key(const std::string& key, const std::string& place,
                                  const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(key, known);
  throw ConfigError(place + ": unknown key '" + key + "' of a suite" +
                    (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

bool SuiteNodes::boolean(const std::string& key, const std::string& place, const YAML::Node& node) {
  bool value = false;
  if (!node.IsScalar() || !YAML::convert<bool>::decode(node, value))
    fail_at(place, key, "true or false", node);
  return value;
}

std::string SuiteNodes::text(const std::string& key, const std::string& place, const YAML::Node& node) {
  if (!node.IsScalar() || node.Scalar().empty()) fail_at(place, key, "a text", node);
  std::string line = node.Scalar();
  for (char& c : line)
    if (c == '\n') c = ' ';
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

std::vector<SuiteValue> SuiteNodes::values_of(const std::string& key, const std::string& place,
                                              const YAML::Node& node) const {
  if (node.IsNull() || node.IsMap() || (node.IsSequence() && node.size() == 0))
    fail_at(place, key, "a value or a list of values", node);
  std::vector<SuiteValue> values;
  if (!node.IsSequence()) return {{text_of(node), place}};
  for (const auto& item : node) values.push_back({text_of(item), place_of(item)});
  return values;
}

std::string SuiteNodes::text_of(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  YAML::Emitter out;
  out.SetSeqFormat(YAML::Flow);
  out.SetMapFormat(YAML::Flow);
  out << node;
  return out.c_str();
}

}  // namespace tandem::validation
