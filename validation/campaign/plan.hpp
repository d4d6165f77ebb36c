// The plan of a validation: the simulations and runs of a suite, their order, which are repeated, and how
// their results are compared. A given runner makes the results; plan.cpp starts no process.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "validation/campaign/suite.hpp"
#include "validation/compare/several_jobs.hpp"
#include "validation/compare/summary.hpp"

namespace tandem::validation {

/// One simulation or run of a configuration.
struct Task {
  enum class Kind { simulation, witness, run };
  std::size_t configuration;  ///< index in the suite
  Kind kind;
  int repetition;
  std::string out;  ///< result directory
};

/// All simulations in the order of the suite, then all runs in a random order (the suite's seed): a drift of
/// the machine's speed then favours no configuration. Configurations with modelled mathematics are simulated
/// three times with different noise. Those with real mathematics are simulated once, because their
/// simulation takes as long as the run. Those with an ensemble (replicas_of) are simulated once, because the
/// simulation is part of it. Several jobs have no ensemble. `witness`: simulates under SMPI too, except
/// where data comes from storage, and several jobs.
std::vector<Task> plan(const Suite& suite, const std::string& out, bool witness);

/// The configurations that share a calibration profile: those with the same mathematics, with real
/// mathematics also the same workload, and on emulated clusters the same platform. Errors: ConfigError when
/// the jobs of a configuration have real mathematics and different workloads.
struct CalibrationGroup {
  std::vector<std::size_t> configurations;
  /// The profile is calibrated with its settings. It belongs to the calibration set if the group has such a
  /// member.
  std::size_t representative;
};
std::vector<CalibrationGroup> plan_calibrations(const Suite& suite, bool on_cluster);

/// Functions that carry a plan out.
struct Runner {
  /// Makes the result directory of the task. Returns the share of CPU time that other programs used
  /// meanwhile. An exception makes the configuration fail.
  std::function<double(const Task&)> run;
  /// Whether the results exist already, from a campaign that was interrupted.
  std::function<bool(const Task&)> is_finished = [](const Task&) { return false; };
  std::function<Results(const Task&)> read = [](const Task& task) { return read_results(task.out); };
  /// For a task with several jobs: the results of one job, and the summary of all.
  std::function<Results(const Task&, const std::string& job)> read_job =
      [](const Task& task, const std::string& job) { return validation::read_job(task.out, job); };
  std::function<JobsSummary(const Task&)> read_all = [](const Task& task) {
    return read_jobs_summary(task.out);
  };
  /// Called after each comparison, while its records are still in memory. `entry`: position in the results.
  /// May throw as `run`.
  std::function<void(std::size_t entry, const VariantResults&, const Comparison&)> compared =
      [](std::size_t, const VariantResults&, const Comparison&) {};
  /// For a simulation whose results exist: how long a run of its configuration takes. 0: unknown.
  std::function<Seconds(const Task&)> foretold = [](const Task&) { return Seconds(0); };
  /// The clock by which tasks are timed.
  std::function<Seconds()> now = [] { return Seconds(0); };
  /// The share of the tasks that have ended, and the time that the others take; none: not known yet.
  std::function<void(double fraction, std::optional<Seconds> left)> progress = [](double,
                                                                                  std::optional<Seconds>) {};
  /// A message for people: a failure, or runs that were repeated.
  std::function<void(const std::string&)> message = [](const std::string&) {};
  /// A run during which other programs used a larger share of the CPU cores than this is disturbed.
  double disturbing_load = 0.1;
};

struct CampaignResults {
  /// The entries of all configurations (SuiteConfiguration::entries), in the order of the suite, with the
  /// reason of each that failed.
  std::vector<Compared> configurations;
  std::vector<SeveralJobs> several_jobs{};  ///< of the configurations with several jobs that did not fail
  std::exception_ptr first_error;           ///< null: none
  int repeated = 0;                         ///< number of disturbed runs that were repeated
};

/// Carries out all tasks, then compares each configuration. An error in a configuration becomes its
/// `failure`; the others continue. An error in one of several jobs makes all of them fail. A disturbed run
/// is repeated once, and the less disturbed of the two is kept. `failures`: of configurations that have
/// failed already, by index in the suite ("": not failed).
CampaignResults carry_out(const Suite& suite, const std::vector<Task>& tasks, const Runner& runner,
                          const std::vector<std::string>& failures = {});

/// The beginning of a long message.
std::string first_lines(const std::string& text);

}  // namespace tandem::validation
