#include "cli/studies/study_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <set>
#include <utility>

#include "cli/jobs/ensemble.hpp"
#include "cli/jobs/priced_jobs.hpp"
#include "cli/jobs/simulated_jobs.hpp"
#include "cli/jobs/simulation.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/subcommand_process.hpp"
#include "cli/studies/stall_search.hpp"
#include "cli/studies/study_results.hpp"
#include "cli/studies/suite_input.hpp"
#include "policies/vocabulary/check.hpp"
#include "validation/campaign/plan.hpp"
#include "validation/campaign/sweep.hpp"
#include "validation/compare/attribution.hpp"
#include "validation/report/several_jobs.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/records/jobs_summary.hpp"
#include "workloads/records/summary.hpp"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
using validation::SuiteConfiguration;

/// Those that take longest first, so that the last ones end together.
void sort_by_cost(std::vector<std::size_t>& chosen, const validation::Suite& suite) {
  std::ranges::stable_sort(chosen, [&](std::size_t a, std::size_t b) {
    return validation::expected_cost(suite.configurations[a]) >
           validation::expected_cost(suite.configurations[b]);
  });
}

/// The progress of all configurations, read from the logs of the running ones.
class StudyProgress {
 public:
  StudyProgress(const std::string& name, std::size_t count)
      : bar_("study " + name), count_(static_cast<double>(count)) {}

  void started(const std::string& log) { running_.insert(log); }
  void ended(const std::string& log) {
    running_.erase(log);
    ++ended_;
  }
  void show() {
    if (Clock::now() < next_) return;
    next_ = Clock::now() + std::chrono::seconds(1);
    double done = ended_;
    for (const auto& log : running_) done += logged_progress(log);
    bar_.update(done / count_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  ProgressBar bar_;
  double count_;
  double ended_ = 0;
  std::set<std::string> running_;
  Clock::time_point next_ = Clock::now();
};

/// `result`: of one job, or of all. `warned`: that with the warnings.
void add_least_capacity(FoundCapacity found, const validation::StudySection& study, auto& result,
                        validation::StudyResult& warned) {
  if (!study.stall) return;
  result.least_capacity.emplace(std::move(found.least));
  if (!found.warning.empty()) warned.warnings.push_back(validation::first_lines(found.warning));
}

}  // namespace

validation::StudyConfiguration names_of(const validation::SuiteEntry& entry) {
  return {.name = entry.name,
          .group = entry.group,
          .algorithm = entry.algorithm,
          .coordinates = entry.coordinates};
}

validation::StudyConfiguration names_of(const SuiteConfiguration& configuration) {
  return {.name = configuration.name,
          .group = configuration.group,
          .algorithm = configuration.algorithm,
          .coordinates = configuration.coordinates};
}

std::vector<std::string> words_of(const validation::Suite& suite, const SuiteConfiguration& configuration,
                                  const std::string& fidelity) {
  auto words = words_for("simulate", configuration, configuration.settings);
  if (fidelity != SimulateOptions().fidelity) words.insert(words.end(), {"--fidelity", fidelity});
  if (suite.study.operations && fidelity != priced_fidelity) words.emplace_back("--operations");
  if (!configuration.jobs.empty() && !suite.study.alone) words.emplace_back("--together-only");
  return words;
}

StudyRun::StudyRun(const validation::Suite& suite, PlatformCache& platforms, std::string out, bool results,
                   std::string fidelity)
    : suite_(suite),
      platforms_(platforms),
      out_(std::move(out)),
      results_(results),
      fidelity_(std::move(fidelity)) {}

std::string StudyRun::directory_of(std::size_t i) const {
  return out_ + '/' + suite_.configurations[i].folder;
}

void StudyRun::simulate(std::vector<std::size_t> chosen, int jobs) {
  sort_by_cost(chosen, suite_);
  const auto is_real = [](const Experiment* experiment) {
    return experiment->workload.math == Experiment::Workload::Math::real;
  };
  if (std::ranges::any_of(chosen, [&](std::size_t i) {
        return std::ranges::any_of(suite_.configurations[i].experiments(), is_real);
      }))
    prepare_learner();
  std::vector<const Experiment*> single;
  for (const std::size_t i : chosen)
    if (suite_.configurations[i].jobs.empty())
      for (const Experiment* experiment : suite_.configurations[i].experiments())
        single.push_back(experiment);
  if (fidelity_ != priced_fidelity) announce_ensembles(single);
  const auto log_of = [&](std::size_t index) { return directory_of(chosen[index]) + ".log"; };
  StudyProgress progress(suite_.name, chosen.size());
  ProcessQueue queue{.count = chosen.size(), .start = {}, .ended = {}};
  queue.start = [&](std::size_t index, const sigset_t& blocked_signals) {
    fs::create_directories(fs::path(log_of(index)).parent_path());
    const Descriptor log = create_file(log_of(index));
    progress.started(log_of(index));
    return start_function([&] { return simulate_here(chosen[index]); },
                          {.output = log.number(), .own_group = true, .blocked_signals = blocked_signals});
  };
  queue.ended = [&](std::size_t index, const ExitStatus& status, std::exception_ptr error) {
    progress.ended(log_of(index));
    progress.show();
    const auto& name = suite_.configurations[chosen[index]].name;
    if (!error) error = error_of(name, log_of(index), status);
    if (error)
      keep_failure(chosen[index], error);
    else
      fs::remove(log_of(index));
  };
  queue.waiting = [&] { progress.show(); };
  run_processes(queue, jobs);
}

SimulateOptions StudyRun::options_of(const SuiteConfiguration& configuration) const {
  SimulateOptions options;
  options.experiment_file = configuration.experiment_file;
  options.settings = configuration.settings;
  options.variant = configuration.variant;
  options.fidelity = fidelity_;
  options.force = true;
  // A job in closed form has none.
  options.operations = suite_.study.operations && fidelity_ != priced_fidelity;
  options.yes = true;
  options.keep = results_;
  // Configurations already run concurrently.
  options.parallel = 1;
  return options;
}

StudyEntry StudyRun::simulate_one(std::size_t i, const SimulateOptions& options) const {
  const SuiteConfiguration& configuration = suite_.configurations[i];
  const LoadedJob loaded = load_job(options, platforms_);
  FoundCapacity found;
  // Before this process simulates.
  if (suite_.study.stall) found = least_capacity(loaded, options, directory_of(i), *suite_.study.stall);
  const Simulated simulated = simulate_with_ensemble(loaded, options, directory_of(i), 1);
  auto result = validation::study_result(names_of(configuration), simulated.summary(), simulated.info,
                                         validation::binding(simulated.info, simulated.journal));
  result.command = command_of(words_of(suite_, configuration, fidelity_));
  add_least_capacity(std::move(found), suite_.study, result, result);
  return {.results = {std::move(result)}};
}

StudyEntry StudyRun::simulate_several(std::size_t i, const LoadedJobs& several,
                                      SimulateOptions options) const {
  const SuiteConfiguration& configuration = suite_.configurations[i];
  const std::string directory = directory_of(i);
  FoundCapacity found;
  if (suite_.study.stall) found = least_capacity(several, options, directory, *suite_.study.stall);
  options.out = directory;
  options.keep = true;
  options.together_only = !suite_.study.alone;
  simulate_jobs(several, options);
  const JobsSummary all = read_jobs_summary(directory);
  StudyEntry entry;
  for (const auto& own : configuration.entries()) {
    const std::string folder = directory_of_job(directory, own.job);
    const Results read = read_results(folder);
    auto& result = entry.results.emplace_back(validation::study_job(
        names_of(own), own.job, all, read.summary, read.info, validation::binding(read.info, read.journal)));
    result.command = command_of(words_of(suite_, configuration, fidelity_));
  }
  entry.several = validation::study_jobs(all);
  add_least_capacity(std::move(found), suite_.study, *entry.several, entry.results.front());
  if (!results_) fs::remove_all(directory);
  return entry;
}

/// In a copy of this process. However the copy ends, its entry is complete or missing. Returns the exit
/// code.
int StudyRun::simulate_here(std::size_t i) const {
  begin_output({});
  const int code = exit_code_of([&] {
    const SuiteConfiguration& configuration = suite_.configurations[i];
    const SimulateOptions options = options_of(configuration);
    fs::create_directories(directory_of(i));
    StudyEntry entry;
    if (configuration.jobs.empty())
      entry = simulate_one(i, options);
    else
      entry = simulate_several(i, std::get<LoadedJobs>(load_jobs(options, platforms_)), options);
    write_entry(out_, configuration, entry);
    return exit_success;
  });
  std::fflush(stdout);
  std::fflush(stderr);
  return code;
}

void StudyRun::keep_failure(std::size_t i, const std::exception_ptr& error) {
  const SuiteConfiguration& configuration = suite_.configurations[i];
  StudyEntry entry;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    if (!first_error_) first_error_ = error;
    ++failures_;
    entry.failure = validation::first_lines(known.what());
    print_error(configuration.name + ": " + entry.failure);
  }
  write_entry(out_, configuration, entry);
}

}  // namespace tandem::cli
