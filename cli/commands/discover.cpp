// `tandem discover`: measures the machines at hand and the network between them, and writes a platform file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands/commands.hpp"
#include "cli/machines/cluster_use.hpp"
#include "cli/machines/machine_use.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/progress.hpp"
#include "platforms/discovered.hpp"
#include "platforms/load.hpp"
#include "platforms/machine_topology.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "runtime/launcher/launcher.hpp"
#include "runtime/machines/slurm_topology.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/records/write_lock.hpp"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct DiscoverOptions {
  MachineOptions machines;
  std::string cluster;
  std::string out = "machines.xml";
  std::string disk = "/var/tmp";
  std::string slurm_topology;
  std::vector<std::string> nccl_topologies;  ///< FILE or MACHINE=FILE
  std::vector<std::string> hwloc_topologies;
  int batch = 32;
  bool force = false;
};

/// The ranks of the measurement, on the machines that the user named.
struct Discovery {
  explicit Discovery(const DiscoverOptions& options) : machines(options.machines, options.cluster.empty()) {
    if (!options.cluster.empty()) {
      if (machines.is_used())
        throw ConfigError(
            "--cluster: expected no --hosts, --hostfile or --slurm, because the machines are "
            "those of the cluster");
      cluster.emplace(options.cluster, true);
      names = cluster->cluster().wiring.hosts;
      std::vector<std::string> twice = names;
      twice.insert(twice.end(), names.begin(), names.end());
      launch.ranks = static_cast<int>(twice.size());
      cluster->put_ranks(launch, twice);
    } else if (machines.is_used()) {
      names = machines.put_on_each(launch, 2);
    } else {
      names = {tandem::machines::this_machine_name()};
      launch.ranks = 2;
    }
  }

  MachineUse machines;
  std::optional<ClusterUse> cluster;
  std::vector<std::string> names;
  LaunchSetting launch;
};

/// The switches of Slurm's file with machines of the measurement, as groups of their numbers.
json known_groups(const DiscoverOptions& options, const std::vector<std::string>& names) {
  json groups = json::array();
  if (options.slurm_topology.empty()) return groups;
  std::vector<int> number_of;  // of the switches that remain; -1: it has no machine
  std::size_t placed = 0;
  for (const auto& one : machines::read_slurm_topology(options.slurm_topology)) {
    std::vector<int> members, below;
    for (const auto& node : one.nodes)
      if (const auto known = std::ranges::find(names, node); known != names.end())
        members.push_back(static_cast<int>(known - names.begin()));
    for (const int child : one.switches)
      if (const int number = number_of[static_cast<std::size_t>(child)]; number >= 0) below.push_back(number);
    placed += members.size();
    const bool is_used = !members.empty() || !below.empty();
    number_of.push_back(is_used ? static_cast<int>(groups.size()) : -1);
    if (is_used) groups.push_back({{"name", one.name}, {"machines", members}, {"groups", below}});
  }
  if (placed == 0)
    throw ConfigError(fmt::format("{}: expected nodes that are machines here ({}), found none of them",
                                  options.slurm_topology, fmt::join(names, ", ")));
  return groups;
}

/// The findings of the ranks. Errors: those of the ranks were printed, and become the exit code.
std::optional<json> measure_machines(Discovery& discovery, const DiscoverOptions& options, int& exit_code) {
  const json request = {{"machines", discovery.names.size()},
                        {"disk", options.disk},
                        {"batch", options.batch},
                        {"known", known_groups(options, discovery.names)}};
  discovery.launch.program = {sibling_program("tandem-rank"), request.dump(), "--discover"};
  if (discovery.machines.is_used()) {
    discovery.machines.stage(discovery.launch);
    discovery.machines.check(discovery.launch, options.out);
  }
  ProgressBar bar(fmt::format("discover {} machines", discovery.names.size()));
  std::optional<json> found;
  LaunchEvents events;
  events.error = print_line;
  events.status = [&](const std::string& text) { bar.status(text); };
  events.progress = [&](double fraction) { bar.update(fraction); };
  events.output = [&](const std::string& line) {
    if (line.starts_with("{\"machines\"")) found = json::parse(line);
  };
  auto guards = discovery.machines.guard(discovery.launch);
  const LaunchResult result = launch_guarded(discovery.launch, events, std::move(guards));
  exit_code = result.exit_code;
  if (result.exit_code != exit_success)
    print_error(result.message);
  else if (!found)
    throw WorldError("the ranks ended without a result");
  return found;
}

platforms::Host described_host(const std::string& name, const json& machine) {
  platforms::Host host;
  host.name = name;
  host.speed = FlopsPerSecond(machine.at("core_speed").get<double>());
  host.cores = machine.at("cores").get<int>();
  host.disks = {{"disk", BytesPerSecond(machine.at("disk_read").get<double>()),
                 BytesPerSecond(machine.at("disk_write").get<double>())}};
  host.properties["tandem:memory_rate"] = fmt::format("{:.0f}", machine.at("memory_rate").get<double>());
  if (const auto bytes = machine.at("memory").get<std::int64_t>(); bytes > 0)
    host.properties["memory"] = to_text(Bytes(bytes));
  if (const auto processor = machine.at("processor").get<std::string>(); !processor.empty())
    host.properties["tandem:processor"] = processor;
  std::string gpus;
  for (const auto& gpu : machine.at("gpus"))
    gpus += (gpus.empty() ? "" : ", ") + gpu.at("name").get<std::string>();
  if (!gpus.empty()) host.properties["tandem:gpus"] = gpus;
  return host;
}

using Topologies = std::map<std::string, std::vector<platforms::MachineTopology>>;  ///< by machine

/// FILE is of all machines, MACHINE=FILE of one.
void read_topologies(const std::vector<std::string>& given, const std::vector<std::string>& names,
                     platforms::MachineTopology (*read)(const std::string&), Topologies& topologies) {
  for (const auto& text : given) {
    const auto sign = text.find('=');
    const bool is_of_all = sign == std::string::npos;
    const std::string machine = is_of_all ? "" : text.substr(0, sign);
    const auto topology = read(is_of_all ? text : text.substr(sign + 1));
    if (!is_of_all && std::ranges::find(names, machine) == names.end())
      throw ConfigError(fmt::format("{}: expected one of the machines ({}), found '{}'", text,
                                    fmt::join(names, ", "), machine));
    for (const auto& name : names)
      if (is_of_all || name == machine) topologies[name].push_back(topology);
  }
}

Topologies topologies_of(const DiscoverOptions& options, const std::vector<std::string>& names) {
  Topologies topologies;
  read_topologies(options.hwloc_topologies, names, platforms::read_hwloc_topology, topologies);
  read_topologies(options.nccl_topologies, names, platforms::read_nccl_topology, topologies);
  return topologies;
}

std::string machine_rows(const std::vector<platforms::Host>& hosts, const discovery::Tree& tree) {
  std::size_t width = 7;
  for (const auto& host : hosts) width = std::max(width, host.name.size());
  std::string text =
      fmt::format("{:<{}}  cores  Gflop/s per core  disk read, write MB/s    cable up, down MB/s  latency\n",
                  "machine", width);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto& host = hosts[i];
    const auto& cable = tree.nodes[i].cable;
    text += fmt::format("{:<{}}  {:>5}  {:>16.2f}  {:>10.0f} {:>10.0f}  ", host.name, width, host.cores,
                        host.speed.count() * 1e-9, host.disks[0].read_rate.count() * 1e-6,
                        host.disks[0].write_rate.count() * 1e-6);
    if (hosts.size() > 1)
      text += fmt::format("{:>11.2f} {:>10.2f}  {:>6.1f} us{}", cable.up * 1e-6, cable.down * 1e-6,
                          cable.latency_s * 1e6, cable.is_shared ? "  shared by both directions" : "");
    text += '\n';
  }
  return text;
}

std::string group_rows(const std::vector<platforms::Host>& hosts, const discovery::Tree& tree) {
  std::string text;
  for (std::size_t node = hosts.size(); node < tree.nodes.size(); ++node) {
    std::string members;
    for (const int machine : tree.machines_below(static_cast<int>(node)))
      members += (members.empty() ? "" : ", ") + hosts[static_cast<std::size_t>(machine)].name;
    const auto& own = tree.nodes[node];
    text +=
        fmt::format("{} share a link of {:.2f} MB/s up, {:.2f} MB/s down{}\n", members, own.cable.up * 1e-6,
                    own.cable.down * 1e-6, own.cable.limits ? "" : " or more (it did not limit them)");
  }
  if (text.empty() && hosts.size() > 3) text = "no link is shared by several machines\n";
  return text;
}

void discover(const DiscoverOptions& options, int& exit_code) {
  if (fs::exists(options.out) && !options.force)
    throw ConfigError(options.out + " already exists; choose another name with --out, or add --force");
  const WriteLock lock(options.out);
  Discovery discovery(options);
  const Topologies topologies = topologies_of(options, discovery.names);
  const auto found = measure_machines(discovery, options, exit_code);
  if (!found) return;
  const auto tree = discovery::tree_from_json(found->at("tree"));
  std::vector<platforms::Host> hosts;
  for (std::size_t i = 0; i < discovery.names.size(); ++i)
    hosts.push_back(described_host(discovery.names[i], found->at("machines").at(i)));
  for (auto& host : hosts)
    if (const auto known = topologies.find(host.name); known != topologies.end())
      for (const auto& topology : known->second) platforms::add_topology(topology, host);
  const std::string comment = fmt::format(
      "{} as measured by tandem discover: the speed of a core on training work (LeNet, batches of {}), "
      "disks in {}, and the links that flows between the machines showed.",
      hosts.size() == 1 ? "One machine" : fmt::format("{} machines", hosts.size()), options.batch,
      options.disk);
  write_whole_file(options.out, platforms::discovered_xml(comment, hosts, tree), platforms::load_platform);
  fmt::print("{}{}\n{}\n", machine_rows(hosts, tree), group_rows(hosts, tree), options.out);
  json document = *found;
  document["platform"] = options.out;
  document["names"] = discovery.names;
  print_document(document);
}

}  // namespace

void add_discover(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "discover", "Measure machines and the network between them, and write a platform file");
  const auto options = std::make_shared<DiscoverOptions>();
  add_machine_options(*command, options->machines, false);
  command->add_option("--cluster", options->cluster,
                      "The machines of the emulated cluster of this platform file");
  command->add_option("--out", options->out, "Platform file to write [machines.xml]");
  command->add_option("--slurm-topology", options->slurm_topology,
                      "Slurm's topology.conf or topology.yaml: its switches are the groups, their links are "
                      "measured [groups are found by measurement]");
  one_at_a_time(command->add_option("--nccl-topology", options->nccl_topologies,
                                    "[MACHINE=]FILE: what NCCL wrote about the inside of a machine, or of "
                                    "all (NCCL_TOPO_DUMP_FILE): GPUs, PCIe, "
                                    "NVLink, network adapters; may be repeated"));
  one_at_a_time(
      command->add_option("--hwloc", options->hwloc_topologies,
                          "[MACHINE=]FILE: the same by hwloc (lstopo FILE.xml): cores, memory, processor, "
                          "GPUs, network adapters; may be repeated"));
  command->add_option("--disk", options->disk, "Folder whose disk is measured on each machine [/var/tmp]");
  command->add_option("--batch", options->batch, "Samples of the training steps that measure processors [32]")
      ->check(CLI::Range(1, 4096));
  command->add_flag("--force", options->force, "Replace an existing file");
  command->footer(
      "Without machines, this one. Measures processors, disks, messages within each machine, single flows\n"
      "between machines, and groups of flows, which show links that several machines share. Other programs\n"
      "should not use the network meanwhile. Examples:\n"
      "  tandem discover --hosts a,b,c --out mine.xml\n"
      "  tandem discover --hostfile hosts.txt --interface 10.0.0.0/24 --out mine.xml\n"
      "  tandem discover --hosts a,b --hwloc a=a.xml --nccl-topology b=nccl_b.xml --out mine.xml\n"
      "  tandem discover --cluster platforms/two_racks.xml --out found.xml");
  command->callback([options, &exit_code] { discover(*options, exit_code); });
}

}  // namespace tandem::cli
