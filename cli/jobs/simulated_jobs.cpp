#include "cli/jobs/simulated_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "cli/jobs/long_job.hpp"
#include "cli/jobs/several_jobs.hpp"
#include "cli/shared/job_text.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/subcommand_process.hpp"
#include "policies/vocabulary/check.hpp"
#include "sim/job_world.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;

/// In processes of their own: a process can simulate once.
void simulate_alone(const LoadedJobs& several, const SimulateOptions& options, const std::string& out) {
  ProgressBar bar(fmt::format("simulate {} (each job alone)", several.experiment.name));
  const fs::path logs = fs::path(out) / "alone";
  fs::create_directories(logs);
  const auto log_of = [&](std::size_t index) {
    return (logs / (several.jobs[index].name + ".log")).string();
  };
  std::exception_ptr first_error;
  std::size_t ended = 0;
  ProcessQueue queue{.count = several.jobs.size(), .start = {}, .ended = {}};
  queue.start = [&](std::size_t index, const sigset_t& blocked_signals) {
    const Descriptor log = create_file(log_of(index));
    const auto simulate = [&, index] {
      const auto& job = several.jobs[index];
      simulate_job(job.loaded, options, directory_of_job_alone(out, job.name));
    };
    return start_function([simulate] { return run_in_copy(simulate); },
                          {.output = log.number(), .own_group = true, .blocked_signals = blocked_signals});
  };
  queue.ended = [&](std::size_t index, const ExitStatus& status, std::exception_ptr error) {
    bar.update(static_cast<double>(++ended) / static_cast<double>(several.jobs.size()));
    if (!error)
      error = error_of(fmt::format("job '{}' alone", several.jobs[index].name), log_of(index), status);
    if (error && !first_error) first_error = error;
  };
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  run_processes(queue, options.parallel > 0 ? options.parallel : std::max(1, cores));
  if (first_error) std::rethrow_exception(first_error);
  for (std::size_t index = 0; index < several.jobs.size(); ++index) fs::remove(log_of(index));
}

std::vector<sim::JobRun> simulate_together(const LoadedJobs& several, std::vector<Job>& jobs,
                                           const SimulateOptions& options) {
  ProgressBar bar("simulate " + several.experiment.name);
  LongJobCheck check(std::chrono::duration<double>(options.longest_s));
  std::vector<double> fractions(jobs.size(), 0.0);
  std::vector<sim::SharingJob> sharing;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].stop().on_report([&, i](double fraction) {
      fractions[i] = fraction;
      const double all = std::reduce(fractions.begin(), fractions.end()) / static_cast<double>(jobs.size());
      bar.update(all);
      if (!options.yes) check.update(all);
    });
    sharing.push_back({.job = &jobs[i],
                       .name = several.jobs[i].name,
                       .start = several.jobs[i].start,
                       .network = network_of_workers(several.jobs[i].loaded.experiment)});
  }
  return sim::simulate_jobs(sharing, {.repetition = options.repetition,
                                      .operations = options.operations,
                                      .decisions = options.decisions,
                                      .requests = options.requests});
}

}  // namespace

void simulate_jobs(LoadedJobs several, const SimulateOptions& options) {
  if (options.fidelity != "transfers")
    throw ConfigError("--fidelity: expected transfers with several jobs (key jobs), found '" +
                      options.fidelity + "'");
  const std::string out = directory_of_jobs(several, options, "simulated");
  std::vector<Job> jobs = make_jobs(several, options, out);
  for (const Job& job : jobs) {
    sim::check_profile(job);
    sim::check_platform(job);
  }
  const auto locks = create_directories_of_jobs(several, out, options.force);
  print_jobs(jobs, ranks_of(several, jobs));
  std::vector<sim::JobRun> runs;
  bool are_alone_done = false;
  try {
    if (!options.together_only) simulate_alone(several, options, out);
    are_alone_done = !options.together_only;
    runs = simulate_together(several, jobs, options);
  } catch (const ConfigError& error) {
    if (!are_alone_done) {
      fs::remove_all(out);
      throw;
    }
    // As that all jobs together take too long.
    mark_failed(out, error.what());
    throw ConfigError(fmt::format(
        "{}\n  {} is marked incomplete, but the results of each job alone are complete: {}/alone/*",
        error.what(), out, out));
  }
  for (const auto& warning : runs.front().warnings) print_warning(warning);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    RunInfo info = describe_simulation(jobs[i], runs[i], options);
    auto& others = info.physics["other_jobs"] = nlohmann::json::array();
    for (const auto& other : several.jobs)
      if (other.name != several.jobs[i].name) others.push_back(other.name);
    write_results(directory_of_job(out, several.jobs[i].name), info, runs[i].journal, runs[i].makespan,
                  options.trace);
  }
  finish_jobs(several, jobs, out, "simulated");
}

}  // namespace tandem::cli
