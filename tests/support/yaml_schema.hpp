// Checks a YAML document against a published schema that was written down as rows.
#pragma once

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

namespace tandem::testing {

/// A field that may be there. `path`: keys with "|" between them; "*" is any key, "[]" any element of a list.
/// `value`: a regular expression of its scalar, `text` for a string; empty: a list or a mapping.
struct SchemaField {
  std::string path, value;
  bool is_required = false;  ///< wherever what contains it is there
};

inline const std::string schema_text = "text", schema_whole = "[0-9]+", schema_flag = "true|false";

namespace schema {

inline bool matches(const std::string& path, const std::string& pattern) {
  std::string expression;
  for (const char letter : pattern)
    expression += letter == '*'                                            ? std::string("[^|]+")
                  : std::string("|[]./").find(letter) != std::string::npos ? std::string("\\") + letter
                                                                           : std::string(1, letter);
  return std::regex_match(path, std::regex(expression));
}

inline std::string parent_of(const std::string& path) {
  const auto end = path.rfind('|');
  return end == std::string::npos ? "" : path.substr(0, end);
}

/// A plain scalar that YAML reads as a number or a truth value is no string.
inline bool is_text(const YAML::Node& node) {
  static const std::regex other("[-+]?[0-9.][0-9.eE+-]*|true|false|yes|no|null|~|");
  return node.Tag() == "!" || !std::regex_match(node.Scalar(), other);
}

inline void check(const YAML::Node& node, const std::string& path, const std::vector<SchemaField>& fields,
                  std::vector<std::string>& problems) {
  const auto inside = [&](const std::string& key) { return path.empty() ? key : path + "|" + key; };
  if (!path.empty()) {
    const auto field = std::ranges::find_if(fields, [&](const auto& one) { return matches(path, one.path); });
    if (field == fields.end()) {
      problems.push_back(path + ": no such field");
      return;
    }
    if (node.IsScalar() == field->value.empty())
      problems.push_back(path + ": a scalar where none is expected, or none");
    else if (node.IsScalar() &&
             (field->value == schema_text ? !is_text(node)
                                          : !std::regex_match(node.Scalar(), std::regex(field->value))))
      problems.push_back(path + ": '" + node.Scalar() + "', expected " + field->value);
  }
  if (node.IsSequence())
    for (const auto& element : node) check(element, inside("[]"), fields, problems);
  if (!node.IsMap()) return;
  for (const auto& entry : node) check(entry.second, inside(entry.first.Scalar()), fields, problems);
  for (const auto& field : fields)
    if (field.is_required && matches(path, parent_of(field.path)) &&
        !node[field.path.substr(field.path.rfind('|') + 1)])
      problems.push_back(inside(field.path.substr(field.path.rfind('|') + 1)) + ": is missing");
}

}  // namespace schema

/// What does not conform; empty: everything does.
inline std::vector<std::string> schema_problems(const YAML::Node& document,
                                                const std::vector<SchemaField>& fields) {
  std::vector<std::string> problems;
  schema::check(document, "", fields, problems);
  return problems;
}

}  // namespace tandem::testing
