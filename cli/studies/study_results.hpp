// The folder of a study: study.json describes the study, and NAME.json holds the result of a configuration.
// Each file appears atomically, so several processes can work in one folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/shared/job_options.hpp"
#include "cli/studies/suite_input.hpp"
#include "validation/campaign/suite.hpp"
#include "validation/report/study.hpp"

namespace tandem::cli {

/// The request of a study.
struct StudyManifest {
  std::string experiment_file;
  std::string variant;
  std::vector<std::string> settings;
  std::vector<std::string> only;
  std::string id;                      ///< study_id()
  std::string fidelity = "transfers";  ///< of its simulations
};
/// Errors: WorldError.
void write_manifest(const std::string& folder, const StudyManifest& manifest);
/// None: the folder is not that of a study. Errors: ConfigError for a damaged file.
std::optional<StudyManifest> read_manifest(const std::string& folder);
/// "tandem study lab.yaml --set ...", without options of where and how it was simulated.
std::string study_command(const StudyManifest& manifest);

/// The result of a configuration for the study's report, or the reason why it failed.
struct StudyEntry {
  std::vector<validation::StudyResult> results{};  ///< of each job
  std::optional<validation::StudyJobs> several{};  ///< of all jobs; none: there is one
  std::string failure{};                           ///< empty: none
};
/// Errors: WorldError.
void write_entry(const std::string& folder, const validation::SuiteConfiguration& configuration,
                 const StudyEntry& entry);
/// None: there is no result, or its keys differ. Errors: ConfigError for a damaged file.
std::optional<StudyEntry> read_entry(const std::string& folder,
                                     const validation::SuiteConfiguration& configuration);

}  // namespace tandem::cli
