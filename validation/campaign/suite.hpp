// A suite: experiments and a grid of keys, of which every combination with every variant is one
// configuration, and the split of these into calibration set and hold-out set. Reads files; starts nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "validation/campaign/study_section.hpp"
#include "workloads/experiment/experiment.hpp"

namespace tandem::validation {

struct SuiteConfiguration {
  std::string name;       ///< "quad/mlp/bsp"; no other configuration has it
  std::string group;      ///< what it shares with those that differ from it in the algorithm only
  std::string algorithm;  ///< its variant and sync.* values
  std::string line;       ///< its name without the number of workers, where the grid varies that
  std::string folder;     ///< for its results, relative
  bool calibration = false;
  std::string experiment_file;
  std::string variant;                ///< empty: none
  std::vector<std::string> settings;  ///< "key=value", to be given to simulate and run in this order
  Experiment experiment;              ///< without the defaults of placement
};

struct Suite {
  std::string name;
  bool has_grid = false;  ///< false: a plain experiment with its variants
  std::vector<SuiteConfiguration> configurations;
  std::optional<double> tolerance;
  bool on_cluster = false;
  bool with_witness = false;  ///< simulates under SMPI too, where there is no storage
  std::uint64_t seed = 1;     ///< of the order of runs
  StudySection study{};       ///< what its study says; of the defaults when it has none
};

/// `settings`: of the command line, over those of the suite.
/// Errors: ConfigError naming file, line, key, expected and found; also for configurations that are the same
/// experiment, and for a split that leaves one of its sides empty.
Suite load_suite(const std::string& path, const std::vector<std::string>& settings = {});
/// A plain experiment as a suite of its variants; of `variant` alone unless that is empty.
Suite suite_of_experiment(const std::string& path, const std::vector<std::string>& settings,
                          const std::string& variant);

/// Keeps the configurations with these names, or below them ("quad" keeps "quad/mlp/bsp"). Errors:
/// ConfigError for a name that picks nothing, with the nearest.
void keep_only(Suite& suite, const std::vector<std::string>& names);

}  // namespace tandem::validation
