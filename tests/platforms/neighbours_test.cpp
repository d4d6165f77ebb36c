// Which hosts are adjacent and which form groups: racks, lines, unequal links, and random trees.
#include "platforms/neighbours.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "policies/vocabulary/rng.hpp"
#include "tests/platforms/platform_text.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::platforms {
namespace TANDEM_FILE {

using Names = std::vector<std::string>;

Names named(const Network& network, const std::vector<int>& order) {
  Names names;
  for (const int host : order) names.push_back(network.hosts[static_cast<std::size_t>(host)]);
  return names;
}

/// Hosts of each group, groups in the order of their first hosts.
std::vector<Names> groups_of(const Network& network, const std::vector<int>& level) {
  std::vector<int> seen;
  std::vector<Names> groups;
  for (std::size_t host = 0; host < level.size(); ++host) {
    const auto known = std::find(seen.begin(), seen.end(), level[host]) - seen.begin();
    if (known == static_cast<std::ptrdiff_t>(seen.size())) {
      seen.push_back(level[host]);
      groups.emplace_back();
    }
    groups[static_cast<std::size_t>(known)].push_back(network.hosts[host]);
  }
  return groups;
}

TEST(Neighbours, OfTwoAlternatingRacksAreOrderedByRack) {
  const auto network = load_network(testing::source_folder() + "/platforms/two_racks.xml",
                                    {"node-1-1", "node-2-1", "node-1-2", "node-2-2", "node-1-3", "node-2-3"});
  const Names by_rack = {"node-1-1", "node-1-2", "node-1-3", "node-2-1", "node-2-2", "node-2-3"};
  ASSERT_EQ(network.orders.size(), 2U);
  EXPECT_EQ(named(network, network.orders[0]), by_rack);
  EXPECT_EQ(named(network, network.orders[1]), by_rack);
  ASSERT_EQ(network.levels.size(), 1U);
  EXPECT_EQ(groups_of(network, network.levels[0]),
            (std::vector<Names>{{"node-1-1", "node-1-2", "node-1-3"}, {"node-2-1", "node-2-2", "node-2-3"}}));
}

TEST(Neighbours, OfAStarKeepTheirOrderAndFormNoGroups) {
  const TemporaryFile file(cluster_xml(6));
  const auto network = load_network(file.path(), {"n-3", "n-0", "n-5", "n-1"});
  EXPECT_EQ(network.orders, (std::vector<std::vector<int>>{{0, 1, 2, 3}, {0, 1, 2, 3}}));
  EXPECT_TRUE(network.levels.empty());
}

TEST(Neighbours, OfALineAreOrderedAlongIt) {
  const TemporaryFile file(line_xml(6));
  const auto network =
      load_network(file.path(), {"host-4", "host-1", "host-5", "host-0", "host-3", "host-2"});
  Names line = named(network, network.orders[0]);
  if (line.front() > line.back()) std::reverse(line.begin(), line.end());
  EXPECT_EQ(line, (Names{"host-0", "host-1", "host-2", "host-3", "host-4", "host-5"}));
}

/// Four hosts, each pair connected by a separate cable; the cables a-c and b-d are wide.
std::string unequal_cables() {
  std::string hosts;
  for (const char* host : {"a", "b", "c", "d"})
    hosts += std::string("<host id=\"") + host + "\" speed=\"1Gf\"/>";
  std::string links;
  std::string routes;
  const auto add_cable = [&](const std::string& from, const std::string& to, const std::string& bandwidth) {
    links += "<link id=\"" + from + to + "\" bandwidth=\"" + bandwidth +
             "\" latency=\"1us\" sharing_policy=\"SPLITDUPLEX\"/>";
    routes += "<route src=\"" + from + "\" dst=\"" + to + "\"><link_ctn id=\"" + from + to +
              "\" direction=\"UP\"/></route>";
  };
  add_cable("a", "b", "1GBps");
  add_cable("a", "c", "9GBps");
  add_cable("a", "d", "1GBps");
  add_cable("b", "c", "3GBps");
  add_cable("b", "d", "9GBps");
  add_cable("c", "d", "1GBps");
  return zone_xml("Full", hosts + links + routes);
}

TEST(Neighbours, WithWideCablesAreAdjacent) {
  const TemporaryFile file(unequal_cables());
  const auto network = load_network(file.path(), {"a", "b", "c", "d"});
  // The two wide pairs, connected by the widest of the other cables.
  EXPECT_EQ(named(network, network.orders[1]), (Names{"a", "c", "b", "d"}));
}

TEST(Neighbours, OfOneHostAreJustThatHost) {
  const TemporaryFile file(cluster_xml(2, "loopback_bw=\"5GBps\" loopback_lat=\"3us\""));
  const auto network = load_network(file.path(), {"n-1"});
  EXPECT_EQ(network.orders, (std::vector<std::vector<int>>{{0}, {0}}));
  ASSERT_EQ(network.routes.size(), 1U);
  ASSERT_TRUE(network.routes[0]);
  EXPECT_DOUBLE_EQ(network.routes[0]->latency.count(), 3e-6);
}

TEST(Neighbours, HostsOfALargeClusterAreLikeOne) {
  const TemporaryFile file(cluster_xml(3000));
  Names hosts;
  for (int i = 0; i < 3000; ++i) hosts.push_back("n-" + std::to_string(i));
  const auto network = load_network(file.path(), hosts, {"n-7"});
  EXPECT_TRUE(network.routes.empty());
  ASSERT_EQ(network.like.size(), 3000U);
  EXPECT_EQ(network.like[2999], network.like[0]);
  EXPECT_EQ(network.like[7], 7) << "a hub has routes of its own";
  ASSERT_EQ(network.of_hubs.size(), 2U) << "from and to it, of all others";
  // Each has a link of its own; that of the hub is one for all.
  const auto& channels = network.of_hubs.at({0, 7}).channels;
  ASSERT_EQ(channels.size(), 2U);
  EXPECT_TRUE(network.channels[static_cast<std::size_t>(channels.front())].of_each);
  EXPECT_FALSE(network.channels[static_cast<std::size_t>(channels.back())].of_each);
  EXPECT_DOUBLE_EQ(network.typical.latency.count(), 2e-6);
  EXPECT_EQ(network.typical.bandwidth.count(), 1e9);
}

TEST(Neighbours, OfTooManyHostsAreNotComputed) {
  const TemporaryFile file(cluster_xml(300));
  Names hosts;
  for (int i = 0; i < 300; ++i) hosts.push_back("n-" + std::to_string(i));
  const auto network = load_network(file.path(), hosts, {"n-7"});
  EXPECT_TRUE(network.known());
  EXPECT_TRUE(network.routes.empty());
  // All of the hub, in both directions; they share its link.
  ASSERT_EQ(network.of_hubs.size(), 2U * 299);
  EXPECT_EQ(network.of_hubs.at({3, 7}).channels.back(), network.of_hubs.at({250, 7}).channels.back());
  EXPECT_TRUE(network.orders.empty());
  EXPECT_DOUBLE_EQ(network.typical.latency.count(), 2e-6);
  EXPECT_EQ(network.typical.bandwidth.count(), 1e9);
}

/// A tree of switches with all hosts at the same depth, listed in any order. Channel 2s leads up from node s
/// of the tree, 2s + 1 down to it.
Topology random_tree(Rng& rng, int depth) {
  std::vector<int> parents = {-1};
  std::vector<int> level = {0};
  for (int down = 0; down < depth; ++down) {
    std::vector<int> next;
    for (const int parent : level)
      for (auto children = 1 + rng.below(4); children > 0; --children) {
        next.push_back(static_cast<int>(parents.size()));
        parents.push_back(parent);
      }
    level = next;
  }
  for (std::size_t i = level.size(); i > 1; --i) std::swap(level[i - 1], level[rng.below(i)]);
  std::vector<Channel> channels;
  for (std::size_t node = 0; node < parents.size(); ++node)
    for (const char* way : {"up-", "down-"})
      channels.push_back({way + std::to_string(node), BytesPerSecond(1e9), Seconds(1e-6), true});
  Names names;
  Topology::Routes routes;
  for (std::size_t from = 0; from < level.size(); ++from) {
    names.push_back("host-" + std::to_string(level[from]));
    for (std::size_t to = 0; to < level.size(); ++to) {
      Route route{{}, Seconds(0.0)};
      std::vector<int> down;
      for (int a = level[from], b = level[to]; a != b;) {
        route.channels.push_back(2 * a);
        down.push_back(2 * b + 1);
        a = parents[static_cast<std::size_t>(a)];
        b = parents[static_cast<std::size_t>(b)];
      }
      route.channels.insert(route.channels.end(), down.rbegin(), down.rend());
      route.latency = Seconds(1e-6 * static_cast<double>(route.channels.size()));
      routes[{static_cast<int>(from), static_cast<int>(to)}] = route;
    }
  }
  return Topology(names, channels, routes);
}

TEST(Neighbours, OfATreeFormARingThatUsesEachChannelOnce) {
  for (const auto seed : testing::seeds(100)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const auto network = describe_network(random_tree(rng, 1 + static_cast<int>(seed % 3)));
    const auto& order = network.orders[0];
    std::map<int, int> times;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto from = static_cast<std::size_t>(order[i]);
      const auto to = static_cast<std::size_t>(order[(i + 1) % order.size()]);
      for (const int channel : network.routes[from * order.size() + to]->channels) ++times[channel];
    }
    for (const auto& [channel, count] : times)
      EXPECT_EQ(count, 1) << network.channels[static_cast<std::size_t>(channel)].name;
    // The groups of each level are contiguous in the order, too.
    for (const auto& level : network.levels) {
      int runs = 1;
      for (std::size_t i = 1; i < order.size(); ++i)
        runs += level[static_cast<std::size_t>(order[i])] != level[static_cast<std::size_t>(order[i - 1])]
                    ? 1
                    : 0;
      EXPECT_EQ(runs, static_cast<int>(groups_of(network, level).size()));
    }
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::platforms
