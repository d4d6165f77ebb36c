#include "cli/machines/cluster_use.hpp"

#include <fmt/format.h>

#include <exception>
#include <nlohmann/json.hpp>

#include "cli/machines/leftovers.hpp"
#include "cli/shared/output.hpp"
#include "platforms/load.hpp"
#include "platforms/topology.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::cli {

cluster::Wiring wiring_of(const std::string& platform_path) {
  const auto description = platforms::load_platform(platform_path);
  for (const auto& link : description.links)
    if (link.sharing == "WIFI")
      throw ConfigError(
          fmt::format("{}: link '{}' is WIFI, which cannot be emulated", platform_path, link.name));
  if (description.hosts.size() > cluster::most_hosts)
    throw ConfigError(fmt::format("{}: {} hosts; one machine emulates at most {}", platform_path,
                                  description.hosts.size(), cluster::most_hosts));
  const auto topology = platforms::load_topology(platform_path);
  cluster::Wiring wiring{topology.hosts(), {}, {}};
  for (const auto& channel : topology.channels())
    wiring.channels.push_back({channel.name, channel.bandwidth, channel.latency, channel.shared});
  for (const auto& [pair, route] : topology.routes())
    if (route && pair.first != pair.second) wiring.routes[pair] = {route->channels, route->latency};
  return wiring;
}

void report_cluster(const cluster::Cluster& cluster) {
  if (!cluster.delays)
    print_note(
        "this kernel has no netem, so the latency of links is not emulated but that of the kernel's own "
        "path\n"
        "        (measure it with `tandem cluster check`)");
}

namespace {

void require_complete(const std::string& id, const std::string& platform_path) {
  for (const auto& status : cluster::cluster_statuses())
    if (status.id == id && !status.whole)
      throw ConfigError(fmt::format("cluster '{}' is incomplete; `tandem cluster up --force {}` recreates it",
                                    id, platform_path));
}

}  // namespace

ClusterKeeper::ClusterKeeper(const std::string& platform_path, bool may_create) {
  const std::string id = cluster::cluster_id(platform_path);
  const auto wiring = wiring_of(platform_path);
  // A temporary cluster of this name whose job was killed is not one to use.
  if (may_create) remove_leftovers();
  require_complete(id, platform_path);
  cluster_ = cluster::find_cluster(id);
  if (cluster_ && cluster_->wiring != wiring)
    throw ConfigError(
        fmt::format("cluster '{}' was created from {}, whose network differs from that of {} "
                    "now; `tandem cluster up --force {}` recreates it",
                    id, cluster_->platform, platform_path, platform_path));
  if (!cluster_ && !may_create)
    throw ConfigError(
        fmt::format("no cluster is up for {0}; `tandem cluster up {0}` creates it", platform_path));
  if (!cluster_) {
    print_note(fmt::format("no cluster is up for {}; creating one for this job ({} hosts)", platform_path,
                           wiring.hosts.size()));
    cluster_ = cluster::bring_up(id, platform_path, wiring, false, true);
    temporary_ = true;
    report_cluster(*cluster_);
  }
}

ClusterKeeper::~ClusterKeeper() {
  if (!temporary_) return;
  try {
    cluster::take_down(cluster_->id);
  } catch (const std::exception& error) {
    print_error(error.what());
  }
}

void ClusterUse::put_ranks(LaunchSetting& setting, const std::vector<std::string>& hosts) const {
  const cluster::Cluster& used = cluster();
  const auto plan = used.plan();
  setting.hosts.clear();
  for (const auto& name : hosts) {
    const cluster::PlanHost* found = nullptr;
    for (const auto& host : plan.hosts)
      if (host.name == name) found = &host;
    if (found == nullptr)
      throw ConfigError(
          fmt::format("host '{}': cluster '{}' (of {}) has no such host", name, used.id, used.platform));
    setting.hosts.push_back(found->alias);
  }
  setting.cluster = used.launch();
}

nlohmann::json ClusterUse::record() const {
  const cluster::Cluster& used = cluster();
  return {{"id", used.id}, {"platform", used.platform}, {"latency", used.delays ? "netem" : "kernel"}};
}

}  // namespace tandem::cli
