// A plan as text for `ip -batch` and `tc -batch`, and the small files of a cluster. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/cluster/plan.hpp"

namespace tandem::cluster {

/// For `ip -batch` within the fabric: every device of the cluster, rules and routes. Pre: its namespaces
/// exist.
std::string fabric_devices(const Plan& plan);
/// For `ip -batch` within the host's namespace, after fabric_devices.
std::string host_devices(const PlanHost& host);
/// For `tc -batch` within the fabric: shaping, sharing and delays.
std::string shaping(const Plan& plan);

/// A file below /proc/sys/net, and values for it: the first value that the kernel accepts is used.
struct Sysctl {
  std::string path;
  std::vector<std::string> values;
};
std::vector<Sysctl> fabric_sysctls();
std::vector<Sysctl> host_sysctls(const Plan& plan);

/// /etc/hosts as it appears to processes within the cluster.
std::string hosts_file(const Plan& plan);
/// A program for /bin/sh: HOST COMMAND... runs the command in the network of the host and with its name.
std::string enter_script(const std::string& id, const std::string& hosts_path);
/// The same for mpirun, whose COMMAND is text for a shell.
std::string agent_script(const std::string& enter_path);

}  // namespace tandem::cluster
