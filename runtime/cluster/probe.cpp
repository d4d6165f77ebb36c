#include "runtime/cluster/probe.hpp"

#include <fmt/format.h>

#include "policies/vocabulary/check.hpp"
#include "runtime/cluster/system.hpp"

namespace tandem::cluster {
namespace {

using Words = std::vector<std::string>;

CommandOutcome run_in_temporary_namespace(const Words& words, const std::string& input = {}) {
  Words all = {"unshare", "--net", "--"};
  all.insert(all.end(), words.begin(), words.end());
  return run_command(all, input);
}

void require(const CommandOutcome& outcome, const std::string& what) {
  if (outcome.exit_code != 0)
    throw ConfigError(fmt::format("an emulated cluster needs {}: {}", what,
                                  outcome.output.substr(0, outcome.output.find('\n'))));
}

constexpr const char* htb =
    "qdisc add dev lo root handle 1: htb default 0\n"
    "class add dev lo parent 1: classid 1:1 htb rate 1mbit burst 3200\n"
    "qdisc add dev lo parent 1:1 pfifo limit 10\n";
constexpr const char* u32 =
    "filter add dev lo parent 1: protocol ip u32 match ip src 10.77.0.1/32 flowid 1:1\n";

}  // namespace

void require_rights() {
  for (const char* program : {"unshare", "nsenter"})
    require(run_command({program, "--version"}), std::string(program) + " (package util-linux)");
  for (const char* program : {"ip", "tc"})
    require(run_command({program, "-Version"}), std::string(program) + " (package iproute2)");
  require(run_command({"unshare", "--net", "--uts", "--mount", "true"}),
          "root, or CAP_NET_ADMIN and CAP_SYS_ADMIN");
}

Ability require_ability() {
  require_rights();
  require(run_in_temporary_namespace({"ip", "link", "add", "name", "a", "type", "veth", "peer", "name", "b"}),
          "a kernel with veth devices (CONFIG_VETH)");
  require(run_in_temporary_namespace({"ip", "rule", "add", "iif", "lo", "lookup", "1000"}),
          "a kernel with policy routing (CONFIG_IP_MULTIPLE_TABLES)");
  require(run_in_temporary_namespace({"tc", "-batch", "-"}, htb), "a kernel with HTB (CONFIG_NET_SCH_HTB)");
  require(run_in_temporary_namespace({"tc", "-batch", "-"}, std::string(htb) + u32),
          "a kernel with the u32 classifier (CONFIG_NET_CLS_U32)");
  const auto netem =
      run_in_temporary_namespace({"tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"});
  return {netem.exit_code == 0};
}

}  // namespace tandem::cluster
