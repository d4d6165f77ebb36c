// Simulates configurations of a study, several at the same time. Each runs in a copy of this process, so
// that program, libraries and platform are loaded once for all.
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <vector>

#include "cli/jobs/simulation.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/studies/study_results.hpp"
#include "validation/campaign/suite.hpp"
#include "validation/report/study.hpp"

namespace tandem::cli {

/// The names of a configuration, or of one of its jobs, in the report.
validation::StudyConfiguration names_of(const validation::SuiteConfiguration& configuration);
validation::StudyConfiguration names_of(const validation::SuiteEntry& entry);

/// The words of its simulation, without the options for its results.
std::vector<std::string> words_of(const validation::Suite& suite,
                                  const validation::SuiteConfiguration& configuration,
                                  const std::string& fidelity);

class StudyRun {
 public:
  /// Results go into the folder `out`. `results`: a result directory for each configuration too. Pre:
  /// `platforms` holds those of the suite, and both outlive this. `fidelity`: of the simulations.
  StudyRun(const validation::Suite& suite, PlatformCache& platforms, std::string out, bool results,
           std::string fidelity);

  /// Simulates the configurations, up to `jobs` concurrently. The entry of each (study_results.hpp) is
  /// written as soon as it ends. Errors: Interrupted; WorldError when an entry cannot be written.
  void simulate(std::vector<std::size_t> chosen, int jobs);

  std::size_t failures() const { return failures_; }
  /// The error of the first configuration that failed; null: none.
  std::exception_ptr first_error() const { return first_error_; }

 private:
  std::string directory_of(std::size_t i) const;
  int simulate_here(std::size_t i) const;
  SimulateOptions options_of(const validation::SuiteConfiguration& configuration) const;
  StudyEntry simulate_one(std::size_t i, const SimulateOptions& options) const;
  StudyEntry simulate_several(std::size_t i, const LoadedJobs& several, SimulateOptions options) const;
  void keep_failure(std::size_t i, const std::exception_ptr& error);

  const validation::Suite& suite_;
  PlatformCache& platforms_;
  std::string out_;
  bool results_;
  std::string fidelity_;
  std::exception_ptr first_error_;
  std::size_t failures_ = 0;
};

}  // namespace tandem::cli
