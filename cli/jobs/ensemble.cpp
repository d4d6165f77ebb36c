#include "cli/jobs/ensemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "cli/shared/output.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/scratch_folder.hpp"
#include "cli/shared/subcommand_process.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/json_file.hpp"
#include "workloads/job/plan/ensemble.hpp"
#include "workloads/records/summary.hpp"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;

/// The replicas' figures and logs.
struct ReplicaFolder : ScratchFolder {
  explicit ReplicaFolder(const std::string& out) : ScratchFolder(out + ".replicas") {}
  std::string log(int replica) const { return results(replica) + ".log"; }
  std::string figures(int replica) const { return results(replica) + ".json"; }
  std::string results(int replica) const { return fmt::format("{}/{}", path().string(), replica); }
};

/// In a copy of this process.
void simulate_replica(LoadedJob loaded, SimulateOptions options, int replica, const ReplicaFolder& folder) {
  options.repetition = replica;
  options.operations = options.decisions = options.requests = options.losses = options.trace = false;
  options.chakra.clear();
  options.keep = false;
  options.force = true;
  // Mathematics changes no time; see replicas_of().
  loaded.experiment.workload.math = Experiment::Workload::Math::modelled;
  loaded.experiment.stop.accuracy = 0.0;
  const Simulated simulated = simulate_job(std::move(loaded), options, folder.results(replica));
  const auto summary = summarise(simulated.info, simulated.journal, simulated.makespan);
  std::ofstream file(folder.figures(replica));
  file << to_json(replica_figures(summary));
  if (!file.flush()) throw WorldError("cannot write " + folder.figures(replica));
}

std::vector<ReplicaFigures> simulate_replicas(const LoadedJob& loaded, const SimulateOptions& options,
                                              const std::string& out, int replicas, int parallel) {
  const ReplicaFolder folder(out);
  ProgressBar bar(fmt::format("simulate {} ({} replicas)", loaded.experiment.name, replicas));
  std::exception_ptr first_error;
  int ended = 0;
  ProcessQueue queue{.count = static_cast<std::size_t>(replicas), .start = {}, .ended = {}};
  const auto number_of = [](std::size_t index) { return static_cast<int>(index) + 1; };
  queue.start = [&](std::size_t index, const sigset_t& blocked_signals) {
    const int replica = number_of(index);
    const Descriptor log = create_file(folder.log(replica));
    const auto simulate = [&, replica] { simulate_replica(loaded, options, replica, folder); };
    return start_function([simulate] { return run_in_copy(simulate); },
                          {.output = log.number(), .own_group = true, .blocked_signals = blocked_signals});
  };
  queue.ended = [&](std::size_t index, const ExitStatus& status, std::exception_ptr error) {
    bar.update(++ended / static_cast<double>(replicas));
    const int replica = number_of(index);
    if (!error) error = error_of(fmt::format("replica {}", replica), folder.log(replica), status);
    if (error && !first_error) first_error = error;
  };
  run_processes(queue, parallel);
  if (first_error) std::rethrow_exception(first_error);
  std::vector<ReplicaFigures> figures;
  for (int replica = 1; replica <= replicas; ++replica)
    figures.push_back(replica_figures_from_json(
        read_json_file(folder.figures(replica), "the figures of a replica"), folder.figures(replica)));
  return figures;
}

/// A resumed job, a repetition that was asked for and the witness are single simulations.
bool is_single(const SimulateOptions& options) {
  return options.repetition > 0 || !options.resume.empty() || options.fidelity != "transfers";
}

}  // namespace

Simulated simulate_with_ensemble(LoadedJob loaded, SimulateOptions options, const std::string& out,
                                 int parallel) {
  const int replicas = is_single(options) ? 0 : replicas_of(loaded.experiment);
  if (replicas == 0) {
    if (const std::string reason = no_ensemble_reason(loaded.experiment);
        !is_single(options) && !reason.empty())
      print_note(
          "one simulation of a job whose step times depend on phases of its workers, without an interval: " +
          reason);
    return simulate_job(std::move(loaded), options, out);
  }
  check_result_directory(out, options.force);
  announce_ensembles({&loaded.experiment});
  const auto figures = simulate_replicas(loaded, options, out, replicas, parallel);
  options.repetition = static_cast<int>(median_replica(figures)) + 1;
  options.ensemble = ensemble_of(figures);
  return simulate_job(std::move(loaded), options, out);
}

void announce_ensembles(const std::vector<const Experiment*>& experiments) {
  std::size_t ensembles = 0;
  int replicas = 0;
  std::string algorithm;
  for (const Experiment* experiment : experiments) {
    const int own = replicas_of(*experiment);
    if (own == 0) continue;
    if (ensembles++ == 0) algorithm = experiment->sync.algorithm;
    replicas = std::max(replicas, own);
  }
  if (ensembles == 0) return;
  const std::string which = experiments.size() == 1 ? fmt::format("the job is simulated {} times", replicas)
                                                    : fmt::format("{} of {} jobs are simulated {} times each",
                                                                  ensembles, experiments.size(), replicas);
  print_note(
      fmt::format("{} for medians with 90 % intervals, because {} decides by timing; once: --set "
                  "physics.ensemble=0",
                  which, algorithm));
}

}  // namespace tandem::cli
