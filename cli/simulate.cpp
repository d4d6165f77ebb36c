// `tandem simulate`: the job under a simulated clock.
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "cli/commands.hpp"
#include "cli/job_options.hpp"
#include "cli/job_text.hpp"
#include "cli/long_job.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/results_text.hpp"
#include "cli/resume.hpp"
#include "sim/job_world.hpp"
#include "sim/witness/witness.hpp"
#include "workloads/job/experiment_file.hpp"
#include "workloads/job/job_document.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

struct SimulateOptions : JobOptions {
  std::string fidelity = "transfers";
  double longest_s = 3600.0;
  bool yes = false;  ///< simulate however long it takes
};

void warn_of_stale_profile(const Job& job) {
  const Profile* profile = job.devices().profile();
  if (profile == nullptr) return;
  // What follows the first comma are the libraries of the ranks, which this program does not know.
  if (const std::string software = profile->software.substr(0, profile->software.find(','));
      software != this_software())
    print_warning(fmt::format("the profile was measured with {}, but this is {}; calibrate again",
                              profile->software, this_software()));
  if (profile->machine == this_machine()) return;
  print_warning(fmt::format("the profile was measured on another machine ({}), not on this one ({})",
                            profile->machine, this_machine()));
}

/// Bad input that only the simulation finds (a missing route) must not leave a half-written directory either.
sim::JobRun simulate_or_clear(const Job& job, const sim::JobWorldSetting& setting, const std::string& out) {
  try {
    return sim::simulate_job(job, setting);
  } catch (const ConfigError&) {
    std::filesystem::remove_all(out);
    throw;
  }
}

void simulate_job(const SimulateOptions& options) {
  LoadedJob loaded = load_job_or_resumed(options);
  const std::string world = options.fidelity == "smpi" ? "smpi" : "simulated";
  const std::string out = result_directory_of(options, loaded.experiment, world);
  // Building the job first finds bad input before anything is written.
  sim::JobWorldSetting setting{.network = network_of_workers(loaded),
                               .repetition = options.repetition,
                               .operations = options.operations,
                               .decisions = options.decisions,
                               .requests = options.requests};
  if (options.fidelity == "smpi") setting.simulator = witness::simulate;
  Job job(std::move(loaded.experiment), std::move(loaded.platform), out, setting.network);
  sim::check_profile(job);
  sim::check_platform(job);
  resume_if_asked(job, options);
  record_losses_if_asked(job, options);
  const WriteLock lock = create_result_directory(out, options.force);
  write_document(out + "/job.json", job);
  print_job(job);
  warn_of_stale_profile(job);
  ProgressBar bar("simulate " + job.spec().experiment.name);
  LongJobCheck check(std::chrono::duration<double>(options.longest_s));
  SlowStartCheck slow_start(std::chrono::duration<double>(options.longest_s));
  setting.change = [&](sim::SimulationSetting& world) {
    world.progress = [&](Seconds simulated) {
      if (const auto note = slow_start.update(simulated)) print_note(*note);
    };
  };
  job.stop().on_report([&](double fraction) {
    slow_start.round_ended();
    bar.update(fraction);
    if (!options.yes) check.update(fraction);
  });
  sim::JobRun run = simulate_or_clear(job, setting, out);

  RunInfo info = describe_run(job, world);
  info.physics = std::move(run.physics);
  info.physics["fidelity"] = options.fidelity;
  info.repetition = options.repetition;
  info.command = command_line();
  info.started = timestamp();
  write_results(out, info, run.journal, run.makespan, options.trace);
  print_results(out);
}

}  // namespace

void add_simulate(CLI::App& app, int&) {
  auto* command = app.add_subcommand("simulate", "Simulate an experiment on its platform");
  const auto options = std::make_shared<SimulateOptions>();
  add_experiment_options(*command, *options);
  add_resume_options(*command, *options);
  add_record_options(*command, *options);
  command
      ->add_option("--fidelity", options->fidelity,
                   "transfers: every message simulated; smpi: the ranks' own MPI code on SimGrid's MPI, as a "
                   "witness between simulation and measurement")
      ->capture_default_str()
      ->check(CLI::IsMember({"transfers", "smpi"}));
  command
      ->add_option(
          "--longest", options->longest_s,
          "Stop, after a first estimate, if the simulation would take more than this many seconds of "
          "real time")
      ->capture_default_str()
      ->check(above_zero());
  command->add_flag("--yes", options->yes, "Simulate however long it takes");
  command->footer(
      "Examples:\n"
      "  tandem simulate workloads/experiments/mixed_lab.yaml --variant esync --trace\n"
      "  tandem simulate workloads/experiments/mixed_lab.yaml --set workload.math=modelled --set "
      "stop.rounds=1000\n"
      "  tandem simulate workloads/experiments/mixed_lab.yaml --variant ring --fidelity smpi");
  command->callback([options] { simulate_job(*options); });
}

}  // namespace tandem::cli
