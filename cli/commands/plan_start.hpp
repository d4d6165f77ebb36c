// What starts the choice of a plan elsewhere: a script for Slurm, a task of SkyPilot, or a job of Kubeflow's
// MPI operator. Sources: SkyPilot's reference of its YAML files,
// https://docs.skypilot.co/en/latest/reference; the types of kubeflow.org/v2beta1 in
// https://github.com/kubeflow/mpi-operator.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/commands/plan_text.hpp"
#include "cli/machines/sbatch.hpp"

namespace tandem::cli {

struct StartOptions {
  SbatchOptions sbatch;  ///< without a time: twice the plan's 95th percentile
  bool is_skypilot = false, is_mpijob = false;
  std::string image = "tandem";  ///< with Tandem; runtime/containers builds one of this name

  StartOptions() { sbatch.time.clear(); }
  bool is_wanted() const { return sbatch.is_wanted || is_skypilot || is_mpijob; }
};

/// Adds --print-sbatch and its options, --print-skypilot, --print-mpijob and --image.
void add_start_options(CLI::App& command, StartOptions& options);

/// The script or file, of which one is wanted. Notes say what the user has to fill in. Pre: the files of the
/// plan are written. Errors: ConfigError.
std::string start_text(const planning::Lattice& lattice, const PlanResult& result,
                       const StartOptions& options);

}  // namespace tandem::cli
