#include "cli/jobs/simulation.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "cli/jobs/launched_generations.hpp"
#include "cli/jobs/long_job.hpp"
#include "cli/jobs/priced_jobs.hpp"
#include "cli/jobs/resume.hpp"
#include "cli/shared/job_text.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/subcommand_process.hpp"
#include "policies/vocabulary/check.hpp"
#include "sim/job_world.hpp"
#include "sim/witness/witness.hpp"
#include "workloads/job/check/experiment_file.hpp"
#include "workloads/job/check/run_description.hpp"
#include "workloads/job/plan/job_document.hpp"
#include "workloads/job/plan/machines_of_job.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/membership/generations/generations.hpp"
#include "workloads/membership/generations/simulated_generations.hpp"
#include "workloads/trace/job_nodes.hpp"

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
template <class Action>
auto or_clear(const std::string& out, const Action& action) {
  try {
    return action();
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
  return or_clear(out, [&] { return sim::simulate_job(job, setting); });
}

/// One generation after the other.
sim::JobRun simulate_generations(Job& job, const sim::JobWorldSetting& setting,
                                 const SimulateOptions& options, const std::string& out) {
  begin_generations(job);
  if (job.real_math()) prepare_learner();
  ProgressBar bar("simulate " + job.spec().experiment.name);
  GenerationSimulator simulator;
  simulator.simulate = [&](std::optional<Seconds> until) {
    sim::JobWorldSetting one = setting;
    one.until = until;
    // The network between the workers that this generation has.
    if (const Generation& present = *job.generation(); !present.hosts.empty())
      one.network = network_of_workers(job.spec().experiment);
    sim::JobRun run = simulate_watched(job, std::move(one), options, out, nullptr);
    return SimulatedRun{.journal = std::move(run.journal),
                        .makespan = run.makespan,
                        .physics = std::move(run.physics),
                        .warnings = std::move(run.warnings),
                        .is_cut = run.is_cut};
  };
  simulator.apart = [&out](const std::function<void()>& body, const std::string& what) {
    run_apart(body, what, out + "/generation.log");
  };
  simulator.progress = [&bar](double fraction) { bar.update(fraction); };
  simulator.notify = print_note;
  SimulatedGenerations generations(job, out, std::move(simulator));
  const auto result =
      or_clear(out, [&] { return launch_generations(job, out, generations, network_of_generations()); });
  if (result.end != GenerationResult::End::success) throw WorldError(result.message);
  remove_generation_files(job, out);
  SimulatedRun run = generations.take_run();
  return {.journal = std::move(run.journal),
          .makespan = run.makespan,
          .physics = std::move(run.physics),
          .warnings = std::move(run.warnings)};
}

}  // namespace

std::string world_of(const SimulateOptions& options) {
  return options.fidelity == "smpi" ? "smpi" : "simulated";
}

RunInfo describe_simulation(const Job& job, const sim::JobRun& run, const SimulateOptions& options) {
  RunInfo info = describe_run(job, world_of(options));
  info.physics = run.physics;
  info.physics["fidelity"] = options.fidelity;
  if (nlohmann::json steps = describe_fitted_steps(job); !steps.empty())
    info.physics["fitted_steps"] = std::move(steps);
  info.warnings.insert(info.warnings.end(), run.warnings.begin(), run.warnings.end());
  info.repetition = options.repetition;
  info.ensemble = options.ensemble;
  info.command = command_line();
  info.started = timestamp();
  return info;
}

Simulated simulate_job(LoadedJob loaded, const SimulateOptions& options, const std::string& out) {
  if (options.fidelity == priced_fidelity) return simulate_priced(std::move(loaded), options, out);
  // Building the job first finds bad input before anything is written.
  sim::JobWorldSetting setting{.network = network_of_workers(loaded.experiment),
                               .repetition = options.repetition,
                               .operations = options.operations || !options.chakra.empty(),
                               .decisions = options.decisions,
                               .requests = options.requests};
  if (options.fidelity == "smpi") setting.simulator = witness::simulate;
  Job job = make_job(std::move(loaded), out, setting.network);
  sim::check_profile(job);
  sim::check_platform(job);
  resume_if_asked(job, options);
  record_losses_if_asked(job, options);
  if (!options.chakra.empty()) trace::check_chakra(job, options.chakra, options.force);
  const bool has_departures = has_drawn_generations(job);
  if (has_departures && options.fidelity == "smpi")
    throw ConfigError(
        "--fidelity smpi: expected recovery.mode in-place and no tandem:lifetime of servers' hosts, or "
        "transience.lifetime never: the witness does not start jobs again");
  if (job.exchange().cancels_steps() && options.fidelity == "smpi")
    throw ConfigError(
        "--fidelity smpi: expected sync.options.cancel false: the witness cannot cancel a receive");
  const WriteLock lock = create_result_directory(out, options.force);
  if (options.keep) write_document(out + "/job.json", job);
  print_job(job);
  warn_of_stale_profile(job);
  sim::JobRun run;
  if (has_departures) {
    run = simulate_generations(job, setting, options, out);
  } else {
    ProgressBar bar("simulate " + job.spec().experiment.name);
    run = simulate_watched(job, std::move(setting), options, out, &bar);
  }

  for (const auto& warning : run.warnings) print_warning(warning);
  Simulated simulated{.info = describe_simulation(job, run, options),
                      .journal = std::move(run.journal),
                      .makespan = run.makespan};
  if (!options.chakra.empty()) {
    or_clear(out, [&] { trace::write_chakra(options.chakra, job, simulated.journal); });
    if (!options.operations) simulated.journal.operations.clear();
  }
  const RunInfo& info = simulated.info;
  if (options.keep)
    write_results(out, info, simulated.journal, simulated.makespan, options.trace);
  else
    std::filesystem::remove_all(out);
  return simulated;
}

}  // namespace tandem::cli
