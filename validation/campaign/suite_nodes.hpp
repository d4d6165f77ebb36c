// What the readers of suite files share: values of nodes, and errors that name their line.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

#include "validation/campaign/study_section.hpp"
#include "validation/campaign/suite_file.hpp"

namespace tandem::validation {

/// The nodes of one file. All functions throw ConfigError with file, line, key, expected and found.
struct SuiteNodes {
  std::string path;

  std::string place_of(const YAML::Node& node) const {
    return path + ':' + std::to_string(node.Mark().line + 1);
  }
  [[noreturn]] static void fail_at(const std::string& place, const std::string& key,
                                   const std::string& expected, const YAML::Node& node);
  [[noreturn]] static void fail_unknown_key(const std::string& key, const std::string& place,
                                            const std::vector<std::string>& known);
  template <class Number>
  static Number number(const std::string& key, const std::string& place, const YAML::Node& node,
                       Number minimum, const std::string& expected) {
    Number value{};
    if (!node.IsScalar() || !YAML::convert<Number>::decode(node, value) || !(value >= minimum))
      fail_at(place, key, expected, node);
    return value;
  }
  static bool boolean(const std::string& key, const std::string& place, const YAML::Node& node);
  /// A text that is not empty, in one line.
  static std::string text(const std::string& key, const std::string& place, const YAML::Node& node);
  /// One value or a list of them.
  std::vector<SuiteValue> values_of(const std::string& key, const std::string& place,
                                    const YAML::Node& node) const;
  /// In one line, as --set takes it.
  static std::string text_of(const YAML::Node& node);
};

/// The key `study`.
StudySection read_study(const SuiteNodes& nodes, const std::string& place, const YAML::Node& node);

}  // namespace tandem::validation
