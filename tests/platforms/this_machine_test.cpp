// Files that Tandem writes can be loaded, with exactly the figures that they were made from.
#include "platforms/this_machine.hpp"

#include <gtest/gtest.h>

#include "platforms/load.hpp"
#include "platforms/topology.hpp"
#include "tests/platforms/platform_text.hpp"
#include "tests/support/paths.hpp"

namespace tandem::platforms {
namespace TANDEM_FILE {

const MeasuredNetwork kNetwork{Seconds(3.3e-6), BytesPerSecond(2.7e9)};

MeasuredMachine machine() {
  return {"Some Processor -- 2 cores",
          "tandem calibrate --out profile.json",
          4,
          FlopsPerSecond(12.3e9),
          BytesPerSecond(8.1e9),
          kNetwork,
          MeasuredDisk{BytesPerSecond(9e8), BytesPerSecond(4e8)}};
}

void expect_network(const Topology& topology) {
  for (const auto& from : topology.hosts())
    for (const auto& to : topology.hosts()) {
      const auto path = topology.between(from, to);
      ASSERT_TRUE(path) << from << " " << to;
      EXPECT_DOUBLE_EQ(path->latency.count(), kNetwork.latency.count()) << from << " " << to;
      EXPECT_DOUBLE_EQ(path->bandwidth.count(), kNetwork.bandwidth.count()) << from << " " << to;
    }
}

TEST(ThisMachine, LoadsWithTheMeasuredFigures) {
  const TemporaryFile file(this_machine_xml(machine()));
  const auto description = load_platform(file.path());
  ASSERT_EQ(description.hosts.size(), 1u);
  const Host& host = description.host("this-machine");
  EXPECT_EQ(host.cores, 4);
  EXPECT_EQ(host.speed.count(), 12.3e9);
  EXPECT_EQ(host.device.memory_rate.count(), 8.1e9);
  EXPECT_EQ(host.device.launch.count(), 0.0);
  EXPECT_EQ(host.disks.at(0).read_rate.count(), 9e8);
  EXPECT_EQ(host.disks.at(0).write_rate.count(), 4e8);
  expect_network(load_topology(file.path()));
}

TEST(ThisMachine, WithoutADisk) {
  auto measured = machine();
  measured.disk.reset();
  const TemporaryFile file(this_machine_xml(measured));
  EXPECT_TRUE(load_platform(file.path()).hosts.at(0).disks.empty());
}

TEST(Twin, KeepsHostsAndReplacesTheNetwork) {
  const auto lab = load_platform(testing::source_folder() + "/platforms/mixed_lab.xml");
  const TemporaryFile file(twin_xml(lab, kNetwork));
  const auto twin = load_platform(file.path());
  ASSERT_EQ(twin.hosts.size(), lab.hosts.size());
  for (std::size_t i = 0; i < lab.hosts.size(); ++i) {
    EXPECT_EQ(twin.hosts[i].name, lab.hosts[i].name);
    EXPECT_EQ(twin.hosts[i].speed, lab.hosts[i].speed);
    EXPECT_EQ(twin.hosts[i].cores, lab.hosts[i].cores);
    EXPECT_EQ(twin.hosts[i].device.name, lab.hosts[i].device.name);
    EXPECT_EQ(twin.hosts[i].properties, lab.hosts[i].properties);
    ASSERT_EQ(twin.hosts[i].disks.size(), lab.hosts[i].disks.size());
  }
  EXPECT_EQ(twin.host("server").disks[0].read_rate, lab.host("server").disks[0].read_rate);
  expect_network(load_topology(file.path()));
}

TEST(Twin, ReplacesDiskRatesWhereGiven) {
  const auto lab = load_platform(testing::source_folder() + "/platforms/mixed_lab.xml");
  const TemporaryFile file(twin_xml(lab, kNetwork, MeasuredDisk{BytesPerSecond(7e8), BytesPerSecond(6e8)}));
  EXPECT_EQ(load_platform(file.path()).host("server").disks[0].read_rate.count(), 7e8);
  EXPECT_EQ(load_platform(file.path()).host("server").disks[0].write_rate.count(), 6e8);
}

TEST(ThisMachine, HasADiskAsItWasMeasured) {
  auto measured = machine();
  measured.disk->latency = Seconds(95e-6);
  measured.disk->parallel = 8;
  const TemporaryFile file(this_machine_xml(measured));
  const auto disk = load_platform(file.path()).host("this-machine").disks.at(0);
  EXPECT_EQ(disk.properties.at("tandem:parallel"), "8");
  EXPECT_EQ(disk.properties.at("tandem:latency"), "9.5e-05s");
  const TemporaryFile plain(this_machine_xml(machine()));
  EXPECT_TRUE(load_platform(plain.path()).host("this-machine").disks.at(0).properties.empty());
}

TEST(Twin, SurvivesAwkwardNamesAndKeepsOtherSettings) {
  Description platform;
  platform.file = "a--b.xml";
  platform.config = {{"network/model", "SMPI"}, {"cpu/optim", "Full"}};
  for (const char* name : {"switch", "machine", "loop & <back>"}) {
    Host host;
    host.name = name;
    host.speed = FlopsPerSecond(1e9);
    host.properties["note"] = "5\" < 6\" & more";
    platform.hosts.push_back(host);
  }
  const TemporaryFile file(twin_xml(platform, kNetwork));
  const auto twin = load_platform(file.path());
  EXPECT_EQ(twin.config, (std::map<std::string, std::string>{{"cpu/optim", "Full"}}));
  ASSERT_EQ(twin.hosts.size(), 3u);
  EXPECT_EQ(twin.hosts[2].name, "loop & <back>");
  EXPECT_EQ(twin.hosts[0].properties.at("note"), "5\" < 6\" & more");
  expect_network(load_topology(file.path()));
}

TEST(Twin, OfALargeCluster) {
  const TemporaryFile cluster(cluster_xml(300));
  const TemporaryFile file(twin_xml(load_platform(cluster.path()), kNetwork));
  expect_network(load_topology(file.path(), {.hosts = {"n-0", "n-150", "n-299"}}));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::platforms
