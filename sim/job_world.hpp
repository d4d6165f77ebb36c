// Assembles the simulated world of a job (platform and network, prices of work, noise, the roles of all
// ranks) and runs it. Its counterpart under the real clock is runtime/rank/job_world.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platforms/description_network.hpp"
#include "sim/simulation.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/records/records.hpp"

namespace tandem::sim {

struct JobWorldSetting {
  /// The network between the workers' hosts. It determines the time of a library's all-reduce if no profile
  /// does.
  platforms::Network network = {};
  int repetition = 0;       ///< each repetition has different noise
  bool operations = false;  ///< record every operation
  bool decisions = false;   ///< record every policy event and decision
  bool requests = false;    ///< record every sample that cache nodes are asked for
  /// The time since it began at which the generation ends.
  std::optional<Seconds> until = {};
  /// The simulator to use: the default one, or the witness.
  std::function<SimulationResult(const SimulationSetting&)> simulator = simulate;
  /// Called last, to change the assembled setting. Empty: nothing is changed.
  std::function<void(SimulationSetting&)> change = {};
};

struct JobRun {
  Journal journal;                    ///< of all ranks, and generations
  Seconds makespan;                   ///< since the job began
  nlohmann::json physics;             ///< for run.json
  std::vector<std::string> warnings;  ///< for run.json, after those of the job
  /// The generation did not end the job: the journal is that of the generation alone, in its own time.
  bool is_cut = false;
};

/// One of the jobs that share a simulation.
struct SharingJob {
  const Job* job = nullptr;
  std::string name;                 ///< for errors; empty: the job is alone, and begins with the simulation
  Seconds start{0};                 ///< when it begins; its records and its makespan count from then
  platforms::Network network = {};  ///< as JobWorldSetting::network, of this job
};

/// Errors: ConfigError when the profile was measured on another network than the experiment's.
void check_profile(const Job& job);

/// Errors: ConfigError naming the element of the platform file with which the job cannot be simulated.
void check_platform(const Job& job);

/// Simulates the job to its end. If messages have measured costs of one machine, writes the platform that is
/// used, twin.xml, into the result directory. Pre: check_profile and check_platform. Errors: as simulate.
JobRun simulate_job(const Job& job, const JobWorldSetting& setting);

/// The same for several jobs at the same time on one platform; returns their runs in the same order. They
/// have equal experiment.physics, platform and run.devices; JobWorldSetting::network is not used. Pre if
/// there are several: no job has generations, and the witness is not the simulator.
std::vector<JobRun> simulate_jobs(std::span<const SharingJob> jobs, const JobWorldSetting& setting);

}  // namespace tandem::sim
