// Checks that need more than one key: names and options against their catalogues, and which settings go
// together. Knows neither files nor platforms.
#pragma once

#include <functional>
#include <string>

#include "workloads/experiment/experiment.hpp"

namespace tandem {

/// Where an error about a key points: the place, and the key as the user named it.
struct Origin {
  std::string place;
  std::string label;
};
using Locate = std::function<Origin(const std::string& path)>;

/// Fills in the options of algorithm, sharding, cache policy and split, and checks the whole.
/// Errors: ConfigError naming place, key, expected and found.
void complete_experiment(Experiment& experiment, const Locate& locate);

}  // namespace tandem
