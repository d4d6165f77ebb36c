// Checks that need more than one key: names and options against their catalogues, and settings that exclude
// each other. Knows neither files nor platforms.
#pragma once

#include <functional>
#include <string>

#include "workloads/experiment/experiment.hpp"

namespace tandem {

/// What an error about a key names: its place, and the key as the user wrote it.
struct Origin {
  std::string place;
  std::string label;
  bool is_given = false;  ///< a file or an override sets it; otherwise it has its default
};
using Locate = std::function<Origin(const std::string& path)>;

/// Fills in the options of algorithm, compression, sharding, cache policy and split, and checks the
/// experiment. Errors: ConfigError naming place, key, expected and found.
void complete_experiment(Experiment& experiment, const Locate& locate);

}  // namespace tandem
