#include "cli/jobs/simulation.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "cli/jobs/long_job.hpp"
#include "cli/jobs/restarts.hpp"
#include "cli/jobs/resume.hpp"
#include "cli/jobs/simulated_generations.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/job_text.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/progress.hpp"
#include "policies/vocabulary/check.hpp"
#include "sim/job_world.hpp"
#include "sim/witness/witness.hpp"
#include "workloads/job/check/experiment_file.hpp"
#include "workloads/job/check/run_description.hpp"
#include "workloads/job/plan/machines_of_job.hpp"
#include "workloads/learner/learner.hpp"

namespace tandem::cli {
namespace {

void warn_of_stale_profile(const Job& job) {
  const Profile* profile = job.devices().profile();
  if (profile == nullptr || profile->has_tables_alone()) return;
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

/// `bar`: null: nothing is shown.
sim::JobRun simulate_watched(Job& job, sim::JobWorldSetting setting, const SimulateOptions& options,
                             const std::string& out, ProgressBar* bar) {
  LongJobCheck check(std::chrono::duration<double>(options.longest_s));
  SlowStartCheck slow_start(std::chrono::duration<double>(options.longest_s));
  setting.change = [&](sim::SimulationSetting& world) {
    world.progress = [&](Seconds simulated) {
      if (const auto note = slow_start.update(simulated)) print_note(*note);
    };
  };
  job.stop().on_report([&](double fraction) {
    slow_start.round_ended();
    if (bar != nullptr) bar->update(fraction);
    if (!options.yes) check.update(fraction);
  });
  return simulate_or_clear(job, setting, out);
}

/// One generation after the other.
sim::JobRun simulate_generations(Job& job, const sim::JobWorldSetting& setting,
                                 const SimulateOptions& options, const std::string& out) {
  begin_generations(job);
  if (job.real_math()) prepare_learner();
  SimulatedGenerations generations(job, out, [&](std::optional<Seconds> until) {
    sim::JobWorldSetting one = setting;
    one.until = until;
    // Of the workers that this generation has.
    if (const Generation& present = *job.generation(); !present.hosts.empty())
      one.network = network_of_workers({job.spec().experiment, job.spec().platform});
    return simulate_watched(job, std::move(one), options, out, nullptr);
  });
  try {
    if (const auto result = launch_generations(job, out, generations); result.exit_code != exit_success)
      throw WorldError(result.message);
  } catch (const ConfigError&) {
    std::filesystem::remove_all(out);
    throw;
  }
  remove_generation_files(job, out);
  return generations.take_run();
}

}  // namespace

std::string world_of(const SimulateOptions& options) {
  return options.fidelity == "smpi" ? "smpi" : "simulated";
}

RunInfo describe_simulation(const Job& job, const sim::JobRun& run, const SimulateOptions& options) {
  RunInfo info = describe_run(job, world_of(options));
  info.physics = run.physics;
  info.physics["fidelity"] = options.fidelity;
  info.warnings.insert(info.warnings.end(), run.warnings.begin(), run.warnings.end());
  info.repetition = options.repetition;
  info.ensemble = options.ensemble;
  info.command = command_line();
  info.started = timestamp();
  return info;
}

Simulated simulate_job(LoadedJob loaded, const SimulateOptions& options, const std::string& out) {
  // Building the job first finds bad input before anything is written.
  sim::JobWorldSetting setting{.network = network_of_workers(loaded),
                               .repetition = options.repetition,
                               .operations = options.operations,
                               .decisions = options.decisions,
                               .requests = options.requests};
  if (options.fidelity == "smpi") setting.simulator = witness::simulate;
  Job job = make_job(std::move(loaded), out, setting.network);
  sim::check_profile(job);
  sim::check_platform(job);
  resume_if_asked(job, options);
  record_losses_if_asked(job, options);
  const bool starts_again = has_drawn_generations(job);
  if (starts_again && options.fidelity == "smpi")
    throw ConfigError(
        "--fidelity smpi: expected recovery.mode in-place and no tandem:lifetime of servers' hosts, or "
        "transience.lifetime never: the witness does not start jobs again");
  const WriteLock lock = create_result_directory(out, options.force);
  if (options.keep) write_document(out + "/job.json", job);
  print_job(job);
  warn_of_stale_profile(job);
  sim::JobRun run;
  if (starts_again) {
    run = simulate_generations(job, setting, options, out);
  } else {
    ProgressBar bar("simulate " + job.spec().experiment.name);
    run = simulate_watched(job, std::move(setting), options, out, &bar);
  }

  for (const auto& warning : run.warnings) print_warning(warning);
  Simulated simulated{.info = describe_simulation(job, run, options),
                      .journal = std::move(run.journal),
                      .makespan = run.makespan};
  const RunInfo& info = simulated.info;
  if (options.keep)
    write_results(out, info, simulated.journal, simulated.makespan, options.trace);
  else
    std::filesystem::remove_all(out);
  return simulated;
}

}  // namespace tandem::cli
