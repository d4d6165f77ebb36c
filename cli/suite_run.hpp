// Carries out a suite: calibrates, simulates and runs every configuration, each as a command of its own that
// anyone can repeat, and goes on when one fails.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "validation/campaign/suite.hpp"
#include "validation/compare/summary.hpp"
#include "validation/report/report.hpp"

namespace tandem::cli {

struct SuiteRunOptions {
  std::string out;
  std::string profile;      ///< existing one, for all; empty: calibrate
  bool on_cluster = false;  ///< runs take place on the emulated clusters of the platforms
  bool witness = false;     ///< simulates under SMPI too, where there is no storage
  bool resume = false;      ///< keeps what an interrupted suite has finished
  bool traces = false;      ///< one trace with both worlds for each configuration
};

struct SuiteResults {
  std::vector<validation::Compared> configurations;
  std::vector<nlohmann::json> documents;  ///< of the report, one a configuration
  std::vector<std::string> commands;      ///< that were carried out
  std::vector<nlohmann::json> profiles;   ///< of the report
  std::exception_ptr first_error;         ///< of a configuration that failed; null: none
};

/// Before anything is written: refuses a given profile that cannot be read or may know the runs.
/// Errors: ConfigError.
void check_profile(const validation::Suite& suite, const SuiteRunOptions& options);
/// Errors: WorldError when a cluster cannot be made. What
/// fails in a configuration becomes its `failure`.
SuiteResults run_suite(const validation::Suite& suite, const SuiteRunOptions& options);

}  // namespace tandem::cli
