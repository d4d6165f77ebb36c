// `tandem simulate`: the job under a simulated clock.
#include <algorithm>
#include <memory>
#include <thread>
#include <utility>
#include <variant>

#include "cli/commands/commands.hpp"
#include "cli/commands/what_if.hpp"
#include "cli/jobs/ensemble.hpp"
#include "cli/jobs/priced_jobs.hpp"
#include "cli/jobs/resume.hpp"
#include "cli/jobs/several_jobs.hpp"
#include "cli/jobs/simulated_jobs.hpp"
#include "cli/jobs/simulation.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/shared/plan_forecast.hpp"
#include "cli/shared/results_text.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::cli {
namespace {

void simulate(SimulateOptions options, const ClusterOptions& cluster) {
  const ClusterFiles files = place_on_cluster(options, cluster, world_of(options));
  LoadedExperiment loaded = load_or_resumed(options);
  if (auto* several = std::get_if<LoadedJobs>(&loaded)) {
    if (!options.chakra.empty()) throw ConfigError("--chakra: expected one job, found several (key jobs)");
    return simulate_jobs(std::move(*several), options);
  }
  if (options.together_only) refuse_one_job("--together-only");
  LoadedJob& job = std::get<LoadedJob>(loaded);
  const std::string out = result_directory_of(options, job.experiment, world_of(options));
  const auto forecast = forecast_of(options, job.experiment);
  simulate_with_ensemble(std::move(job), options, out,
                         std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
  print_results(out, cluster.is_wanted(), forecast);
  print_answer(out, options, cluster, files);
}

}  // namespace

void add_simulate(CLI::App& app, int&) {
  auto* command = app.add_subcommand("simulate", "Simulate an experiment on its platform");
  const auto options = std::make_shared<SimulateOptions>();
  add_experiment_options(*command, *options);
  add_resume_options(*command, *options);
  add_record_options(*command, *options);
  const auto cluster = add_cluster_options(*command);
  add_fidelity_option(*command, options->fidelity, {"transfers", priced_fidelity, "smpi"});
  command
      ->add_option("--chakra", options->chakra,
                   "Also write the job as Chakra execution traces, DIR/NAME.RANK.et, for other simulators: "
                   "computation of each rank with its time, messages and all-reduces with their sizes, and "
                   "what each waits for; of workers and servers alone, with samples in memory")
      ->type_name("DIR");
  command
      ->add_option(
          "--longest", options->longest_s,
          "Stop, after a first estimate, if the simulation would take more than this many seconds of "
          "real time")
      ->capture_default_str()
      ->check(above_zero());
  command->add_flag("--together-only", options->together_only,
                    "Of several jobs (key jobs): do not also simulate each of them alone, for its slow-down");
  command->add_flag("--yes", options->yes, "Simulate however long it takes");
  command->footer(
      "Examples:\n"
      "  tandem simulate workloads/experiments/mixed_lab.yaml --variant esync --trace\n"
      "  tandem simulate workloads/experiments/mixed_lab.yaml --set workload.math=modelled --set "
      "stop.rounds=1000\n"
      "  tandem simulate workloads/experiments/mixed_lab.yaml --variant ring --fidelity smpi\n"
      "  tandem simulate workloads/experiments/rented.yaml --variant spot --fidelity priced\n"
      "  tandem simulate job.yaml --workers 32 --within 25Gbps     a job of `tandem import --out job.yaml`\n"
      "  tandem simulate job.yaml --workers 32 --within 25Gbps --set stop.rounds=1 --chakra traces");
  command->callback([options, cluster] { simulate(*options, *cluster); });
}

}  // namespace tandem::cli
