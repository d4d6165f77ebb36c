#include "cli/studies/study_sbatch.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "runtime/launcher/launcher.hpp"
#include "runtime/process/running_program.hpp"

namespace tandem::cli {

std::string study_script(const validation::Suite& suite, const StudyManifest& manifest,
                         const ArrayOptions& options, const std::string& out) {
  const std::string folder = shell_word(std::filesystem::absolute(out).lexically_normal().string());
  const auto count = static_cast<int>(suite.configurations.size());
  const int tasks = (count + options.chunk - 1) / options.chunk;
  const std::string program = shell_word(running_program().string());
  const std::string words = study_command(manifest).substr(std::string("tandem ").size());
  return sbatch_head(suite.name, options.sbatch,
                     {fmt::format("--array=0-{}", tasks - 1), "--ntasks=1",
                      fmt::format("--cpus-per-task={}", options.cpus)}) +
         fmt::format(
             "# {} configurations of {}. A task that is killed and started again, and `sbatch --array=I` of "
             "one\n"
             "# task, continue where they stopped. When all tasks have ended, the report is made by\n"
             "#   {} study merge {}\n"
             "set -eu\n"
             "exec {} {} --shard \"$SLURM_ARRAY_TASK_ID/{}\" --only-missing --jobs {} --out {}\n",
             count, suite.name, program, folder, program, words, tasks, options.cpus, folder);
}

}  // namespace tandem::cli
