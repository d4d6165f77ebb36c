// A plan as text for `ip -batch` and `tc -batch`, and as the small files that stand beside it. Pure.
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
/// For `tc -batch` within the fabric: what shapes, shares and delays.
std::string shaping(const Plan& plan);

/// Files below /proc/sys/net and what to write there. Values may be alternatives, the first that the kernel
/// takes counts.
struct Sysctl {
  std::string path;
  std::vector<std::string> values;
};
std::vector<Sysctl> fabric_sysctls();
std::vector<Sysctl> host_sysctls(const Plan& plan);

/// /etc/hosts as it appears to processes within the cluster.
std::string hosts_file(const Plan& plan);
/// A program for /bin/sh: HOST WORDS... runs the words as that host, in its network and with its name.
std::string enter_script(const std::string& id, const std::string& hosts_path);
/// The same for mpirun, which gives HOST and words that a shell must read.
std::string agent_script(const std::string& enter_path);

}  // namespace tandem::cluster
