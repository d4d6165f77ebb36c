// `price` on a network whose channels are shared: equal to the closed form if nothing is shared, else
// determined by the load of the uplinks.
#include "policies/collectives/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "policies/collectives/shapes.hpp"
#include "tests/policies/collectives/schedules.hpp"
#include "tests/support/names.hpp"

namespace tandem::collectives {
namespace TANDEM_FILE {

constexpr double alpha = 0x1p-16;
constexpr double beta = 0x1p-30;
constexpr double gamma = 0x1p-32;
constexpr Bytes float_size{4};

Seconds reduce(int, Bytes size) { return Seconds(static_cast<double>(size.count()) * gamma); }

/// Racks of `members` participants on full-duplex links; each rack has an uplink that takes `uplink` times as
/// long per byte. A single rack is a star without an uplink.
Network racks_of(int racks, int members, double uplink) {
  Network network;
  network.hosts = racks * members;
  for (int host = 0; host < network.hosts; ++host) {
    network.host_of.push_back(host);
    network.channels.push_back({beta, true});  // 2 * host: to the switch
    network.channels.push_back({beta, true});  // 2 * host + 1: from the switch
  }
  const int first_uplink = static_cast<int>(network.channels.size());
  for (int rack = 0; rack < 2 * racks; ++rack) network.channels.push_back({uplink * beta, true});
  for (int from = 0; from < network.hosts; ++from)
    for (int to = 0; to < network.hosts; ++to) {
      Network::Route route{Seconds(alpha), {2 * from, 2 * to + 1}};
      if (from / members != to / members) {
        route.channels.push_back(first_uplink + 2 * (from / members));
        route.channels.push_back(first_uplink + 2 * (to / members) + 1);
      }
      network.routes.push_back(route);
    }
  return network;
}

double priced(MakeSchedule make, const Groups& groups, std::int64_t elements, const Network& network) {
  return price(schedules_of(make, groups, elements), float_size, network, reduce).count();
}

class NetworkPrice : public ::testing::TestWithParam<std::string> {};

TEST_P(NetworkPrice, EqualsTheClosedFormOnAStar) {
  const auto make = catalog().find(GetParam()).make;
  for (const int size : {1, 2, 4, 8, 16}) {
    const std::int64_t elements = 96L * size;
    EXPECT_EQ(priced(make, size, elements, racks_of(1, size, 1)),
              price(make, size, elements, float_size, {Seconds(alpha), beta, gamma}).count())
        << "size " << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, NetworkPrice, ::testing::ValuesIn(catalog().names()),
                         testing::catalog_name);

TEST(NetworkPrice, OfARingIsThatOfItsMostLoadedUplink) {
  // Six participants in two racks; an uplink is as fast as a participant's link.
  const Network network = racks_of(2, 3, 1);
  const auto ring_with = [&](double flows) {
    const double part = 96.0 * 4;
    return 10 * (alpha + flows * part * beta) + 5 * part * gamma;
  };
  const auto in_order = [&](const std::vector<int>& order) {
    std::vector<Schedule> schedules;
    const Schedules by_participant = arranged(MakeSchedule(ring), {order, {6}});
    for (int self = 0; self < 6; ++self) schedules.push_back(by_participant(self, 96L * 6));
    return price(schedules, float_size, network, reduce).count();
  };
  EXPECT_EQ(in_order({0, 1, 2, 3, 4, 5}), ring_with(1));
  EXPECT_EQ(in_order({2, 0, 1, 5, 4, 3}), ring_with(1));
  EXPECT_EQ(in_order({0, 3, 1, 4, 2, 5}), ring_with(3));
}

TEST(NetworkPrice, OfAHierarchyLoadsUplinksOnlyAcrossRacks) {
  // Two rounds within a rack and one across racks in each direction; three members share the uplink.
  constexpr std::int64_t elements = 96 * 6;
  const double segment = 96.0 * 2 * 4;
  const double part = 96.0 * 4;
  EXPECT_EQ(priced(hierarchical, Groups({3, 3}), elements, racks_of(2, 3, 8)),
            4 * (alpha + segment * beta) + 2 * (alpha + 3 * 8 * part * beta) + (2 * segment + part) * gamma);
}

/// Hosts in a circle, each with a full-duplex link to the next and the previous one; routes go the shorter
/// way.
Network circle_of(int hosts) {
  Network network;
  network.hosts = hosts;
  for (int host = 0; host < hosts; ++host) {
    network.host_of.push_back(host);
    network.channels.push_back({beta, true});  // 2 * host: to the next one
    network.channels.push_back({beta, true});  // 2 * host + 1: from the next one
  }
  for (int from = 0; from < hosts; ++from)
    for (int to = 0; to < hosts; ++to) {
      Network::Route route{Seconds(alpha), {}};
      const int ahead = (to - from + hosts) % hosts;
      for (int at = from; ahead <= hosts / 2 && at != to; at = (at + 1) % hosts)
        route.channels.push_back(2 * at);
      for (int at = from; ahead > hosts / 2 && at != to; at = (at + hosts - 1) % hosts)
        route.channels.push_back(2 * ((at + hosts - 1) % hosts) + 1);
      network.routes.push_back(std::move(route));
    }
  return network;
}

/// Hosts in a torus of width x width, with full-duplex links to four neighbours; routes go along the row
/// first.
Network torus_of(int width) {
  Network network;
  network.hosts = width * width;
  const auto host_at = [width](int row, int column) {
    return (row + width) % width * width + (column + width) % width;
  };
  // Of host h: 4 h to the right, 4 h + 1 to the left, 4 h + 2 down, 4 h + 3 up.
  network.channels.assign(static_cast<std::size_t>(4 * network.hosts), {beta, true});
  for (int host = 0; host < network.hosts; ++host) network.host_of.push_back(host);
  for (int from = 0; from < network.hosts; ++from)
    for (int to = 0; to < network.hosts; ++to) {
      Network::Route route{Seconds(alpha), {}};
      int row = from / width;
      int column = from % width;
      const auto go = [&](int& at, int target, int forward) {
        const bool is_ahead = (target - at + width) % width <= width / 2;
        for (; at != target; at = (at + (is_ahead ? 1 : width - 1)) % width)
          route.channels.push_back(4 * host_at(row, column) + forward + (is_ahead ? 0 : 1));
      };
      go(column, to % width, 0);
      go(row, to / width, 2);
      network.routes.push_back(std::move(route));
    }
  return network;
}

/// Each is a circle through all participants, and no shared channel is used twice.
void expect_disjoint(const std::vector<std::vector<int>>& rings, const Network& network) {
  std::vector<int> uses(network.channels.size(), 0);
  for (const auto& ring : rings) {
    std::vector<int> sorted = ring;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, network.host_of);
    for (std::size_t i = 0; i < ring.size(); ++i)
      for (const int channel : network.route(ring[i], ring[(i + 1) % ring.size()]).channels)
        EXPECT_EQ(++uses[static_cast<std::size_t>(channel)], 1) << "channel " << channel;
  }
}

TEST(DisjointRings, OfACircleGoBothWays) {
  for (const int hosts : {3, 4, 5, 8}) {
    const Network network = circle_of(hosts);
    const auto rings = disjoint_rings(network, 8);
    EXPECT_EQ(rings.size(), 2U) << hosts;
    expect_disjoint(rings, network);
    EXPECT_EQ(disjoint_rings(network, 1).size(), 1U);
  }
}

TEST(DisjointRings, OfATorusUseAllFourLinksOfAHost) {
  for (const int width : {3, 4, 5}) {
    const Network network = torus_of(width);
    const auto rings = disjoint_rings(network, 8);
    EXPECT_EQ(rings.size(), 4U) << width;
    expect_disjoint(rings, network);
  }
}

TEST(DisjointRings, OfAStarAreOneRing) {
  for (const int hosts : {3, 6}) {
    const Network network = racks_of(1, hosts, 1);
    const auto rings = disjoint_rings(network, 8);
    EXPECT_EQ(rings.size(), 1U);
    expect_disjoint(rings, network);
  }
}

TEST(DisjointRings, AreNoneWithoutRoutes) {
  Network network = circle_of(4);
  for (auto& route : network.routes) route.latency = Seconds(std::numeric_limits<double>::infinity());
  EXPECT_TRUE(disjoint_rings(network, 8).empty());
}

/// k disjoint rings send 1 / k of the bytes of one over each link.
TEST(NetworkPrice, OfDisjointRingsDividesTheTimeOfTransfers) {
  const auto priced_in = [](const Network& network, const std::vector<std::vector<int>>& rings) {
    std::vector<Arrangement> arrangements;
    for (const auto& ring : rings) arrangements.push_back({ring, {network.hosts}});
    const Schedules of = in_copies(ring, arrangements);
    std::vector<Schedule> schedules;
    for (int self = 0; self < network.hosts; ++self) schedules.push_back(of(self, 4L * 96 * network.hosts));
    return price(schedules, float_size, network, [](int, Bytes) { return Seconds(0.0); }).count();
  };
  for (const Network& network : {circle_of(4), torus_of(4)}) {
    const auto rings = disjoint_rings(network, 8);
    const double steps = 2 * (network.hosts - 1);
    const double bytes = 4 * 96 * 4;
    EXPECT_EQ(priced_in(network, {rings.front()}), steps * (alpha + bytes * beta));
    EXPECT_EQ(priced_in(network, rings), steps * (alpha + bytes / static_cast<double>(rings.size()) * beta));
  }
}

TEST(NetworkPrice, UnsharedChannelsHaveNoContention) {
  Network network = racks_of(2, 3, 1);
  for (auto& channel : network.channels) channel.shared = false;
  EXPECT_EQ(priced(ring, 6, 96 * 6, network),
            price(ring, 6, 96 * 6, float_size, {Seconds(alpha), beta, gamma}).count());
}

TEST(NetworkPrice, WithinAPlaceUsesTheRouteOfThatPlace) {
  Network network = racks_of(1, 1, 1);
  network.host_of = {0, 0};
  network.routes.front() = {Seconds(2 * alpha), {}};
  EXPECT_EQ(priced(tree, 2, 96, network), 2 * 2 * alpha + 96 * 4 * gamma);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::collectives
