#include "cli/machines/sbatch.hpp"

#include <fmt/format.h>

#include <cctype>
#include <nlohmann/json.hpp>

#include "cli/shared/output.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::cli {
namespace {

/// A value of a #SBATCH line, which no shell quotes.
void check_word(const std::string& option, const std::string& value) {
  if (value.find_first_of(" \t\n'\"#") != std::string::npos)
    throw ConfigError(option + ": expected a word as sbatch takes it, found '" + value + "'");
}

}  // namespace

void add_sbatch_options(CLI::App& command, SbatchOptions& options, const std::string& what,
                        const std::string& group, const std::string& usual_time) {
  CLI::Option* const script =
      command.add_flag("--print-sbatch", options.is_wanted, "Print a script for Slurm's sbatch that " + what)
          ->group(group);
  command
      .add_option("--time", options.time,
                  "Of the script: time limit, as Slurm writes it [" + usual_time + "]")
      ->needs(script)
      ->group(group);
  command
      .add_option("--mem", options.memory,
                  "Of the script: memory of a node, as Slurm writes it [the site's default]")
      ->needs(script)
      ->group(group);
  command.add_option("--partition", options.partition, "Of the script: partition [the site's default]")
      ->needs(script)
      ->group(group);
}

std::string sbatch_head(const std::string& name, const SbatchOptions& options,
                        const std::vector<std::string>& more) {
  check_word("--time", options.time);
  check_word("--mem", options.memory);
  check_word("--partition", options.partition);
  std::string plain = name;
  for (char& letter : plain)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '-';
  std::string head = fmt::format("#!/bin/bash\n#SBATCH --job-name=tandem-{}\n", plain);
  for (const auto& option : more) head += fmt::format("#SBATCH {}\n", option);
  head += fmt::format("#SBATCH --time={}\n", options.time);
  if (!options.memory.empty()) head += fmt::format("#SBATCH --mem={}\n", options.memory);
  if (!options.partition.empty()) head += fmt::format("#SBATCH --partition={}\n", options.partition);
  return head + "#SBATCH --requeue\n";
}

void print_sbatch(const std::string& script) {
  fmt::print("{}", script);
  print_document({{"script", script}});
}

}  // namespace tandem::cli
