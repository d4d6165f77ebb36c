// Shared by validate and study: reads and checks a suite, or an experiment with its variants.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/shared/job_options.hpp"
#include "validation/campaign/suite.hpp"

namespace tandem::cli {

struct SuiteInputOptions {
  std::vector<std::string> only;
  bool list = false;
};

/// Adds --only and --list.
void add_suite_options(CLI::App& command, SuiteInputOptions& options);

/// The requested configurations, checked against their platforms. Errors: ConfigError.
validation::Suite read_suite(const JobOptions& job, const SuiteInputOptions& options);
/// Also keeps their platforms.
validation::Suite read_suite(const JobOptions& job, const SuiteInputOptions& options,
                             PlatformCache& platforms);

/// Prints the names of the configurations.
void print_names(const validation::Suite& suite);

/// Prints their names, each with the digest of its keys.
void print_contents(const validation::Suite& suite);

/// The words of `tandem WHAT` for a configuration: experiment, variant and settings.
std::vector<std::string> words_for(const std::string& what,
                                   const validation::SuiteConfiguration& configuration,
                                   const std::vector<std::string>& settings);

/// "tandem simulate ...", quoted for a shell.
std::string command_of(const std::vector<std::string>& words);

}  // namespace tandem::cli
