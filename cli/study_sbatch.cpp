#include "cli/study_sbatch.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "cli/output.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/launcher/launcher.hpp"
#include "runtime/process/running_program.hpp"

namespace tandem::cli {
namespace {

/// A value of a #SBATCH line, which no shell quotes.
void check_word(const std::string& option, const std::string& value) {
  if (value.find_first_of(" \t\n'\"#") != std::string::npos)
    throw ConfigError(option + ": expected a word as sbatch takes it, found '" + value + "'");
}

}  // namespace

void print_sbatch(const validation::Suite& suite, const StudyManifest& manifest, const SbatchOptions& options,
                  const std::string& out) {
  check_word("--time", options.time);
  check_word("--mem", options.memory);
  check_word("--partition", options.partition);
  const std::string folder = std::filesystem::absolute(out).lexically_normal().string();
  const auto count = static_cast<int>(suite.configurations.size());
  const int tasks = (count + options.chunk - 1) / options.chunk;
  const std::string program = shell_word(running_program().string());
  const std::string words = study_command(manifest).substr(std::string("tandem ").size());
  std::string script = fmt::format(
      "#!/bin/bash\n"
      "#SBATCH --job-name=tandem-study\n"
      "#SBATCH --array=0-{}\n"
      "#SBATCH --ntasks=1\n"
      "#SBATCH --cpus-per-task={}\n"
      "#SBATCH --time={}\n"
      "#SBATCH --mem={}\n",
      tasks - 1, options.cpus, options.time, options.memory);
  if (!options.partition.empty()) script += "#SBATCH --partition=" + options.partition + "\n";
  script += fmt::format(
      "#SBATCH --requeue\n"
      "# {} configurations of {}. A task that is killed and started again, and `sbatch --array=I` of one "
      "task, go on\n"
      "# where they stopped. When all tasks have ended, the report is made by\n"
      "#   {} study merge {}\n"
      "set -eu\n"
      "exec {} {} --shard \"$SLURM_ARRAY_TASK_ID/{}\" --only-missing --jobs {} --out {}\n",
      count, suite.name, program, shell_word(folder), program, words, tasks, options.cpus,
      shell_word(folder));
  fmt::print("{}", script);
  print_document({{"script", script}, {"tasks", tasks}});
}

}  // namespace tandem::cli
