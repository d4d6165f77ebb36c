// Experiments as YAML text: from a document to given values with their lines, and from an experiment to a
// document.
#pragma once

#include <string>
#include <vector>

#include "workloads/experiment/overrides.hpp"

namespace tandem {

/// Everything that the file gives, in its order.
/// Errors: ConfigError when it cannot be read, is empty, is no YAML, or names a key twice.
std::vector<Given> read_yaml_file(const std::string& path);
/// What `--set key=text` gives; `text` is YAML, unless the key takes text. Errors: ConfigError.
std::vector<Given> read_yaml_value(const std::string& place, const std::string& key, const std::string& text);

/// The experiment as a YAML document that load_experiment reads back to the same experiment.
std::string to_yaml(const Experiment& experiment);

}  // namespace tandem
