// One simulation of a job, shared by simulate and study. A process can simulate once.
#pragma once

#include <optional>
#include <string>

#include "cli/shared/job_options.hpp"
#include "sim/job_world.hpp"
#include "workloads/records/records.hpp"
#include "workloads/records/result_directory.hpp"
#include "workloads/records/summary.hpp"

namespace tandem::cli {

struct SimulateOptions : JobOptions {
  std::string fidelity = "transfers";
  double longest_s = 3600.0;   ///< of real time, after which an estimate may stop the simulation
  bool yes = false;            ///< simulate however long it takes
  bool together_only = false;  ///< several jobs are not also simulated alone
  int parallel = 0;            ///< simulations of jobs alone at the same time; 0: one per core
  std::optional<EnsembleSummary> ensemble{};  ///< of which this simulation is one, for run.json; none: none
  bool keep = true;                           ///< leave the result directory; otherwise it exists meanwhile
  std::string chakra{};                       ///< folder for Chakra execution traces; empty: none are written
};

struct Simulated {
  RunInfo info;
  Journal journal;
  Seconds makespan;
  /// The summary of a job in closed form, whose journal has one step for many; none: summarise() gives it.
  std::optional<Summary> priced{};

  Summary summary() const { return priced ? *priced : summarise(info, journal, makespan); }
};

/// "simulated", or "smpi" for the witness.
std::string world_of(const SimulateOptions& options);

/// For run.json.
RunInfo describe_simulation(const Job& job, const sim::JobRun& run, const SimulateOptions& options);

/// Simulates the job, with progress, in the result directory `out`. Errors: ConfigError, before anything is
/// written; WorldError.
Simulated simulate_job(LoadedJob loaded, const SimulateOptions& options, const std::string& out);

}  // namespace tandem::cli
