// The emulated cluster as data: every pair's packets take exactly the channels of its route, in a separate
// class of each channel, and the text for the kernel agrees. Needs no special rights.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "runtime/cluster/measurement.hpp"
#include "runtime/cluster/plan.hpp"
#include "runtime/cluster/script.hpp"
#include "runtime/launcher/launcher.hpp"
#include "tests/support/cluster_walk.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::cluster {
namespace TANDEM_FILE {

using testing::seeds;
using testing::walk;

/// Any channels in any order, also asymmetric routes and routes that depend on the sender.
Wiring random_wiring(std::uint64_t seed) {
  Rng rng = Rng::stream(seed, "wiring");
  const auto below = [&](int limit) {
    return static_cast<int>(rng.below(static_cast<std::uint64_t>(limit)));
  };
  Wiring wiring;
  const int hosts = 2 + below(7);
  const int channels = 1 + below(10);
  for (int host = 0; host < hosts; ++host) wiring.hosts.push_back(testing::numbered('n', host));
  for (int channel = 0; channel < channels; ++channel)
    wiring.channels.push_back({testing::numbered('c', channel), BytesPerSecond(std::pow(10.0, 4 + below(6))),
                               Seconds(1e-6 * below(100)), below(4) != 0});
  for (int from = 0; from < hosts; ++from)
    for (int to = 0; to < hosts; ++to) {
      if (from == to || below(10) == 0) continue;
      std::vector<int> way;
      for (int channel = 0; channel < channels; ++channel)
        if (below(3) == 0) way.insert(way.begin() + below(static_cast<int>(way.size()) + 1), channel);
      wiring.routes[{from, to}] = {way, Seconds(1e-4)};
    }
  return wiring;
}

/// Three hosts around a switch; both directions share the cable of the last host.
Wiring star() {
  Wiring wiring{{"a", "b", "c"}, {}, {}};
  for (const char* name : {"a_UP", "a_DOWN", "b_UP", "b_DOWN", "c"})
    wiring.channels.push_back({name, BytesPerSecond(name[0] == 'c' ? 1e6 : 1e7), Seconds(1e-3), true});
  wiring.routes = {{{0, 1}, {{0, 3}, Seconds(2e-3)}}, {{1, 0}, {{2, 1}, Seconds(2e-3)}},
                   {{0, 2}, {{0, 4}, Seconds(2e-3)}}, {{2, 0}, {{4, 1}, Seconds(2e-3)}},
                   {{1, 2}, {{2, 4}, Seconds(2e-3)}}, {{2, 1}, {{4, 3}, Seconds(2e-3)}}};
  return wiring;
}

TEST(ClusterPlan, EveryPairUsesItsRoute) {
  for (const auto seed : seeds(300)) {
    TANDEM_TRACE_SEED(seed);
    const Wiring wiring = random_wiring(seed);
    for (const bool delays : {false, true}) {
      const Plan plan = make_plan("test", wiring, delays);
      for (const auto& [pair, route] : wiring.routes) EXPECT_EQ(walk(plan, pair), route.channels);
    }
  }
}

TEST(ClusterPlan, ShapersListTheirPairs) {
  for (const auto seed : seeds(100)) {
    TANDEM_TRACE_SEED(seed);
    const Wiring wiring = random_wiring(seed);
    const Plan plan = make_plan("test", wiring, true);
    std::set<std::pair<int, Pair>> expected, found;
    for (const auto& [pair, route] : wiring.routes)
      for (const int channel : route.channels) expected.insert({channel, pair});
    for (const auto& shaper : plan.shapers) {
      for (const auto& pair : shaper.pairs) found.insert({shaper.channel, pair});
      const auto& channel = wiring.channels[static_cast<std::size_t>(shaper.channel)];
      EXPECT_TRUE(shaper.front || channel.latency == Seconds(0.0));
      // No packet is longer than the shaper's limit, unless the front splits it.
      for (const auto& [from, to] : shaper.pairs)
        EXPECT_TRUE(shaper.front || plan.hosts[static_cast<std::size_t>(from)].segments <= shaper.segments);
    }
    EXPECT_EQ(expected, found);
  }
}

TEST(ClusterPlan, WithoutDelaysOnlySlowShapersBehindFastSendersHaveAFront) {
  const Plan plan = make_plan("test", star(), false);
  for (const auto& shaper : plan.shapers) EXPECT_FALSE(shaper.front) << shaper.channel;
  Wiring wiring = star();
  for (int channel = 0; channel < 4; ++channel)
    wiring.channels[static_cast<std::size_t>(channel)].bandwidth = BytesPerSecond(1e9);
  for (const auto& shaper : make_plan("test", wiring, false).shapers)
    EXPECT_EQ(shaper.front, shaper.channel == 4);
}

TEST(ClusterPlan, ErrorsNameWhatCannotBeEmulated) {
  const auto message = [](const Wiring& wiring) -> std::string {
    try {
      make_plan("test", wiring, false);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  Wiring wiring = star();
  wiring.routes[{0, 1}].channels = {0, 3, 0};
  EXPECT_NE(message(wiring).find("takes link 'a_UP' twice"), std::string::npos) << message(wiring);
  wiring = star();
  wiring.channels[2].bandwidth = BytesPerSecond(0.0);
  EXPECT_NE(message(wiring).find("link 'b_UP'"), std::string::npos) << message(wiring);
  wiring = Wiring{std::vector<std::string>(65, "n"), {}, {}};
  EXPECT_NE(message(wiring).find("65 hosts"), std::string::npos) << message(wiring);
  EXPECT_NE(message(Wiring{{"a"}, {}, {}}).find("two hosts"), std::string::npos);
}

TEST(ClusterPlan, OddNamesGetAliases) {
  Wiring wiring = star();
  wiring.hosts = {"fabric", "node-1.lab", "3:x y"};
  const Plan plan = make_plan("test", wiring, false);
  EXPECT_EQ(plan.hosts[0].alias, "host-0");
  EXPECT_EQ(plan.hosts[1].alias, "node-1.lab");
  EXPECT_EQ(plan.hosts[2].alias, "host-2");
  EXPECT_EQ(cluster_id("some/where/my lab.v2.xml"), "my_lab_v2");
}

TEST(ClusterScript, Golden) {
  const Wiring wiring{{"a", "b"},
                      {{"cable", BytesPerSecond(1.25e7), Seconds(5e-5), true}},
                      {{{0, 1}, {{0}, Seconds(5e-5)}}, {{1, 0}, {{0}, Seconds(5e-5)}}}};
  const Plan plan = make_plan("lab", wiring, true);
  EXPECT_EQ(
      fabric_devices(plan),
      "link set lo up\n"
      "link add name h0 address 02:00:00:00:00:01 type veth peer name eth0 address 02:00:00:00:00:01 netns "
      "tandem.lab.a\n"
      "link set h0 arp off up\n"
      "link add name x0 address 02:00:00:00:00:01 type veth peer name eth1 address 02:00:00:00:00:01 netns "
      "tandem.lab.a\n"
      "link set x0 arp off up\n"
      "addr add 10.78.255.254/32 dev x0\n"
      "route add 10.78.0.1/32 dev x0 src 10.78.255.254\n"
      "link add name h1 address 02:00:00:00:00:01 type veth peer name eth0 address 02:00:00:00:00:01 netns "
      "tandem.lab.b\n"
      "link set h1 arp off up\n"
      "link add name x1 address 02:00:00:00:00:01 type veth peer name eth1 address 02:00:00:00:00:01 netns "
      "tandem.lab.b\n"
      "link set x1 arp off up\n"
      "route add 10.78.0.2/32 dev x1 src 10.78.255.254\n"
      "link add name s0 address 02:00:00:00:00:01 type veth peer name t0 address 02:00:00:00:00:01\n"
      "link set s0 arp off up\n"
      "link set t0 arp off up\n"
      "link set s0 gso_max_segs 2\n"
      "link add name a0 address 02:00:00:00:00:01 type veth peer name b0 address 02:00:00:00:00:01\n"
      "link set a0 arp off up\n"
      "link set b0 arp off up\n"
      "rule add pref 200 iif b0 lookup 1000\n"
      "route add 10.77.0.1/32 dev h0 table 1000\n"
      "route add 10.77.0.2/32 dev h1 table 1000\n"
      "rule add pref 200 iif h0 lookup 1001\n"
      "route add 10.77.0.2/32 dev s0 table 1001\n"
      "rule add pref 200 iif h1 lookup 1002\n"
      "route add 10.77.0.1/32 dev s0 table 1002\n"
      "rule add pref 200 iif t0 lookup 1003\n"
      "route add 10.77.0.1/32 dev a0 table 1003\n"
      "route add 10.77.0.2/32 dev a0 table 1003\n");
  EXPECT_EQ(
      shaping(plan),
      "qdisc add dev a0 root handle 1: htb default 0\n"
      "class add dev a0 parent 1: classid 1:1 htb rate 104558011bit burst 7841 cburst 7841 quantum 3028\n"
      "class add dev a0 parent 1:1 classid 1:2 htb rate 64000bit ceil 104558011bit burst 1514 cburst 7841 "
      "quantum "
      "3028\n"
      "qdisc add dev a0 parent 1:2 pfifo limit 1000000\n"
      "class add dev a0 parent 1:1 classid 1:3 htb rate 64000bit ceil 104558011bit burst 1514 cburst 7841 "
      "quantum "
      "3028\n"
      "qdisc add dev a0 parent 1:3 pfifo limit 1000000\n"
      "filter add dev a0 parent 1: protocol ip prio 1 u32 match u16 0 0xffc0 at 2 flowid 1:0\n"
      "filter add dev a0 parent 1: protocol ip prio 2 handle 2: u32 divisor 256\n"
      "filter add dev a0 parent 1: protocol ip prio 2 u32 ht 2:2: match ip src 10.77.0.1/32 match ip dst "
      "10.77.0.2/32 "
      "flowid 1:2\n"
      "filter add dev a0 parent 1: protocol ip prio 2 u32 ht 2:1: match ip src 10.77.0.2/32 match ip dst "
      "10.77.0.1/32 "
      "flowid 1:3\n"
      "filter add dev a0 parent 1: protocol ip prio 2 u32 ht 800:: match u32 0 0 hashkey mask 0x000000ff at "
      "16 link "
      "2:\n"
      "qdisc add dev s0 root netem delay 50000ns limit 1000000\n");
  EXPECT_EQ(hosts_file(plan), "127.0.0.1 localhost\n10.78.255.254 fabric\n10.77.0.1 a\n10.77.0.2 b\n");
}

TEST(ClusterWiring, SurvivesJson) {
  for (const auto seed : seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    const Wiring wiring = random_wiring(seed);
    EXPECT_EQ(wiring_from_json(nlohmann::json::parse(to_json(wiring).dump())), wiring);
  }
}

TEST(ClusterWiring, MaxMinShares) {
  const Wiring wiring = star();
  const auto rates = [&](const std::vector<Pair>& flows) {
    std::vector<double> counts;
    for (const auto rate : max_min_rates(wiring, flows)) counts.push_back(rate.count());
    return counts;
  };
  EXPECT_EQ(rates({{0, 1}}), std::vector<double>{1e7});
  EXPECT_EQ(rates({{0, 1}, {1, 0}}), (std::vector<double>{1e7, 1e7}));
  // One cable is shared by both directions.
  EXPECT_EQ(rates({{0, 2}, {2, 0}}), (std::vector<double>{5e5, 5e5}));
  // The other flow gets what the slow one leaves.
  EXPECT_EQ(rates({{1, 0}, {2, 0}}), (std::vector<double>{9e6, 1e6}));
}

TEST(ClusterMeasurements, EveryChannelIsSaturatedByAMeasurement) {
  for (const bool few : {false, true}) {
    const Wiring wiring = star();
    const auto list = plan_measurements(wiring, {.all_pairs_up_to = few ? 2 : 8});
    for (std::size_t channel = 0; channel < wiring.channels.size(); ++channel) {
      const bool filled = std::any_of(list.begin(), list.end(), [&](const Measurement& measurement) {
        double sum = 0.0;
        for (const auto& flow : measurement.flows) {
          const auto& way = wiring.routes.at({flow.from, flow.to}).channels;
          if (std::find(way.begin(), way.end(), static_cast<int>(channel)) != way.end())
            sum += flow.expected.count();
        }
        return std::abs(sum / wiring.channels[channel].bandwidth.count() - 1.0) < 1e-9;
      });
      EXPECT_TRUE(filled) << wiring.channels[channel].name;
    }
    const auto again = measurements_from_json(nlohmann::json::parse(to_json(list).dump()));
    EXPECT_EQ(to_json(again), to_json(list));
  }
}

TEST(ClusterLaunchCommand, RanksAreStartedByTheAgent) {
  LaunchSetting setting;
  setting.ranks = 2;
  setting.program = {"program"};
  setting.hosts = {"a", "b"};
  setting.cluster = ClusterLaunch{"/c/enter", "/c/agent", "fabric", data_network, control_network};
  const std::string line = print_command(setting);
  EXPECT_TRUE(line.starts_with("/bin/sh /c/enter fabric mpirun -n 2 ")) << line;
  EXPECT_NE(line.find("--mca plm_rsh_agent '/bin/sh /c/agent'"), std::string::npos) << line;
  EXPECT_NE(line.find("--mca btl self,tcp --mca btl_tcp_if_include 10.77.0.0/16"), std::string::npos) << line;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::cluster
