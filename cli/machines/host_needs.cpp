#include "cli/machines/host_needs.hpp"

#include <algorithm>

#include "cli/shared/output.hpp"
#include "platforms/neighbours.hpp"
#include "runtime/launcher/launcher.hpp"
#include "workloads/job/placement/roster.hpp"

namespace tandem::cli {

std::vector<machines::HostNeed> host_needs(const Experiment& experiment,
                                           const platforms::Description& platform, int least) {
  const bool uses_gpus = experiment.run.devices == DeviceSpeed::native &&
                         experiment.workload.math == Experiment::Workload::Math::real;
  const Roster roster(experiment);
  std::vector<machines::HostNeed> needs;
  for (const auto& assignment : roster.assignments()) {
    const auto known = std::ranges::find(needs, assignment.host, &machines::HostNeed::host);
    if (known != needs.end()) {
      ++known->ranks;
      continue;
    }
    needs.push_back({.host = assignment.host});
    if (uses_gpus) needs.back().gpu = platform.host(assignment.host).gpu;
  }
  const auto last = std::ranges::find(needs, roster.assignments().back().host, &machines::HostNeed::host);
  last->ranks += std::max(0, least - roster.size());
  return needs;
}

void apply_mapping(std::vector<machines::HostNeed>& needs, const std::vector<machines::Mapped>& hosts) {
  for (auto& need : needs) {
    const auto mapped = std::ranges::find(hosts, need.host, &machines::Mapped::host);
    if (mapped == hosts.end()) continue;
    need.machine = mapped->machine;
    if (need.gpu && mapped->gpu) need.gpu = mapped->gpu;
  }
}

void add_groups(std::vector<machines::HostNeed>& needs, const std::string& platform_file) {
  if (needs.size() < 2) return;
  std::vector<std::string> hosts;
  for (const auto& need : needs) hosts.push_back(need.host);
  const platforms::Network network = platforms::load_network(platform_file, hosts);
  for (auto& need : needs) {
    const auto index = std::ranges::find(network.hosts, need.host) - network.hosts.begin();
    for (const auto& level : network.levels) need.groups.push_back(level[static_cast<std::size_t>(index)]);
  }
}

std::map<std::string, std::string> addresses_of(const platforms::Description& platform) {
  std::map<std::string, std::string> addresses;
  for (const auto& host : platform.hosts)
    if (const auto address = host.properties.find("tandem:address"); address != host.properties.end())
      addresses[host.name] = address->second;
  return addresses;
}

void print_mapping(const std::vector<machines::Mapped>& hosts) {
  std::string words;
  for (const auto& entry : machines::mapping_entries(hosts))
    words += " --map " + shell_word(entry.hosts + "=" + entry.machines);
  if (!words.empty()) print_note("mapping:" + words);
}

}  // namespace tandem::cli
