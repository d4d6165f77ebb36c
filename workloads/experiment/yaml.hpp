// Experiments as YAML text: from a document to assignments with their lines, and from an experiment to a
// document.
#pragma once

#include <string>
#include <vector>

#include "workloads/experiment/overrides.hpp"

namespace tandem {

/// The assignments of a file, in its order.
/// Errors: ConfigError when it cannot be read, is empty, is not YAML, or sets a key twice.
std::vector<Assignment> read_yaml_file(const std::string& path);
/// The assignments of `--set key=text`; `text` is YAML, unless the key takes plain text. Errors: ConfigError.
std::vector<Assignment> read_yaml_value(const std::string& place, const std::string& key,
                                        const std::string& text);

/// The experiment as a YAML document that load_experiment reads back to the same experiment.
std::string to_yaml(const Experiment& experiment);

}  // namespace tandem
