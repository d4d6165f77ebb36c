// Every kind of platform file that SimGrid loads can be loaded, with order, devices and settings as in the
// file.
#include "platforms/load.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "platforms/description_json.hpp"
#include "platforms/neighbours.hpp"
#include "platforms/short_clusters.hpp"
#include "platforms/topology.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/platforms/platform_text.hpp"
#include "tests/support/paths.hpp"

namespace tandem::platforms {
namespace TANDEM_FILE {

Description load(const std::string& xml) { return load_platform(TemporaryFile(xml).path()); }

std::vector<std::string> host_names(const Description& description) {
  std::vector<std::string> names;
  for (const auto& host : description.hosts) names.push_back(host.name);
  return names;
}

/// A cluster of `hosts` hosts with links of all kinds, and one of two hosts. With the prefix "n-1" of these,
/// hosts of both could have one name, so SimGrid builds them all.
std::string two_clusters_xml(int hosts, const std::string& prefix) {
  return zone_xml("Full", "<cluster id=\"c\" prefix=\"n-\" suffix=\".a\" radical=\"5,7-" +
                              std::to_string(hosts + 5) +
                              "\" speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\" bb_bw=\"9GBps\" bb_lat=\"1us\" "
                              "limiter_link=\"2GBps\" loopback_bw=\"5GBps\" loopback_lat=\"3us\">"
                              "<prop id=\"price_per_hour\" value=\"1\"/></cluster>"
                              "<cluster id=\"d\" prefix=\"" +
                              prefix +
                              "\" suffix=\".a\" radical=\"1000000-1000001\" speed=\"1Gf\" bw=\"1GBps\" "
                              "lat=\"1us\"/>");
}

TEST(LongLoad, SaysHowManyHostsAreBuilt) {
  ::testing::internal::CaptureStderr();
  load(two_clusters_xml(49'998, "n-1"));
  load(two_clusters_xml(60'000, "m-"));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  const TemporaryFile file(two_clusters_xml(49'999, "n-1"));
  ::testing::internal::CaptureStderr();
  const Description description = load_platform(file.path());
  EXPECT_EQ(description.hosts.size(), 50'001u);
  const auto first = host_names(description).front(), last = host_names(description)[49'998];
  EXPECT_EQ(load_network(description, {first, last}).hosts.size(), 2u) << "does not load the hosts again";
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "tandem: " + file.path() + ": SimGrid builds 50001 hosts\n");
}

TEST(Load, HostsOfALargeClusterAreAsIfSimGridBuiltThem) {
  constexpr std::size_t count = 3000;
  const TemporaryFile whole_file(two_clusters_xml(3000, "n-1"));
  const TemporaryFile short_file(two_clusters_xml(3000, "m-"));
  EXPECT_EQ(ShortClusters(PlatformXml(whole_file.path())).missing(), 0);
  EXPECT_EQ(ShortClusters(PlatformXml(short_file.path())).missing(), 2998);
  const Description whole = load_platform(whole_file.path()), shortened = load_platform(short_file.path());
  ASSERT_EQ(whole.hosts.size(), count + 2);
  ASSERT_EQ(shortened.hosts.size(), whole.hosts.size());
  EXPECT_EQ(whole.hosts[2].name, "n-8.a");
  for (std::size_t host = 0; host < count; ++host) {
    EXPECT_EQ(shortened.hosts[host].name, whole.hosts[host].name);
    EXPECT_TRUE(alike(shortened.hosts[host], whole.hosts[host])) << "also the machine of its price";
  }
  ASSERT_EQ(shortened.links.size(), whole.links.size());
  for (std::size_t link = 0; link < whole.links.size(); ++link) {
    EXPECT_EQ(shortened.links[link].name, whole.links[link].name);
    EXPECT_TRUE(alike(shortened.links[link], whole.links[link])) << whole.links[link].name;
  }
  const std::vector<std::string> asked = {"n-2000.a", "n-5.a", "n-3000.a"};
  const Topology built = load_topology(whole, {.hosts = asked, .to_themselves = true});
  const Topology like = load_topology(shortened, {.hosts = asked, .to_themselves = true});
  for (const std::string& from : asked)
    for (const std::string& to : asked) {
      const auto expected = built.between(from, to), found = like.between(from, to);
      ASSERT_TRUE(expected && found) << from << " to " << to;
      EXPECT_EQ(found->channels, expected->channels);
      EXPECT_EQ(found->latency.count(), expected->latency.count());
      EXPECT_EQ(found->bandwidth.count(), expected->bandwidth.count());
    }
  EXPECT_THROW(load_topology(shortened, {.hosts = {"n-6.a"}}), ConfigError) << "not in the radical";
}

TEST(Load, ClustersWhoseNumbersCannotBeReadAreBuiltWhole) {
  const auto missing = [](const std::string& attributes) {
    const TemporaryFile file(zone_xml("Full", "<cluster id=\"c\" prefix=\"n-\" " + attributes +
                                                  " speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\"/>"));
    return ShortClusters(PlatformXml(file.path())).missing();
  };
  EXPECT_EQ(missing("suffix=\"x0\" radical=\"0-2999\""), 2998);
  EXPECT_EQ(missing("suffix=\"0x\" radical=\"0-2999\""), 0) << "n-70x is host 7";
  EXPECT_EQ(missing("suffix=\"\" radical=\"2147480000-2147483647\""), 0) << "no number follows the last one";
}

TEST(Load, ThousandsOfLikeHostsAreOneObject) {
  const Description cluster = load(cluster_xml(3000));
  const nlohmann::json document = to_json(cluster);
  ASSERT_EQ(document.at("hosts").size(), 1U);
  EXPECT_EQ(document.at("hosts")[0].at("names"), nlohmann::json::parse(R"([["n-", 0, 2999, ""]])"));
  const Description again = description_from_json(document);
  EXPECT_EQ(host_names(again), host_names(cluster));
  EXPECT_EQ(to_json(again), document);
}

TEST(Load, AFileMayBeginWithBlankLinesAndHaveAHostThatComputesNothing) {
  const std::string xml =
      "\n \n" + zone_xml("Full",
                         "<host id=\"a\" speed=\"1Gf\"><prop id=\"tandem:launch\" "
                         "value=\"1ms\"/><prop id=\"tandem:memory_rate\" value=\"2GBps\"/>"
                         "</host><host id=\"pfs\" speed=\"0Gf\"/>");
  const auto description = load(xml);
  EXPECT_EQ(host_names(description), (std::vector<std::string>{"a", "pfs"}));
  EXPECT_EQ(description.host("pfs").speed.count(), 0.0);
  EXPECT_EQ(description.host("a").device.launch.count(), 1e-3);
  EXPECT_EQ(description.host("a").device.memory_rate.count(), 2e9);
  const TemporaryFile bad("\n" + zone_xml("Full", "<host id=\"a\" speed=\"nan\"/>"));
  try {
    load_platform(bad.path());
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find(":6: host 'a'"), std::string::npos) << error.what();
  }
}

TEST(Load, ReadsHostsLinksDisksAndPropertiesInTheOrderOfTheFile) {
  const auto description =
      load(zone_xml("Full",
                    "<host id=\"zebra\" speed=\"2Gf,1Gf\" core=\"3\"><disk id=\"disk\" read_bw=\"200MBps\" "
                    "write_bw=\"150MBps\"/>"
                    "<prop id=\"region\" value=\"eu\"/><prop id=\"tandem:anything\" value=\"x\"/></host>"
                    "<host id=\"ant\" speed=\"1Gf\"><prop id=\"device\" value=\"t4\"/></host>"
                    "<link id=\"z\" bandwidth=\"1GBps\" latency=\"3us\" sharing_policy=\"FATPIPE\"/>"
                    "<link id=\"m\" bandwidth=\"1Gbps\" latency=\"1ms\" sharing_policy=\"SPLITDUPLEX\"/>"
                    "<link id=\"a_UP\" bandwidth=\"1MBps\" latency=\"0\" sharing_policy=\"SHARED\"/>"
                    "<route src=\"zebra\" dst=\"ant\"><link_ctn id=\"m\" direction=\"UP\"/></route>"));
  EXPECT_EQ(host_names(description), (std::vector<std::string>{"zebra", "ant"}));
  const Host& zebra = description.hosts[0];
  EXPECT_EQ(zebra.speed.count(), 2e9);
  EXPECT_EQ(zebra.cores, 3);
  EXPECT_EQ(zebra.disks.at(0).name, "disk");
  EXPECT_EQ(zebra.disks.at(0).read_rate.count(), 200e6);
  EXPECT_EQ(zebra.disks.at(0).write_rate.count(), 150e6);
  EXPECT_EQ(zebra.properties.at("region"), "eu");
  EXPECT_EQ(zebra.properties.at("tandem:anything"), "x");
  ASSERT_EQ(description.links.size(), 3u);
  EXPECT_EQ(description.links[0].name, "z");
  EXPECT_EQ(description.links[0].sharing, "FATPIPE");
  EXPECT_EQ(description.links[1].name, "m");
  EXPECT_EQ(description.links[1].sharing, "SPLITDUPLEX");
  EXPECT_EQ(description.links[1].bandwidth.count(), 125e6);
  EXPECT_EQ(description.links[1].latency.count(), 1e-3);
  EXPECT_EQ(description.links[2].name, "a_UP");
  EXPECT_EQ(description.links[2].sharing, "SHARED");
}

TEST(Load, WithoutADeviceARankUsesOneCore) {
  const auto description = load(zone_xml("Full", "<host id=\"a\" speed=\"2Gf\" core=\"4\"/>"));
  const Device& device = description.hosts[0].device;
  EXPECT_EQ(device.speed.count(), 2e9);
  EXPECT_EQ(device.memory_rate.count(), 10e9);
  EXPECT_EQ(device.launch.count(), 0.0);
  EXPECT_TRUE(device.has_one_speed) << "whatever the precision";
  EXPECT_FALSE(device.memory);
}

/// `speed` is what plain SimGrid programs use. Hosts with several cores are processors that have a GPU.
TEST(Load, SpeedsOfShippedHostsAreThoseOfTheirDevices) {
  for (const auto& entry : std::filesystem::directory_iterator(testing::source_folder() + "/platforms")) {
    if (entry.path().extension() != ".xml") continue;
    for (const Host& host : load_platform(entry.path().string()).hosts) {
      if (!host.device.is_gpu || host.cores > 1) continue;
      EXPECT_NEAR(host.speed.count() / host.device.speed.count(), 1.0, 1e-6)
          << entry.path() << ' ' << host.name;
    }
  }
}

TEST(Load, DeviceFiguresComeFromTheCatalogueAndMayBeOverridden) {
  const auto description =
      load(zone_xml("Full",
                    "<host id=\"a\" speed=\"2Gf\"><prop id=\"device\" value=\"t4\"/></host>"
                    "<host id=\"b\" speed=\"2Gf\"><prop id=\"device\" value=\"t4\"/><prop "
                    "id=\"tandem:memory_rate\" value=\"5e9\"/>"
                    "<prop id=\"tandem:launch\" value=\"0\"/></host>"));
  EXPECT_EQ(description.host("a").device.name, "t4");
  EXPECT_EQ(description.host("a").device.speed, find_device("t4").speed);
  EXPECT_EQ(description.host("a").device.memory_rate, find_device("t4").memory_rate);
  EXPECT_EQ(description.host("b").device.speed, find_device("t4").speed);
  EXPECT_EQ(description.host("b").device.memory_rate.count(), 5e9);
  EXPECT_EQ(description.host("b").device.launch.count(), 0.0);
}

TEST(Load, AHostHasAGpuByNumberOrByDevice) {
  const auto description =
      load(zone_xml("Full",
                    "<host id=\"a\" speed=\"2Gf\"><prop id=\"device\" value=\"h200\"/></host>"
                    "<host id=\"b\" speed=\"2Gf\"><prop id=\"tandem:gpu\" value=\"3\"/></host>"
                    "<host id=\"c\" speed=\"2Gf\"><prop id=\"device\" value=\"epyc-7742\"/></host>"));
  EXPECT_EQ(description.host("a").gpu, 0);
  EXPECT_EQ(description.host("b").gpu, 3);
  EXPECT_EQ(description.host("c").gpu, std::nullopt);
  const auto again = description_from_json(to_json(description));
  EXPECT_EQ(again.host("b").gpu, 3);
  EXPECT_EQ(again.host("c").gpu, std::nullopt);
  EXPECT_TRUE(again.host("a").device.is_gpu);
}

TEST(Load, ReportsTheFilesOwnSettings) {
  const auto description =
      load(platform_xml("<config><prop id=\"network/model\" value=\"CM02\"/><prop "
                        "id=\"network/crosstraffic\" value=\"0\"/></config>"
                        "<zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/></zone>"));
  EXPECT_EQ(description.config,
            (std::map<std::string, std::string>{{"network/model", "CM02"}, {"network/crosstraffic", "0"}}));
}

TEST(Load, FindsProfilesNextToTheFile) {
  const TemporaryFile file(
      zone_xml("Full", "<host id=\"a\" speed=\"1Gf\" state_file=\"a.state\" speed_file=\"a.speed\"/>"));
  file.add("a.state", "0 1\n5 0\n");
  file.add("a.speed", "0 1.0\n3 0.5\nPERIODICITY 10\n");
  EXPECT_EQ(load_platform(file.path()).hosts.size(), 1u);
}

TEST(Load, TheSameProcessLoadsManyFiles) {
  const TemporaryFile file(cluster_xml(4));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(load_platform(file.path()).hosts.size(), 4u);
  EXPECT_THROW(load("<platform"), ConfigError);
  EXPECT_EQ(load_platform(file.path()).hosts.size(), 4u);
}

struct Kind {
  const char* name;
  std::string xml;
  std::size_t hosts;
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class LoadKind : public ::testing::TestWithParam<Kind> {};

TEST_P(LoadKind, Loads) { EXPECT_EQ(load(GetParam().xml).hosts.size(), GetParam().hosts); }

std::string vivaldi() {
  return zone_xml(
      "Vivaldi",
      "<peer id=\"p1\" coordinates=\"25.5 9.4 1.4\" speed=\"1Gf\" bw_in=\"2GBps\" bw_out=\"1GBps\"/>"
      "<peer id=\"p2\" coordinates=\"-12.7 -9.9 2.1\" speed=\"1Gf\" bw_in=\"2GBps\" bw_out=\"1GBps\"/>");
}

std::string nested() {
  return zone_xml(
      "Full",
      "<cluster id=\"left\" prefix=\"l\" radical=\"0-2\" suffix=\"\" speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\" "
      "router_id=\"left-out\"/>"
      "<zone id=\"right\" routing=\"Full\"><host id=\"alone\" speed=\"1Gf\"/></zone>"
      "<link id=\"between\" bandwidth=\"1GBps\" latency=\"1ms\"/>"
      "<zoneRoute src=\"left\" dst=\"right\" gw_src=\"left-out\" gw_dst=\"alone\"><link_ctn "
      "id=\"between\"/></zoneRoute>");
}

std::string traced() {
  return zone_xml(
      "Full",
      "<host id=\"a\" speed=\"1Gf\"/><trace id=\"t\" periodicity=\"12.0\">0.0 1\n 11.0 0.5\n</trace>"
      "<trace_connect kind=\"SPEED\" trace=\"t\" element=\"a\"/>");
}

std::string cabinets() {
  return zone_xml(
      "Cluster",
      "<cabinet id=\"one\" prefix=\"node-\" suffix=\".lab\" radical=\"1-3\" speed=\"1Gf\" bw=\"1GBps\" "
      "lat=\"1us\"/>"
      "<backbone id=\"bone\" bandwidth=\"2GBps\" latency=\"1us\"/>");
}

std::string wifi() {
  return platform_xml(
      "<zone id=\"world\" routing=\"Full\"><zone id=\"air\" routing=\"Wifi\">"
      "<prop id=\"access_point\" value=\"ap\"/><host id=\"s1\" speed=\"1Gf\"/><host id=\"s2\" speed=\"1Gf\"/>"
      "<router id=\"ap\"/><link id=\"ap-link\" sharing_policy=\"WIFI\" bandwidth=\"54Mbps,36Mbps\" "
      "latency=\"0ms\"/>"
      "</zone></zone>");
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, LoadKind,
    ::testing::Values(
        Kind{"flat", cluster_xml(5), 5},
        Kind{"backbone", cluster_xml(5, "bb_bw=\"2GBps\" bb_lat=\"1us\""), 5},
        Kind{"loopback", cluster_xml(2, "loopback_bw=\"5GBps\" loopback_lat=\"0\""), 2},
        Kind{"torus", cluster_xml(12, "topology=\"TORUS\" topo_parameters=\"3,2,2\""), 12},
        Kind{"fat_tree", cluster_xml(16, "topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,2\""), 16},
        Kind{"dragonfly", cluster_xml(18, "topology=\"DRAGONFLY\" topo_parameters=\"3,4;3,2;1,1;2\""), 18},
        Kind{"vivaldi", vivaldi(), 2}, Kind{"nested", nested(), 4}, Kind{"traced", traced(), 1},
        Kind{"cabinets", cabinets(), 3}, Kind{"wifi", wifi(), 2},
        Kind{"old_as", platform_xml("<AS id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/></AS>"), 1}),
    [](const auto& instance) { return instance.param.name; });

class Shipped : public ::testing::TestWithParam<std::pair<const char*, std::size_t>> {};

TEST_P(Shipped, Loads) {
  const auto description = load_platform(testing::source_folder() + "/platforms/" + GetParam().first);
  EXPECT_EQ(description.hosts.size(), GetParam().second);
  for (const auto& link : description.links)
    EXPECT_EQ(link.sharing, link.name == "loopback" ? "FATPIPE" : "SPLITDUPLEX") << link.name;
}

INSTANTIATE_TEST_SUITE_P(Files, Shipped,
                         ::testing::Values(std::pair("homogeneous.xml", 9u), std::pair("mixed_lab.xml", 7u),
                                           std::pair("rack.xml", 17u), std::pair("this_machine.xml", 1u),
                                           std::pair("quad.xml", 5u), std::pair("slow_link.xml", 5u),
                                           std::pair("two_racks.xml", 7u)));

TEST(MixedLab, HasThePropertiesThatExperimentsAssume) {
  const auto lab = load_platform(testing::source_folder() + "/platforms/mixed_lab.xml");
  EXPECT_EQ(host_names(lab),
            (std::vector<std::string>{"server", "node-1", "node-2", "node-3", "node-4", "node-5", "node-6"}));
  EXPECT_EQ(lab.host("server").disks.size(), 1u);
  EXPECT_EQ(lab.host("server").properties.count("memory"), 1u);
  // Forward and backward of a LeNet of 20 and 50 filters take about 13.8 Mflop per sample, with 32 samples
  // per step.
  const Flops step(32 * 13.8e6);
  for (int i = 1; i <= 6; ++i) {
    const Host& node = lab.host("node-" + std::to_string(i));
    EXPECT_GE((step / node.device.speed).count(), 0.060) << node.name;
    EXPECT_LE((step / node.device.speed).count(), 0.250) << node.name;
    EXPECT_NEAR(node.speed.count() * node.cores, node.device.speed.count(), 1.0) << node.name;
  }
  EXPECT_NEAR(lab.host("node-1").device.speed / lab.host("node-6").device.speed, 4.0, 0.5);
  int slower = 0;
  for (const auto& link : lab.links) slower += link.bandwidth < BytesPerSecond(125e6) ? 1 : 0;
  EXPECT_EQ(slower, 1);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::platforms
