// A suite: experiments and a grid of keys. Every combination of the grid with every variant is one
// configuration. A split divides these into calibration set and hold-out set. Reads files; starts nothing.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "validation/campaign/study_section.hpp"
#include "workloads/experiment/experiment.hpp"

namespace tandem::validation {

/// One of the jobs of a configuration whose experiment has several (key `jobs`).
struct SuiteJob {
  std::string name;
  Seconds start{0};       ///< when it begins, after the first one
  Experiment experiment;  ///< without the defaults of placement
};

/// A configuration, or one of its jobs: a report has figures of each.
struct SuiteEntry {
  std::string name;  ///< "quad/mlp/bsp"; of a job: "quad/mlp/bsp/JOB"
  std::string group;
  std::string algorithm;  ///< of the configuration, or of the job if it has another one
  std::vector<std::pair<std::string, std::string>>
      coordinates;       ///< of the configuration; of a job also "job"
  std::string job = {};  ///< empty: the configuration is one job
};

struct SuiteConfiguration {
  std::string name;       ///< "quad/mlp/bsp"; no other configuration has it
  std::string group;      ///< equal for configurations that differ in the algorithm only
  std::string algorithm;  ///< its variant and sync.* values
  /// Keys of the grid that vary and are not of the algorithm, with their values; "experiment" if there are
  /// several.
  std::vector<std::pair<std::string, std::string>> coordinates;
  std::string folder;  ///< for its results, relative
  bool calibration = false;
  std::string experiment_file;
  std::string variant;                ///< empty: none
  std::vector<std::string> settings;  ///< "key=value", to be given to simulate and run in this order
  Experiment experiment;              ///< without the defaults of placement; of several jobs, not complete
  std::vector<SuiteJob> jobs = {};    ///< in their order in the file; empty: it is one job
  std::set<std::string> shown = {};   ///< jobs that were chosen by name; empty: all

  /// The experiments of its jobs.
  std::vector<const Experiment*> experiments() const;
  /// One entry, or one for each job. Jobs with the same name are compared with each other: the name of the
  /// job is part of their group.
  std::vector<SuiteEntry> entries() const;
  /// The entries that a report shows.
  std::vector<SuiteEntry> shown_entries() const;
  /// All keys except names. Two configurations with equal keys are the same.
  nlohmann::json keys() const;
};

struct Suite {
  std::string name;
  bool has_grid = false;  ///< false: a plain experiment with its variants
  std::vector<SuiteConfiguration> configurations;
  std::optional<double> tolerance;
  bool on_cluster = false;
  bool with_witness = false;               ///< simulates under SMPI too, where there is no storage
  bool with_alone = false;                 ///< of several jobs, each is also simulated and run alone
  std::uint64_t seed = 1;                  ///< of the order of runs
  StudySection study{};                    ///< of its study; defaults when it has none
  std::vector<std::string> replaced = {};  ///< see LocatedExperiment::replaced
};

/// `settings`: of the command line; they replace those of the suite. Errors: ConfigError naming file, line,
/// key, expected and found; also for configurations that are the same experiment, for a split with an empty
/// side, and for keys of a job that an experiment does not have.
Suite load_suite(const std::string& path, const std::vector<std::string>& settings = {});
/// A plain experiment as a suite of its variants; of `variant` alone unless that is empty.
Suite suite_of_experiment(const std::string& path, const std::vector<std::string>& settings,
                          const std::string& variant);

/// Whether a configuration has several jobs.
bool has_several_jobs(const Suite& suite);

/// Keeps the configurations with these names, or below them ("quad" keeps "quad/mlp/bsp"). With the name of
/// one of several jobs ("quad/mlp/bsp/JOB"), all jobs of the configuration are carried out, and this one is
/// shown. Errors: ConfigError for a name that picks nothing, with the nearest.
void keep_only(Suite& suite, const std::vector<std::string>& names);

}  // namespace tandem::validation
