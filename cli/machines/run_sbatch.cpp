#include "cli/machines/run_sbatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include "cli/machines/host_needs.hpp"
#include "platforms/description.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/text_parts.hpp"
#include "runtime/launcher/launcher.hpp"
#include "runtime/process/running_program.hpp"

namespace tandem::cli {
namespace {

/// A node for each host. Errors: ConfigError.
std::vector<machines::Mapped> deal_on_nodes(std::vector<machines::HostNeed> needs, const Job& job,
                                            const machines::Mapping& mapping,
                                            const RunSbatchOptions& options) {
  const bool uses_gpus =
      std::ranges::any_of(needs, [](const machines::HostNeed& need) { return need.gpu.has_value(); });
  if (uses_gpus && !options.gpus)
    throw ConfigError("--map auto: expected --gpus, the number of GPUs of a node, found none");
  if (!uses_gpus && !options.cpus)
    throw ConfigError("--map auto: expected --cpus, the number of cores of a node, found none");
  apply_mapping(needs, mapping.hosts);
  add_groups(needs, job.spec().platform.file);
  constexpr int any_number = 1'000'000;
  auto all = machines::deal_on_fewest(
      needs, {.machine = {}, .ranks = options.cpus.value_or(any_number), .gpus = options.gpus.value_or(0)});
  all.insert(all.end(), mapping.hosts.begin(), mapping.hosts.end());
  return all;
}

}  // namespace

std::vector<ScriptNode> nodes_of(const Job& job, const std::vector<std::string>& entries,
                                 const RunSbatchOptions& options) {
  const auto& platform = job.spec().platform;
  const auto mapping = machines::parse_mapping(entries);
  for (const auto& mapped : mapping.hosts) platform.host(mapped.host);  // refuses an unknown one
  auto needs = host_needs(job.spec().experiment, platform);
  // Such a job computes on processors.
  if (options.gpus == 0)
    for (auto& need : needs) need.gpu.reset();
  const auto all = mapping.is_auto ? deal_on_nodes(needs, job, mapping, options) : mapping.hosts;
  const auto addresses = addresses_of(platform);
  std::vector<ScriptNode> nodes;
  for (const auto& need : needs) {
    const auto mapped = std::ranges::find(all, need.host, &machines::Mapped::host);
    const auto address = addresses.find(need.host);
    const platforms::Host& host = platform.host(need.host);
    machines::Mapped own = mapped != all.end() ? *mapped
                           : address != addresses.end()
                               ? machines::Mapped{need.host, address->second}
                               : machines::Mapped{need.host, platforms::machine_of(host)};
    auto node = std::ranges::find(nodes, own.machine, &ScriptNode::name);
    if (node == nodes.end()) node = nodes.insert(node, {.name = own.machine});
    // Parts of one machine have a GPU each, though nobody has numbered them.
    const auto has = [&](const char* property) { return host.properties.contains(property); };
    if (mapped == all.end() && need.gpu && has("tandem:machine") && !has("tandem:gpu")) own.gpu = node->gpus;
    node->ranks += need.ranks;
    if (need.gpu) node->gpus = std::max(node->gpus, own.gpu.value_or(*need.gpu) + 1);
    node->hosts.push_back(own);
  }
  return nodes;
}

std::string map_lines(const std::vector<ScriptNode>& nodes) {
  std::string text;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto hosts = nodes[i].hosts;
    for (auto& host : hosts) host.machine = fmt::format("${{nodes[{}]}}", i);
    for (const auto& entry : machines::mapping_entries(hosts))
      text += fmt::format("\n  --map {}=\"{}\"", shell_word(entry.hosts), entry.machines);
  }
  return text;
}

std::string resuming_run(const std::string& program, const std::string& words, const std::string& more) {
  return fmt::format(
      "for ((i = restart - 1; i >= 0; --i)); do\n"
      "  before=$out$([ $i = 0 ] || echo .$i)\n"
      "  if ls \"$before\"/checkpoints/*.pt > /dev/null 2>&1; then\n"
      "    exec {0} run --resume \"$before\" --out \"$out.$restart\" --force{2} \"${{machines[@]}}\"\n"
      "  fi\n"
      "done\n"
      "exec {0} {1} --out \"$out\" --force{2} \"${{machines[@]}}\"\n",
      program, words, more);
}

namespace {

/// The lines of sbatch's options about nodes.
std::vector<std::string> node_options(const std::vector<ScriptNode>& nodes, const RunSbatchOptions& options) {
  const auto& most_gpus = *std::ranges::max_element(nodes, {}, &ScriptNode::gpus);
  const int gpus = options.gpus.value_or(most_gpus.gpus);
  if (most_gpus.gpus > gpus)
    throw ConfigError(fmt::format(
        "--gpus: expected at least {}, because the hosts of node '{}' use GPUs up to number {} (tandem:gpu, "
        "--map), found {}; raise it, or map hosts to more nodes",
        most_gpus.gpus, most_gpus.name, most_gpus.gpus - 1, gpus));
  std::vector<std::string> lines = {
      fmt::format("--nodes={}", nodes.size()),
      fmt::format("--ntasks-per-node={}", std::ranges::max(nodes, {}, &ScriptNode::ranks).ranks)};
  if (gpus > 0) lines.push_back(fmt::format("--gpus-per-node={}", gpus));
  return lines;
}

/// The elements of the array with the options about machines, for a node of the array `nodes` each.
std::string machine_words(const std::vector<ScriptNode>& nodes, MachineOptions machines) {
  if (!machines.hosts.empty() || !machines.hostfile.empty())
    throw ConfigError(
        "--print-sbatch: expected no --hosts and --hostfile, because the machines are the nodes of the "
        "allocation");
  machines.mapping.clear();
  // An allocation of one node is not taken otherwise.
  machines.slurm = true;
  std::string text;
  for (const auto& word : words_of(machines)) text += (text.empty() ? "" : " ") + shell_word(word);
  return text + map_lines(nodes);
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

std::string run_script(const Job& job, const JobOptions& job_options, const MachineOptions& machines,
                       const RunSbatchOptions& options, const std::string& out) {
  if (!job_options.resume.empty())
    throw ConfigError(
        "--print-sbatch: expected a new job, found --resume; the script resumes by itself when it is "
        "requeued");
  const auto nodes = nodes_of(job, machines.mapping, options);
  std::vector<std::string> more = node_options(nodes, options);
  more.emplace_back("--open-mode=append");
  if (options.grace_s > 0.0)
    more.push_back(fmt::format("--signal=B:TERM@{:.0f}", std::ceil(options.grace_s)));
  const std::string grace = options.grace_s > 0.0 ? fmt::format(" --grace {:g}", options.grace_s) : "";
  std::size_t hosts = 0;
  for (const auto& node : nodes) hosts += node.hosts.size();
  std::string remarks;
  for (const auto& remark : options.remarks) remarks += "# " + remark + '\n';
  return sbatch_head(job.spec().experiment.name, options.sbatch, more) + remarks +
         fmt::format(
             "# {} on {} of {}, on {}.\n"
             "# When Slurm starts the job again, it resumes from its newest checkpoint (evaluate_every), "
             "into OUT.1, OUT.2 ...\n"
             "set -eu\n"
             "nodes=($(scontrol show hostnames \"$SLURM_JOB_NODELIST\"))\n"
             "machines=({})\n"
             "out={}\n"
             "restart=${{SLURM_RESTART_COUNT:-0}}\n",
             counted(job.roster().size(), "rank"), counted(hosts, "host"), job.spec().platform.file,
             counted(nodes.size(), "node"), machine_words(nodes, machines),
             shell_word(std::filesystem::absolute(out).lexically_normal().string())) +
         resuming_run(shell_word(running_program().string()), run_words(job_options), grace);
}

}  // namespace tandem::cli
