// Bottleneck, latency and bisection against closed forms on a star, a line, racks and shared or unshared
// links.
#include "platforms/topology.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "platforms/load.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/platforms/platform_text.hpp"
#include "tests/support/paths.hpp"

namespace tandem::platforms {
namespace TANDEM_FILE {

Topology load(const std::string& xml) { return load_topology(TemporaryFile(xml).path()); }

TEST(Topology, Star) {
  const auto star = load(cluster_xml(6));
  EXPECT_TRUE(star.complete());
  const auto path = star.between("n-1", "n-4");
  ASSERT_TRUE(path);
  EXPECT_EQ(path->bandwidth.count(), 1e9);
  EXPECT_DOUBLE_EQ(path->latency.count(), 2e-6);
  EXPECT_EQ(path->channels, (std::vector<std::string>{"c_link_1_UP", "c_link_4_DOWN"}));
  // Three hosts send to three: each over its own link.
  EXPECT_DOUBLE_EQ(star.bisection()->bandwidth.count(), 3e9);
  EXPECT_EQ(star.fewest_channels("n-0"), (std::vector<int>{0, 2, 2, 2, 2, 2}));
}

TEST(Topology, StarOfAnOddNumber) {
  EXPECT_DOUBLE_EQ(load(cluster_xml(7)).bisection()->bandwidth.count(), 3e9);
}

TEST(Topology, BackboneLimitsTheStar) {
  const auto narrow = load(cluster_xml(8, "bb_bw=\"1.5GBps\" bb_lat=\"2us\""));
  EXPECT_DOUBLE_EQ(narrow.bisection()->bandwidth.count(), 1.5e9);
  EXPECT_DOUBLE_EQ(narrow.between("n-0", "n-7")->latency.count(), 4e-6);
  // Each of the 16 host pairs across the cut gets 1.5 GB/s of an unshared backbone: the links are the limit
  // again.
  const auto unshared =
      load(cluster_xml(8, "bb_bw=\"1.5GBps\" bb_lat=\"2us\" bb_sharing_policy=\"FATPIPE\""));
  EXPECT_DOUBLE_EQ(unshared.bisection()->bandwidth.count(), 4e9);
}

TEST(Topology, Line) {
  // Cables of 1, 2, 3, 4, 5 GB/s: the third, of 3 GB/s, splits six hosts in halves.
  const auto line = load(line_xml(6));
  EXPECT_DOUBLE_EQ(line.between("host-0", "host-5")->bandwidth.count(), 1e9);
  EXPECT_DOUBLE_EQ(line.between("host-4", "host-2")->bandwidth.count(), 3e9);
  EXPECT_DOUBLE_EQ(line.between("host-4", "host-2")->latency.count(), 20e-6);
  EXPECT_DOUBLE_EQ(line.bisection()->bandwidth.count(), 3e9);
  EXPECT_EQ(line.fewest_channels("host-1"), (std::vector<int>{1, 0, 1, 2, 3, 4}));
}

TEST(Topology, RacksAreCutAtTheirUplinks) {
  const auto rack = load_topology(testing::source_folder() + "/platforms/rack.xml");
  EXPECT_DOUBLE_EQ(rack.between("node-1-1", "node-1-2")->latency.count(), 40e-6);
  EXPECT_DOUBLE_EQ(rack.between("node-1-1", "node-4-2")->latency.count(), 80e-6);
  EXPECT_EQ(rack.between("node-1-1", "node-4-2")->channels,
            (std::vector<std::string>{"cable-1-1_UP", "uplink-1_UP", "uplink-4_DOWN", "cable-4-2_DOWN"}));
  // Two racks against two racks and the server: two uplinks of 2.5 GB/s.
  EXPECT_DOUBLE_EQ(rack.bisection()->bandwidth.count(), 5e9);
}

TEST(Topology, RacksAreFoundWhenTheFileInterleavesThem) {
  // Two racks of two hosts, listed alternately, so that cutting the list in the middle splits both racks.
  const auto mixed = load(
      zone_xml("Floyd",
               "<host id=\"a0\" speed=\"1Gf\"/><host id=\"b0\" speed=\"1Gf\"/><host id=\"a1\" speed=\"1Gf\"/>"
               "<host id=\"b1\" speed=\"1Gf\"/><router id=\"ra\"/><router id=\"rb\"/>"
               "<link id=\"la0\" bandwidth=\"1GBps\" latency=\"1us\" sharing_policy=\"SPLITDUPLEX\"/>"
               "<link id=\"la1\" bandwidth=\"1GBps\" latency=\"1us\" sharing_policy=\"SPLITDUPLEX\"/>"
               "<link id=\"lb0\" bandwidth=\"1GBps\" latency=\"1us\" sharing_policy=\"SPLITDUPLEX\"/>"
               "<link id=\"lb1\" bandwidth=\"1GBps\" latency=\"1us\" sharing_policy=\"SPLITDUPLEX\"/>"
               "<link id=\"up\" bandwidth=\"0.5GBps\" latency=\"1us\" sharing_policy=\"SPLITDUPLEX\"/>"
               "<route src=\"a0\" dst=\"ra\"><link_ctn id=\"la0\" direction=\"UP\"/></route>"
               "<route src=\"a1\" dst=\"ra\"><link_ctn id=\"la1\" direction=\"UP\"/></route>"
               "<route src=\"b0\" dst=\"rb\"><link_ctn id=\"lb0\" direction=\"UP\"/></route>"
               "<route src=\"b1\" dst=\"rb\"><link_ctn id=\"lb1\" direction=\"UP\"/></route>"
               "<route src=\"ra\" dst=\"rb\"><link_ctn id=\"up\" direction=\"UP\"/></route>"));
  EXPECT_DOUBLE_EQ(mixed.bisection()->bandwidth.count(), 0.5e9);
}

TEST(Topology, TheSlowerDirectionLimitsTheBisection) {
  const auto lopsided =
      load(zone_xml("Full",
                    "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>"
                    "<link id=\"there\" bandwidth=\"4GBps\" latency=\"1us\"/><link id=\"back\" "
                    "bandwidth=\"1GBps\" latency=\"1us\"/>"
                    "<route src=\"a\" dst=\"b\" symmetrical=\"NO\"><link_ctn id=\"there\"/></route>"
                    "<route src=\"b\" dst=\"a\" symmetrical=\"NO\"><link_ctn id=\"back\"/></route>"));
  EXPECT_EQ(lopsided.between("a", "b")->bandwidth.count(), 4e9);
  EXPECT_EQ(lopsided.between("b", "a")->bandwidth.count(), 1e9);
  EXPECT_DOUBLE_EQ(lopsided.bisection()->bandwidth.count(), 1e9);
}

TEST(Topology, AHostToItselfUsesTheLoopback) {
  const TemporaryFile file(cluster_xml(2, "loopback_bw=\"5GBps\" loopback_lat=\"3us\""));
  const auto cluster = load_topology(file.path());
  EXPECT_EQ(cluster.between("n-0", "n-0")->bandwidth.count(), 5e9);
  EXPECT_DOUBLE_EQ(cluster.between("n-0", "n-0")->latency.count(), 3e-6);
}

class NoRoute : public ::testing::TestWithParam<const char*> {};

TEST_P(NoRoute, IsReportedWithoutACrash) {
  // Depending on the routing, SimGrid returns nothing, throws, aborts or crashes.
#ifdef __SANITIZE_ADDRESS__
  if (std::string(GetParam()) == "Dijkstra")
    GTEST_SKIP() << "AddressSanitizer ends the child before SimGrid's invalid access crashes it";
#endif
  const auto apart = load(zone_xml(GetParam(),
                                   "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>"
                                   "<host id=\"c\" speed=\"1Gf\"/>"));
  EXPECT_TRUE(apart.complete());
  EXPECT_FALSE(apart.between("a", "b"));
  EXPECT_EQ(apart.fewest_channels("a"), (std::vector<int>{0, -1, -1}));
  EXPECT_EQ(apart.bisection()->bandwidth.count(), 0.0);
}

INSTANTIATE_TEST_SUITE_P(Routings, NoRoute, ::testing::Values("Full", "Floyd", "Dijkstra", "None"),
                         [](const auto& instance) { return instance.param; });

TEST(Topology, RoutesAreKnownAfterManyThatSimGridAbortsOn) {
  // Vivaldi zones connect by coordinates; SimGrid aborts on each of the 288 pairs of hosts in different
  // clusters.
  std::string clusters;
  for (const std::string name : {"a", "b"})
    clusters += "<zone id=\"z-" + name + "\" routing=\"Full\"><cluster id=\"" + name + "\" prefix=\"" + name +
                "-\" radical=\"0-11\" suffix=\"\" speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\"/></zone>";
  const auto apart = load(zone_xml("Vivaldi", clusters));
  EXPECT_TRUE(apart.complete());
  EXPECT_FALSE(apart.between("a-11", "b-11"));
  ASSERT_TRUE(apart.between("b-11", "b-10"));
  EXPECT_EQ(apart.between("b-11", "b-10")->bandwidth.count(), 1e9);
  const auto cut = apart.narrowest_cut();
  EXPECT_EQ(cut->bandwidth.count(), 0.0);
  EXPECT_TRUE(cut->channels.empty());
  EXPECT_EQ(cut->from.size(), 12u);
}

TEST(Topology, RefusesFiguresThatAreNotFinite) {
  const auto error = [](const std::string& xml) -> std::string {
    const TemporaryFile file(xml);
    try {
      load_topology(file.path());
    } catch (const ConfigError& refused) {
      return refused.what();
    }
    return "none";
  };
  // SimGrid computes the latency between peers from their coordinates.
  std::string peers;
  for (const std::string name : {"a", "b"})
    peers += "<peer id=\"" + name + "\" speed=\"1Gf\" bw_in=\"1GBps\" bw_out=\"1GBps\" coordinates=\"" +
             (name == "a" ? "-" : "") + "1e308 0 0\"/>";
  const auto distance = error(zone_xml("Vivaldi", peers));
  EXPECT_NE(distance.find("platform.xml: route from host 'a' to host 'b': expected a finite bandwidth and "
                          "latency, found inf"),
            std::string::npos)
      << distance;
  const auto loopback =
      error(platform_xml("<config><prop id=\"network/loopback-lat\" value=\"inf\"/></config><zone id=\"z\" "
                         "routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/></zone>"));
  EXPECT_NE(loopback.find("link '__loopback__': expected a finite bandwidth and latency, found inf"),
            std::string::npos)
      << loopback;
}

TEST(NarrowestCut, OfEqualCutsThatOfTheLargerGroups) {
  // 1, 2 and 3 GB/s for 1, 2 and 3 hosts.
  const auto cut = load(line_xml(6)).narrowest_cut();
  EXPECT_DOUBLE_EQ(cut->bandwidth.count(), 3e9);
  ASSERT_EQ(cut->channels.size(), 1u);
  EXPECT_EQ(cut->channels.front().substr(0, 7), "cable-2");
  EXPECT_EQ(cut->from.size(), 3u);
  EXPECT_EQ(cut->as_narrow, 5);
}

/// Two clusters of these sizes, with a link between them.
std::string two_clusters(int left, int right, const std::string& link) {
  std::string body;
  for (const auto& [name, hosts] : {std::pair{"l", left}, {"r", right}})
    body += "<cluster id=\"" + std::string(name) + "\" prefix=\"" + name + "-\" radical=\"0-" +
            std::to_string(hosts - 1) + "\" suffix=\"\" speed=\"1Gf\" bw=\"1.25GBps\" lat=\"10us\"/>";
  return zone_xml("Full", body + "<link id=\"between\" " + link +
                              "/><zoneRoute src=\"l\" dst=\"r\" gw_src=\"l-l_router\" gw_dst=\"r-r_router\">"
                              "<link_ctn id=\"between\"/></zoneRoute>");
}

TEST(NarrowestCut, IsTheLinkBetweenUnequalGroups) {
  // The half with the left cluster is larger than it, so that no bisection has the link alone.
  const auto lopsided = load(two_clusters(3, 9, "bandwidth=\"125MBps\" latency=\"10us\""));
  EXPECT_GT(lopsided.bisection()->bandwidth.count(), 1e9);
  const auto cut = lopsided.narrowest_cut();
  EXPECT_DOUBLE_EQ(cut->bandwidth.count(), 125e6);
  EXPECT_EQ(cut->channels, std::vector<std::string>{"between"});
  EXPECT_EQ(std::min(cut->from.size(), cut->to.size()), 3u);
}

TEST(LongNarrowestCut, IsFoundInASampleOfThousandsOfHosts) {
  const TemporaryFile file(two_clusters(1000, 4000, "bandwidth=\"10GBps\" latency=\"10us\""));
  const auto cut = load_overview(file.path()).topology.narrowest_cut();
  EXPECT_DOUBLE_EQ(cut->bandwidth.count(), 10e9);
  EXPECT_EQ(cut->channels, std::vector<std::string>{"between"});
}

TEST(NarrowestCut, WithOneSlowHostIsItsLink) {
  const auto rack = load_topology(testing::source_folder() + "/platforms/mixed_lab.xml");
  const auto cut = rack.narrowest_cut();
  EXPECT_DOUBLE_EQ(cut->bandwidth.count(), 12.5e6);
  const auto& alone = cut->from.size() == 1 ? cut->from : cut->to;
  EXPECT_EQ(alone, std::vector<std::string>{"node-5"});
}

TEST(Topology, OfSomeHostsOnly) {
  const TemporaryFile file(cluster_xml(50));
  const auto three = load_topology(file.path(), {.hosts = {"n-7", "n-40", "n-3"}});
  EXPECT_EQ(three.routes().size(), 6u);
  EXPECT_TRUE(three.between("n-40", "n-3"));
  EXPECT_THROW(three.between("n-40", "n-4"), ConfigError);
  EXPECT_THROW(load_topology(file.path(), {.hosts = {"n-77"}}), ConfigError);
}

TEST(Topology, ManyHostsAreSampledAndOtherPairsComputedOnDemand) {
  const int hosts = 1000;
  const TemporaryFile file(cluster_xml(hosts));
  const auto large = load_topology(file.path());
  EXPECT_FALSE(large.complete());
  EXPECT_LT(large.routes().size(), 30u * hosts);
  EXPECT_DOUBLE_EQ(large.bisection()->bandwidth.count(), 500e9);
  int asked = 0;
  for (int other = 1; other < hosts && asked < 3; ++other) {
    if (large.routes().count({0, other}) > 0) continue;
    const auto path = large.between("n-0", "n-" + std::to_string(other));
    ASSERT_TRUE(path);
    EXPECT_EQ(path->bandwidth.count(), 1e9);
    EXPECT_DOUBLE_EQ(path->latency.count(), 2e-6);
    ++asked;
  }
  EXPECT_EQ(asked, 3);
}

/// Six hosts with a link of 1 GB/s between those of equal parity, and of `across` otherwise.
std::string parity_xml(const std::string& across) {
  std::string hosts, links, routes;
  for (int a = 0; a < 6; ++a) {
    hosts += fmt::format("<host id='h{}' speed='1Gf'/>", a);
    for (int b = a + 1; b < 6; ++b) {
      links += fmt::format("<link id='l{}{}' bandwidth='{}' latency='1us'/>", a, b,
                           (b - a) % 2 == 0 ? "1GBps" : across);
      routes += fmt::format("<route src='h{0}' dst='h{1}'><link_ctn id='l{0}{1}'/></route>", a, b);
    }
  }
  return zone_xml("Full", hosts + links + routes);
}

TEST(Bisection, IsExactWhereHostsAreOfFewKinds) {
  struct Case {
    const char* what;
    std::string xml;
    double bandwidth;
    bool exact;
  };
  const std::string slow = "bandwidth=\"125MBps\" latency=\"10us\"";
  for (const Case& one :
       {// The halves h0, h2, h4 and h1, h3, h5 are next to each other neither in the file nor by channels;
        // nine links of 10 MB/s are between them.
        Case{"hosts in turns", parity_xml("10MBps"), 90e6, true},
        // Links across of 4 GB/s: each half has two hosts of one parity and one of the other. Of the nine
        // links between the halves, 2 x 1 + 1 x 2 are of 1 GB/s, and 2 x 2 + 1 x 1 of 4 GB/s.
        Case{"hosts in turns, fast across", parity_xml("4GBps"), 4 * 1e9 + 5 * 4e9, true},
        // The whole left cluster of 3 and 3 hosts of the right one: these 3 send 1.25 GB/s each, and the
        // left cluster 125 MB/s.
        Case{"two clusters, 3 and 9 hosts", two_clusters(3, 9, slow), 3 * 1.25e9 + 125e6, true},
        Case{"two clusters of 60", two_clusters(60, 60, slow), 125e6, true},
        // Cables of 1, 2, 3 ... GB/s between 16 hosts, each of its own kind: the middle one is the eighth.
        Case{"a long line", line_xml(16), 8e9, false}}) {
    const auto found = load(one.xml).bisection();
    ASSERT_TRUE(found) << one.what;
    EXPECT_DOUBLE_EQ(found->bandwidth.count(), one.bandwidth) << one.what;
    EXPECT_EQ(found->exact, one.exact) << one.what;
  }
}

TEST(Topology, OneHostHasNoBisection) { EXPECT_FALSE(load(cluster_xml(1)).bisection()); }

}  // namespace TANDEM_FILE
}  // namespace tandem::platforms
