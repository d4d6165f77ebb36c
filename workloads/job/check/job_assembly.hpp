// From an experiment file to jobs: reads and resolves the file once, places the roles of its jobs on the
// platform, and makes the jobs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "platforms/description.hpp"
#include "platforms/description_network.hpp"
#include "workloads/experiment/experiment.hpp"
#include "workloads/job/check/experiment_check.hpp"
#include "workloads/job/check/experiment_file.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {

/// Reads platform files. Errors: ConfigError.
class PlatformReader {
 public:
  virtual ~PlatformReader() = default;
  virtual const platforms::Description& platform(const std::string& file) = 0;
  /// `hubs`: some of the hosts, whose routes are known however many hosts there are.
  virtual platforms::Network network(const std::string& file, const std::vector<std::string>& hosts,
                                     const std::vector<std::string>& hubs = {}) = 0;
};

/// An experiment of one job and its platform, after both were checked together.
struct LoadedJob {
  Experiment experiment;
  platforms::Description platform;
  bool devices_are_given = true;  ///< the experiment says whether devices are emulated (run.devices)
  Locate locate = {};             ///< where its keys were set; empty: unknown
};

/// An experiment of several jobs on one platform.
struct LoadedJobs {
  struct One {
    std::string name;
    Seconds start;
    nlohmann::json overrides;  ///< as in the file
    LoadedJob loaded;
  };
  Experiment experiment;  ///< the keys outside of the jobs, which need not make a job
  std::vector<One> jobs;
};

using LoadedExperiment = std::variant<LoadedJob, LoadedJobs>;

/// As load_located, with the placement of every job. Errors: ConfigError.
LoadedExperiment load_placed(const std::string& path, const Overrides& overrides, const std::string& variant,
                             PlatformReader& platforms);
/// As load_located_job. Errors: ConfigError, also for an experiment of several jobs.
LoadedJob load_placed_job(const std::string& path, const Overrides& overrides, const std::string& variant,
                          PlatformReader& platforms);

/// Real machines compute as fast as they can, unless the experiment says otherwise or has modelled
/// mathematics.
void compute_natively_by_default(LoadedJob& loaded);

/// The network between the workers' hosts, for all-reduce settings that depend on it; otherwise empty. Pre:
/// the roles are placed. Errors: ConfigError.
platforms::Network network_of_workers(const Experiment& experiment, PlatformReader& platforms);

/// The job with its results in `out`. Errors: ConfigError; of a key, with the place where it was set.
Job make_job(LoadedJob loaded, const std::string& out, const platforms::Network& network);

}  // namespace tandem
