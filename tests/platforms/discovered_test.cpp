// A platform file that is written of a discovered network loads with exactly these links.
#include "platforms/discovered.hpp"

#include <gtest/gtest.h>

#include "platforms/load.hpp"
#include "platforms/topology.hpp"
#include "tests/platforms/platform_text.hpp"

namespace tandem::platforms {
namespace TANDEM_FILE {

using discovery::Node;
using discovery::Tree;

std::vector<Host> hosts(std::vector<std::string> names) {
  std::vector<Host> all;
  for (auto& name : names) {
    Host host;
    host.name = std::move(name);
    host.speed = FlopsPerSecond(12.3456e9);
    host.cores = 4;
    host.disks = {{"disk", BytesPerSecond(2e8), BytesPerSecond(1e8)}};
    host.properties = {{"memory", "8GiB"}, {"tandem:memory_rate", "8100000000"}};
    all.push_back(host);
  }
  return all;
}

/// Two machines in a rack, and two at the core switch, of which one has a slower way up.
Tree tree() {
  return {.machines = 4,
          .nodes = {{.parent = 4, .cable = {.up = 1.2504e8, .down = 1.2496e8, .latency_s = 5e-5}},
                    {.parent = 4, .cable = {.up = 1.25e8, .down = 1.25e8, .latency_s = 6e-5}},
                    {.cable = {.up = 2e7, .down = 1e8, .latency_s = 5e-5}},
                    {.cable = {.up = 5e7, .down = 5e7, .is_shared = true, .latency_s = 5e-5}},
                    {.cable = {.up = 3e7, .down = 3e7, .latency_s = 1e-5}}},
          .loopbacks = {{4e9, 1e-6}, {4e9, 1e-6}, {4e9, 1e-6}, {3e9, 2e-6}}};
}

TEST(Discovered, LoadsWithItsLinks) {
  // The names of a rack and of the core are taken, and one needs escaping.
  const TemporaryFile file(
      discovered_xml("written by -- a test", hosts({"core", "rack-1", "c&d", "10.0.0.7"}), tree()));
  const auto description = load_platform(file.path());
  ASSERT_EQ(description.hosts.size(), 4U);
  EXPECT_EQ(description.host("c&d").speed.count(), 12.35e9);
  EXPECT_EQ(description.host("c&d").cores, 4);
  EXPECT_EQ(description.host("c&d").device.memory_rate.count(), 8.1e9);
  EXPECT_EQ(description.host("core").disks.at(0).write_rate.count(), 1e8);
  const auto topology = load_topology(file.path());
  const auto bandwidth = [&](const char* from, const char* to) {
    return topology.between(from, to)->bandwidth.count();
  };
  EXPECT_DOUBLE_EQ(bandwidth("core", "rack-1"), 1.25e8);
  EXPECT_DOUBLE_EQ(bandwidth("core", "10.0.0.7"), 3e7);
  EXPECT_DOUBLE_EQ(bandwidth("c&d", "rack-1"), 2e7);
  EXPECT_DOUBLE_EQ(bandwidth("10.0.0.7", "c&d"), 5e7);
  EXPECT_NEAR(topology.between("rack-1", "c&d")->latency.count(), 12e-5, 1e-12);
  EXPECT_EQ(topology.between("core", "c&d")->channels,
            (std::vector<std::string>{"cable-core_UP", "uplink-rack-1__UP", "cable-c&d-down"}));
  // Both directions of the shared cable are one channel.
  EXPECT_EQ(topology.between("10.0.0.7", "core")->channels.front(), "cable-10.0.0.7");
  EXPECT_EQ(topology.between("core", "10.0.0.7")->channels.back(), "cable-10.0.0.7");
  EXPECT_DOUBLE_EQ(bandwidth("10.0.0.7", "10.0.0.7"), 3e9);
}

TEST(Discovered, OneMachineHasOnlyItsLoopback) {
  const Tree alone{.machines = 1, .nodes = {{}}, .loopbacks = {{4e9, 1e-6}}};
  const TemporaryFile file(discovered_xml("one", hosts({"here"}), alone));
  EXPECT_EQ(load_platform(file.path()).links.size(), 1U);
  EXPECT_DOUBLE_EQ(load_topology(file.path()).between("here", "here")->bandwidth.count(), 4e9);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::platforms
