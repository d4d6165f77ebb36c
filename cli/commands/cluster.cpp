// `tandem cluster`: creates, shows, measures and removes the emulated clusters of this machine.
#include "runtime/cluster/cluster.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/machines/cluster_check.hpp"
#include "cli/machines/cluster_use.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/shared/shipped.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::cli {
namespace {

struct ClusterOptions {
  std::string target;  ///< platform file, or name of a cluster
  std::string name;
  bool force = false;
  bool all = false;
};

/// A platform file means the cluster of its name.
std::string id_of(const std::string& target) {
  return target.ends_with(".xml") ? cluster::cluster_id(target) : target;
}

std::string new_id(const ClusterOptions& options) {
  if (options.name.empty()) return cluster::cluster_id(options.target);
  if (cluster::cluster_id(options.name) != options.name)
    throw ConfigError(
        fmt::format("cluster up: --name: expected letters, digits, - and _, found '{}'", options.name));
  return options.name;
}

void up(const ClusterOptions& options) {
  const std::string id = new_id(options);
  const auto made = cluster::bring_up(id, options.target, wiring_of(options.target), options.force);
  const auto plan = made.plan();
  fmt::print("cluster '{}' is up: {} hosts, {} link directions\n", id, plan.hosts.size(),
             plan.shapers.size());
  report_cluster(made);
}

void down(const ClusterOptions& options) {
  std::vector<std::string> ids;
  if (options.target.empty() && !options.all)
    throw ConfigError("cluster down: name a platform file or a cluster, or give --all");
  if (options.all)
    for (const auto& status : cluster::cluster_statuses()) ids.push_back(status.id);
  else
    ids.push_back(id_of(options.target));
  for (const auto& id : ids)
    fmt::print("cluster '{}' {}\n", id, cluster::take_down(id) ? "is down" : "was not up");
}

void print_status(const cluster::ClusterStatus& status) {
  if (status.cluster)
    fmt::print("{}: {}, {}\n", status.id, status.cluster->platform,
               status.whole ? "up" : "damaged: network namespaces are missing or unexpected");
  else
    fmt::print("{}: left over, incomplete; `tandem cluster down {}` removes it\n", status.id, status.id);
  if (status.cluster)
    fmt::print("  latency of links: {}\n", status.cluster->delays
                                               ? "emulated (netem)"
                                               : "that of the kernel's own path (this kernel has no netem)");
  for (const auto& host : status.hosts)
    fmt::print("  {:<20} {:<12} {}{}{}\n", host.name, host.address, host.space,
               host.present ? "" : " (missing)",
               host.processes.empty() ? "" : fmt::format("  processes {}", fmt::join(host.processes, " ")));
}

void status() {
  const auto statuses = cluster::cluster_statuses();
  if (statuses.empty()) fmt::print("no cluster is up\n");
  for (const auto& one : statuses) print_status(one);
}

/// The platform file of the only cluster that is up.
std::string only_platform() {
  std::string platform;
  for (const auto& one : cluster::cluster_statuses()) {
    if (!one.cluster) continue;
    if (!platform.empty()) throw ConfigError("cluster check: several clusters are up; name a platform file");
    platform = one.cluster->platform;
  }
  if (platform.empty()) throw ConfigError("cluster check: no cluster is up; name a platform file");
  return platform;
}

void add_check(CLI::App& parent, int& exit_code) {
  auto* command =
      parent.add_subcommand("check", "Measure every link with MPI and compare it with the platform file");
  const auto options = std::make_shared<ClusterCheckOptions>();
  command->add_option("PLATFORM", options->platform,
                      "Platform file (.xml) [that of the cluster that is up, if only one is]");
  command->add_option("--tolerance", options->tolerance, "Largest error of a bandwidth that passes [0.05]")
      ->check(above_zero());
  command->footer(
      "Examples:\n"
      "  tandem cluster check platforms/mixed_lab.xml       creates the cluster for the check if none is up\n"
      "  tandem cluster check platforms/mixed_lab.xml --json > links.json");
  command->callback([options, &exit_code] {
    if (options->platform.empty()) options->platform = only_platform();
    exit_code = check_cluster(*options);
  });
}

}  // namespace

void add_cluster(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "cluster", "Emulate a platform on this machine (Linux, root): hosts, links, sharing");
  command->require_subcommand(1);
  const auto options = std::make_shared<ClusterOptions>();
  auto* make = command->add_subcommand("up", "Create the network that a platform file describes");
  make->add_option("PLATFORM", options->target, "Platform file (.xml)")->required()->transform(or_shipped());
  make->add_option("--name", options->name, "Name of the cluster [name of the file]");
  make->add_flag("--force", options->force, "Replace the cluster of that name, complete or not");
  make->footer("Example:\n  tandem cluster up platforms/mixed_lab.xml");
  make->callback([options] { up(*options); });
  command->add_subcommand("status", "List clusters with their hosts, addresses and processes")->callback([] {
    status();
  });
  add_check(*command, exit_code);
  auto* remove =
      command->add_subcommand("down", "Remove a cluster, complete or not; ends the processes in it");
  remove->add_option("CLUSTER", options->target, "Platform file (.xml), or name of a cluster")
      ->transform(or_shipped());
  remove->add_flag("--all", options->all, "Remove every cluster of this machine");
  remove->footer(
      "Examples:\n"
      "  tandem cluster down platforms/mixed_lab.xml\n"
      "  tandem cluster down --all");
  remove->callback([options] { down(*options); });
  command->footer(
      "Each host of the file becomes a network namespace, each link a shaped pair of network devices. "
      "Nothing\n"
      "outside these namespaces changes. Examples:\n"
      "  tandem cluster up platforms/mixed_lab.xml\n"
      "  tandem cluster check platforms/mixed_lab.xml\n"
      "  tandem run --cluster platforms/mixed_lab.xml workloads/experiments/mixed_lab.yaml --variant bsp\n"
      "  tandem cluster down --all");
}

}  // namespace tandem::cli
