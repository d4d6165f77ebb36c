#include "cli/run_sbatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "runtime/launcher/launcher.hpp"
#include "runtime/process/running_program.hpp"

namespace tandem::cli {
namespace {

/// The platform's hosts that have ranks, by their first rank, and how many each has.
std::vector<std::pair<std::string, int>> hosts_of(const Job& job) {
  std::vector<std::pair<std::string, int>> hosts;
  for (const auto& assignment : job.roster().assignments()) {
    const auto known = std::ranges::find(hosts, assignment.host, &std::pair<std::string, int>::first);
    if (known == hosts.end())
      hosts.emplace_back(assignment.host, 1);
    else
      ++known->second;
  }
  return hosts;
}

std::string run_words(const JobOptions& options) {
  std::string text =
      "run " + shell_word(std::filesystem::absolute(options.experiment_file).lexically_normal().string());
  if (!options.variant.empty()) text += " --variant " + shell_word(options.variant);
  for (const auto& setting : options.settings) text += " --set " + shell_word(setting);
  for (const auto& [given, name] : {std::pair(options.trace, " --trace"),
                                    {options.operations, " --operations"},
                                    {options.decisions, " --decisions"},
                                    {options.requests, " --requests"},
                                    {options.losses, " --losses"}})
    if (given) text += name;
  return text;
}

}  // namespace

std::string run_script(const Job& job, const JobOptions& job_options, const RunSbatchOptions& options,
                       const std::string& out) {
  if (!job_options.resume.empty())
    throw ConfigError(
        "--print-sbatch: expected a new job, found --resume; the script resumes by itself when it is "
        "requeued");
  const auto hosts = hosts_of(job);
  const int most = std::ranges::max(hosts, {}, &std::pair<std::string, int>::second).second;
  std::vector<std::string> more = {fmt::format("--nodes={}", hosts.size()),
                                   fmt::format("--ntasks-per-node={}", most)};
  if (options.gpus > 0) more.push_back(fmt::format("--gpus-per-node={}", options.gpus));
  more.emplace_back("--open-mode=append");
  if (options.grace_s > 0.0)
    more.push_back(fmt::format("--signal=B:TERM@{:.0f}", std::ceil(options.grace_s)));
  std::string maps;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    maps += fmt::format(" --map {}=\"${{nodes[{}]}}\"", shell_word(hosts[i].first), i);
  const std::string grace = options.grace_s > 0.0 ? fmt::format(" --grace {:g}", options.grace_s) : "";
  const std::string program = shell_word(running_program().string());
  return sbatch_head(job.spec().experiment.name, options.sbatch, more) +
         fmt::format(
             "# {} ranks on {} hosts of {}; each host is a node of the allocation.\n"
             "# When Slurm starts the job again, it resumes from its newest checkpoint (evaluate_every), "
             "into OUT.1, OUT.2 ...\n"
             "set -eu\n"
             "nodes=($(scontrol show hostnames \"$SLURM_JOB_NODELIST\"))\n"
             "maps=({})\n"
             "out={}\n"
             "restart=${{SLURM_RESTART_COUNT:-0}}\n"
             "for ((i = restart - 1; i >= 0; --i)); do\n"
             "  before=$out$([ $i = 0 ] || echo .$i)\n"
             "  if ls \"$before\"/checkpoints/*.pt > /dev/null 2>&1; then\n"
             "    exec {} run --resume \"$before\" --out \"$out.$restart\" --force{} \"${{maps[@]}}\"\n"
             "  fi\n"
             "done\n"
             "exec {} {} --out \"$out\" --force{} \"${{maps[@]}}\"\n",
             job.roster().size(), hosts.size(), job.spec().platform.file, maps.substr(maps.empty() ? 0 : 1),
             shell_word(std::filesystem::absolute(out).lexically_normal().string()), program, grace, program,
             run_words(job_options), grace);
}

}  // namespace tandem::cli
