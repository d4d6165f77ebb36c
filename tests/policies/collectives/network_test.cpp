// `price` on a network whose channels are shared: equal to the closed form if nothing is shared, else
// determined by the load of the uplinks.
#include "policies/collectives/network.hpp"

#include <gtest/gtest.h>

#include "policies/collectives/shapes.hpp"
#include "tests/policies/collectives/schedules.hpp"
#include "tests/support/names.hpp"

namespace tandem::collectives {
namespace {

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

}  // namespace
}  // namespace tandem::collectives
