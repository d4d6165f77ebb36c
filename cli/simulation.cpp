#include "cli/simulation.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "cli/job_text.hpp"
#include "cli/long_job.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/resume.hpp"
#include "sim/job_world.hpp"
#include "sim/witness/witness.hpp"
#include "workloads/job/experiment_file.hpp"
#include "workloads/job/job_document.hpp"

namespace tandem::cli {
namespace {

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

sim::JobRun simulate_watched(Job& job, sim::JobWorldSetting& setting, const SimulateOptions& options,
                             const std::string& out) {
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
  return simulate_or_clear(job, setting, out);
}

}  // namespace

std::string world_of(const SimulateOptions& options) {
  return options.fidelity == "smpi" ? "smpi" : "simulated";
}

Simulated simulate_job(LoadedJob loaded, const SimulateOptions& options, const std::string& out) {
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
  if (options.keep) write_document(out + "/job.json", job);
  print_job(job);
  warn_of_stale_profile(job);
  sim::JobRun run = simulate_watched(job, setting, options, out);

  Simulated simulated{.info = describe_run(job, world_of(options)),
                      .journal = std::move(run.journal),
                      .makespan = run.makespan};
  RunInfo& info = simulated.info;
  info.physics = std::move(run.physics);
  info.physics["fidelity"] = options.fidelity;
  for (const auto& warning : run.warnings) print_warning(warning);
  info.warnings.insert(info.warnings.end(), run.warnings.begin(), run.warnings.end());
  info.repetition = options.repetition;
  info.ensemble = options.ensemble;
  info.command = command_line();
  info.started = timestamp();
  if (options.keep)
    write_results(out, info, simulated.journal, simulated.makespan, options.trace);
  else
    std::filesystem::remove_all(out);
  return simulated;
}

}  // namespace tandem::cli
