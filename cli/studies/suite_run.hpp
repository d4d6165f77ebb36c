// Carries out a suite: calibrates, simulates and runs every configuration, each by its own command, which can
// be repeated by hand. When a configuration fails, the others continue.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "cli/machines/machine_use.hpp"
#include "validation/campaign/suite.hpp"
#include "validation/compare/bills.hpp"
#include "validation/compare/summary.hpp"
#include "validation/report/report.hpp"

namespace tandem::cli {

struct SuiteRunOptions {
  std::string out;
  std::string profile;           ///< an existing one for all configurations; empty: calibrate
  bool on_cluster = false;       ///< runs use the emulated clusters of the platforms
  MachineOptions machines = {};  ///< of a real cluster
  bool on_machines = false;      ///< there are real machines, by these options or in an allocation
  bool witness = false;          ///< simulates under SMPI too, except where data comes from storage
  bool alone = false;            ///< of several jobs, also simulates and runs each alone
  bool resume = false;           ///< keeps the finished tasks of an interrupted suite
  bool traces = false;           ///< one trace with simulation and measurement per configuration
};

struct SuiteResults {
  std::vector<validation::Compared> configurations;       ///< the entries of the suite's configurations
  std::vector<validation::ReportConfiguration> reported;  ///< one per entry
  std::vector<validation::ReportJobs> several_jobs;
  std::vector<validation::PaidRun> paid;  ///< runs of planned jobs that have a bill
  std::vector<std::string> commands;      ///< that were carried out
  std::vector<validation::ReportProfile> profiles;
  std::exception_ptr first_error;  ///< of a configuration that failed; null: none
};

/// Call it before anything is written. Refuses a given profile that cannot be read or may have been
/// calibrated with the runs, and several jobs that cannot be calibrated or run in this way. Errors:
/// ConfigError.
void check_before_running(const validation::Suite& suite, const SuiteRunOptions& options);
/// Errors: WorldError when a cluster cannot be made. An error in a configuration becomes its `failure`.
SuiteResults run_suite(const validation::Suite& suite, const SuiteRunOptions& options);

}  // namespace tandem::cli
