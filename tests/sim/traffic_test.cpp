// A survey of simulated clusters, where the truth is the platform file: bandwidths, latencies and racks.
#include "workloads/discovery/traffic.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "platforms/topology.hpp"
#include "sim/simulation.hpp"
#include "tests/support/paths.hpp"

namespace tandem {
namespace TANDEM_FILE {

/// One rank per host of a shipped platform, in the order of the file.
discovery::Tree survey_of(const std::string& platform, platforms::Topology& topology) {
  sim::SimulationSetting setting;
  setting.platform_file = platform;
  setting.hosts = topology.hosts();
  setting.price = [](Rank, const Work&) { return Seconds(0); };
  discovery::Tree tree;
  setting.body = [&](Context& context) {
    if (context.rank() != 0) return serve_traffic(context);
    TrafficBench bench(context);
    tree = discovery::survey(context.world_size(), bench, {});
  };
  sim::simulate(setting);
  return tree;
}

/// Every pair's bandwidth and latency, and the groups as sets of host names.
void expect_found(const std::string& name, const std::set<std::set<std::string>>& groups) {
  const std::string platform = testing::source_folder() + "/platforms/" + name + ".xml";
  auto topology = platforms::load_topology(platform);
  const auto& hosts = topology.hosts();
  const auto tree = survey_of(platform, topology);
  std::set<std::set<std::string>> found;
  for (int node = tree.machines; node < static_cast<int>(tree.nodes.size()); ++node) {
    std::set<std::string> names;
    for (const int machine : tree.machines_below(node))
      names.insert(hosts[static_cast<std::size_t>(machine)]);
    found.insert(names);
  }
  EXPECT_EQ(found, groups);
  for (int from = 0; from < tree.machines; ++from)
    for (int to = 0; to < tree.machines; ++to) {
      if (from == to) continue;
      const auto path =
          topology.between(hosts[static_cast<std::size_t>(from)], hosts[static_cast<std::size_t>(to)]);
      ASSERT_TRUE(path);
      auto up = tree.path_up(from), down = tree.path_up(to);
      while (!up.empty() && !down.empty() && up.back() == down.back()) {
        up.pop_back();
        down.pop_back();
      }
      double bandwidth = HUGE_VAL, latency_s = 0.0;
      for (const int node : up) {
        bandwidth = std::min(bandwidth, tree.nodes[static_cast<std::size_t>(node)].cable.up);
        latency_s += tree.nodes[static_cast<std::size_t>(node)].cable.latency_s;
      }
      for (const int node : down) {
        bandwidth = std::min(bandwidth, tree.nodes[static_cast<std::size_t>(node)].cable.down);
        latency_s += tree.nodes[static_cast<std::size_t>(node)].cable.latency_s;
      }
      EXPECT_NEAR(bandwidth / path->bandwidth.count(), 1.0, 0.02) << name << ' ' << from << ' ' << to;
      EXPECT_NEAR(latency_s / path->latency.count(), 1.0, 0.02) << name << ' ' << from << ' ' << to;
    }
}

TEST(Traffic, FindsTwoRacks) {
  expect_found("two_racks", {{"node-1-1", "node-1-2", "node-1-3"}, {"node-2-1", "node-2-2", "node-2-3"}});
}

TEST(LongTraffic, FindsTheOneSlowPort) { expect_found("mixed_lab", {}); }

}  // namespace TANDEM_FILE
}  // namespace tandem
