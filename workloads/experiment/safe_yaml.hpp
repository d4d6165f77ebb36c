// Reads YAML that may be malformed or hostile. Only this file uses yaml-cpp, whose parser does not terminate
// on some texts and whose documents can be far larger than their text. Limits size, nesting and aliases.
#pragma once

#include <string>

namespace YAML {
class Node;
}

namespace tandem {

/// Where a text comes from, for errors.
struct YamlSource {
  std::string name;         ///< "lab.yaml", "--set: key 'sync.options'"
  bool names_lines = true;  ///< errors name the line

  /// "lab.yaml:7". `line`: from 1.
  std::string at(int line) const { return names_lines ? name + ':' + std::to_string(line) : name; }
};

/// The text of a file. `what`: "experiment", for errors. Errors: ConfigError when the file cannot be read or
/// is larger than `largest_yaml`.
std::string read_yaml_text(const std::string& path, const std::string& what);

/// Bytes of a text, and bytes and values of a document after its aliases are expanded.
inline constexpr std::size_t largest_yaml = 8U << 20;
inline constexpr std::size_t most_yaml_values = 500'000;
/// Maps and lists inside each other.
inline constexpr int deepest_yaml = 64;

/// The only document of a text; a null node for a text without one.
/// Errors: ConfigError naming the source and the line for bytes that are not UTF-8 or are zero, malformed
/// YAML, a second document, an alias inside its own value, and documents beyond the bounds.
YAML::Node parse_yaml(const std::string& text, const YamlSource& source);

}  // namespace tandem
