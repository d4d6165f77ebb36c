// Common parts of scripts for Slurm's sbatch.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tandem::cli {

struct SbatchOptions {
  bool is_wanted = false;
  std::string time = "01:00:00";
  std::string memory;  ///< of a node; empty: the site's default, as for the other options
  std::string partition;
};

/// Adds --print-sbatch ("Print a script for sbatch that WHAT"), --time, --mem and --partition. `usual_time`:
/// the limit without --time, in words.
void add_sbatch_options(CLI::App& command, SbatchOptions& options, const std::string& what,
                        const std::string& group, const std::string& usual_time = "01:00:00");

/// The first lines of the script; `more`: other options of sbatch, such as "--nodes=3".
/// Errors: ConfigError for values that are no words of such a script.
std::string sbatch_head(const std::string& name, const SbatchOptions& options,
                        const std::vector<std::string>& more);

/// Prints the script.
void print_sbatch(const std::string& script);

}  // namespace tandem::cli
