// Reads experiments from YAML and checks them key by key. Every error names file, line, key, what was
// expected and what was found; unknown keys are errors with the nearest known key.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "platforms/description.hpp"
#include "workloads/experiment/experiment.hpp"
#include "workloads/job/check/experiment_check.hpp"

namespace tandem {

/// "key=value" pairs from --set ("sync.algorithm", "asp"), applied after the file; they also override
/// variants.
using Overrides = std::vector<std::pair<std::string, std::string>>;

/// Parses "a.b=c". Errors: ConfigError.
std::pair<std::string, std::string> parse_override(const std::string& text);

/// Loads, overrides and resolves. Checks types, bounds and catalogue names, not the platform.
/// A relative platform path is taken from the experiment file's folder, then from the working directory.
/// Errors: ConfigError, also for an experiment of several jobs.
Experiment load_experiment(const std::string& path, const Overrides& overrides = {});
/// The experiment of one variant (see Experiment::variants); its name becomes "experiment/variant".
Experiment apply_variant(const Experiment& experiment, const std::string& variant);

/// One of several jobs that share a platform: the experiment with the keys that the job overrides.
struct LocatedJob {
  std::string name;
  Seconds start{0};          ///< when it begins, after the first one
  nlohmann::json overrides;  ///< key -> value, as given, with "start"
  Experiment experiment;     ///< named "experiment/NAME", "experiment/variant-NAME"
  Locate locate;
};

/// An experiment with the places where its keys were set.
struct LocatedExperiment {
  Experiment experiment;  ///< not complete if there are jobs, which are complete
  Locate locate;
  std::vector<LocatedJob> jobs = {};  ///< in their order in the file; empty: the experiment is one job
  /// Keys that variants had set, and an override has replaced: "data.cache_capacity of variant 'no-cache'".
  std::vector<std::string> replaced = {};
};
/// As load_experiment, then applies the variant (empty: none). Overrides then need not suit the other
/// variants. Key `jobs` makes it an experiment of several jobs.
LocatedExperiment load_located(const std::string& path, const Overrides& overrides,
                               const std::string& variant);
/// As load_located, for one job. Errors: ConfigError, also for an experiment of several jobs.
LocatedExperiment load_located_job(const std::string& path, const Overrides& overrides,
                                   const std::string& variant);

/// Applies overrides to a resolved experiment. `place`: of the experiment, for errors.
/// Relative paths are taken from the working directory. Errors: ConfigError.
Experiment with_overrides(Experiment experiment, const Overrides& overrides, const std::string& place);

/// Chooses the loaders (data.background) of a cache policy that was published with some, unless that key is
/// given. load_placed does the same.
void choose_loaders(Experiment& experiment, const Locate& locate);

/// Fills in placement defaults (workers: every host without another role) and checks the experiment against
/// the platform: hosts exist, disks exist where needed, the cache fits the disk and the memory of the host
/// (<prop id="memory">), there is at least one worker, and a server if the route needs one, and options of
/// the algorithm are possible with this number of workers. Errors: ConfigError, placed by `locate`.
void resolve_placement(Experiment& experiment, const platforms::Description& platform, const Locate& locate);
/// The same, with errors placed at the experiment's name.
void resolve_placement(Experiment& experiment, const platforms::Description& platform);

}  // namespace tandem
