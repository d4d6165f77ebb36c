// Which collective and which order of workers a plan chooses, and what is passed on to the ranks.
#include "workloads/job/plan/all_reduce_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/support/seeds.hpp"

namespace tandem {
namespace TANDEM_FILE {

using platforms::Network;

/// Racks of hosts on full-duplex links of 1 GB/s, 10 us; host h is in rack h modulo `racks`. Orders and
/// levels are those that the platform code computes.
Network racks_in_turn(int racks, int members, double uplink) {
  Network network;
  const int hosts = racks * members;
  const auto add = [&](double bandwidth) {
    network.channels.push_back({"", BytesPerSecond(bandwidth), Seconds(10e-6), true});
  };
  for (int channel = 0; channel < 2 * hosts; ++channel) add(1e9);
  for (int channel = 0; channel < 2 * racks; ++channel) add(uplink);
  std::vector<int> rack_of;
  for (int from = 0; from < hosts; ++from) {
    network.hosts.push_back("host-" + std::to_string(from));
    rack_of.push_back(from % racks);
    for (int to = 0; to < hosts; ++to) {
      platforms::Route route{{2 * from, 2 * to + 1}, Seconds(20e-6)};
      if (from % racks != to % racks)
        route = {{2 * from, 2 * hosts + 2 * (from % racks), 2 * hosts + 2 * (to % racks) + 1, 2 * to + 1},
                 Seconds(40e-6)};
      network.routes.emplace_back(route);
    }
  }
  std::vector<int> order;
  for (int rack = 0; rack < racks; ++rack)
    for (int member = 0; member < members; ++member) order.push_back(member * racks + rack);
  network.orders = {order, order};
  network.levels = {rack_of};
  return network;
}

AllReduceSetting setting_for(const std::string& collective, const Network& network,
                             std::vector<std::int64_t> elements = {1 << 20}) {
  return {.collective = collective,
          .by_rank = false,
          .hosts = network.hosts,
          .bucket_elements = std::move(elements),
          .reduce = [](int, Bytes size) { return Seconds(1e-10 * static_cast<double>(size.count())); }};
}

TEST(AllReducePlan, UsesTheNetworkOrderIfItCostsLess) {
  const Network network = racks_in_turn(2, 3, 1e9);
  const auto plan = plan_all_reduce(setting_for("ring", network), network);
  EXPECT_FALSE(plan.by_rank);
  EXPECT_EQ(plan.workers.order, network.orders[0]);
  EXPECT_EQ(describe(plan), "ring, workers in the order of the network");
}

TEST(AllReducePlan, KeepsTheRankOrderIfNoneCostsLess) {
  // The uplink is fast enough for all three members: every order costs the same but for latencies, which a
  // ring does not avoid.
  const Network network = racks_in_turn(2, 3, 3e9);
  const auto plan = plan_all_reduce(setting_for("ring", network), network);
  EXPECT_TRUE(plan.by_rank);
  EXPECT_EQ(plan.workers.order, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(describe(plan), "ring, workers by rank");
}

TEST(AllReducePlan, KeepsTheRankOrderOnRequest) {
  const Network network = racks_in_turn(2, 3, 1e9);
  auto setting = setting_for("ring", network);
  setting.by_rank = true;
  EXPECT_TRUE(plan_all_reduce(setting, network).by_rank);
}

TEST(AllReducePlan, GroupsWorkersByRack) {
  const Network network = racks_in_turn(2, 3, 1e8);
  const auto plan = plan_all_reduce(setting_for("hierarchical", network), network);
  EXPECT_EQ(plan.workers.groups, (std::vector<int>{3, 3}));
  EXPECT_EQ(plan.workers.order, (std::vector<int>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(describe(plan), "hierarchical in groups of 3, 3, workers in the order of the network");
}

TEST(AllReducePlan, GroupsWorkersByHostWithoutANetwork) {
  AllReduceSetting setting = setting_for("hierarchical", {});
  setting.hosts = {"a", "a", "b", "c", "c", "c"};
  const auto plan = plan_all_reduce(setting, {});
  EXPECT_EQ(plan.workers.groups, (std::vector<int>{2, 1, 3}));
  EXPECT_TRUE(plan.by_rank);
}

TEST(AllReducePlan, UsesOneGroupIfThereAreNoRacks) {
  AllReduceSetting setting = setting_for("hierarchical", {});
  setting.hosts = {"a", "b", "c"};
  EXPECT_EQ(plan_all_reduce(setting, {}).workers.groups, (std::vector<int>{3}));
}

TEST(AllReducePlan, AutoPicksTheCheapestCollectivePerBucket) {
  const Network network = racks_in_turn(2, 4, 1e9);
  const auto plan = plan_all_reduce(setting_for("auto", network, {10, 1 << 22, 10}), network);
  EXPECT_TRUE(plan.picked);
  ASSERT_EQ(plan.collectives.size(), 3U);
  EXPECT_EQ(plan.collectives[0], "recursive-doubling");
  EXPECT_EQ(plan.collectives[2], "recursive-doubling");
  EXPECT_EQ(plan.collectives[1], "ring");
  EXPECT_EQ(describe(plan),
            "auto picked recursive-doubling for 2 buckets and ring for 1 bucket, workers in the order of the "
            "network");
}

TEST(AllReducePlan, AutoUsesTheTypicalRouteOfManyHosts) {
  Network network;
  for (int host = 0; host < 16; ++host) network.hosts.push_back("host-" + std::to_string(host));
  network.typical = {Seconds(50e-6), BytesPerSecond(1e9)};
  const auto plan = plan_all_reduce(setting_for("auto", network, {10, 1 << 20}), network);
  EXPECT_TRUE(plan.by_rank);
  EXPECT_EQ(plan.collectives, (std::vector<std::string>{"recursive-doubling", "halving-doubling"}));
}

Seconds planned_cost(const AllReduceSetting& setting, const Network& network) {
  return plan_and_price(setting, network).time;
}

TEST(AllReducePlan, PicksTheCheapestPlan) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const int racks = 1 + static_cast<int>(rng.below(3));
    const int members = 1 + static_cast<int>(rng.below(4));
    const Network network = racks_in_turn(racks, members, 1e8 * static_cast<double>(1 + rng.below(40)));
    const auto elements = static_cast<std::int64_t>(1 + rng.below(1 << 18));
    const auto setting = setting_for("auto", network, {elements});
    const double picked = planned_cost(setting, network).count();
    EXPECT_EQ(prices_alone(setting_for("auto", network, {10, elements}), network).back(), Seconds(picked));
    for (const auto& name : collectives::catalog().names()) {
      if (name == "pipelined-ring") continue;  // only on request
      auto fixed = setting;
      fixed.collective = name;
      const double topology = planned_cost(fixed, network).count();
      EXPECT_LE(picked, topology * (1 + 2e-3)) << name;
      fixed.by_rank = true;
      EXPECT_LE(topology, planned_cost(fixed, network).count() * (1 + 1e-9)) << name;
    }
  }
}

TEST(AllReducePlan, NativeHasNoScheduleAndNeedsNoNetwork) {
  AllReduceSetting setting = setting_for("native", {}, {10, 1 << 20});
  setting.hosts = {"a", "b", "a"};
  const auto plan = plan_all_reduce(setting, {});
  EXPECT_EQ(plan.collectives, (std::vector<std::string>{"native", "native"}));
  EXPECT_EQ(describe(plan), "native, workers by rank");
  const auto back = all_reduce_plan_from_json(nlohmann::json::parse(to_json(plan).dump()));
  const std::vector<int> members = {0, 2};
  EXPECT_FALSE(AllReduceGroup(back, members).schedule(0, 0, 10).has_value());
}

TEST(AllReducePlan, AutoNeverPicksNative) {
  const Network network = racks_in_turn(2, 2, 1e9);
  for (const std::int64_t elements : {1, 1 << 10, 1 << 24})
    EXPECT_NE(plan_all_reduce(setting_for("auto", network, {elements}), network).collectives.front(),
              "native");
}

/// Hosts in a circle, each with a full-duplex link of 1 GB/s to the next and the previous one.
Network circle_of(int hosts) {
  Network network;
  for (int channel = 0; channel < 2 * hosts; ++channel)
    network.channels.push_back({"", BytesPerSecond(1e9), Seconds(10e-6), true});
  std::vector<int> order;
  for (int from = 0; from < hosts; ++from) {
    network.hosts.push_back("host-" + std::to_string(from));
    order.push_back(from);
    for (int to = 0; to < hosts; ++to) {
      platforms::Route route{{}, Seconds(20e-6)};
      const int ahead = (to - from + hosts) % hosts;
      for (int at = from; ahead <= hosts / 2 && at != to; at = (at + 1) % hosts)
        route.channels.push_back(2 * at);
      for (int at = from; ahead > hosts / 2 && at != to; at = (at + hosts - 1) % hosts)
        route.channels.push_back(2 * ((at + hosts - 1) % hosts) + 1);
      network.routes.emplace_back(route);
    }
  }
  network.orders = {order, order};
  return network;
}

AllReducePlan plan_with(int rings, const std::string& collective, const Network& network) {
  AllReduceSetting setting = setting_for(collective, network);
  setting.rings = rings;
  return plan_all_reduce(setting, network);
}

TEST(AllReducePlan, AutoRingsAreAsManyAsThePlatformHas) {
  EXPECT_EQ(plan_with(0, "ring", circle_of(4)).rings(), 2);
  EXPECT_EQ(plan_with(0, "ring", circle_of(7)).rings(), 2);
  EXPECT_EQ(describe(plan_with(0, "ring", circle_of(4))),
            "ring, 2 rings, workers in the order of the network");
}

TEST(AllReducePlan, AutoRingsAreOneOnAStarAndInRacks) {
  for (const auto& network : {racks_in_turn(1, 6, 1e9), racks_in_turn(2, 3, 1e9), racks_in_turn(2, 3, 1e8)})
    for (const char* collective : {"ring", "pipelined-ring", "hierarchical"})
      EXPECT_EQ(plan_with(0, collective, network).rings(), 1) << collective;
  EXPECT_EQ(plan_with(0, "ring", {}).rings(), 1) << "no network is known";
}

/// The root of a binomial tree sends whole vectors to all its children; other roots use other cables.
TEST(AllReducePlan, TreesWithOtherRootsShareTheWorkOfTheRoot) {
  const Network network = racks_in_turn(1, 8, 1e9);
  AllReduceSetting setting = setting_for("tree", network);
  const Seconds of_one = planned_cost(setting, network);
  setting.rings = 2;
  const auto [plan, of_two] = plan_and_price(setting, network);
  EXPECT_EQ(plan.rings(), 2);
  EXPECT_NE(plan.copies.front().order.front(), plan.workers.order.front());
  EXPECT_LT(of_two, of_one);
}

TEST(AllReducePlan, HasAsManyRingsAsAreAskedFor) {
  for (const int rings : {1, 2, 3, 5})
    for (const auto& network : {circle_of(4), racks_in_turn(2, 3, 1e9), Network()}) {
      AllReduceSetting setting = setting_for("ring", network);
      if (!network.known()) setting.hosts = {"a", "b", "c"};
      setting.rings = rings;
      const auto plan = plan_all_reduce(setting, network);
      EXPECT_EQ(plan.rings(), rings);
      EXPECT_NO_THROW(check_plan(plan, setting.hosts.size(), 1));
    }
}

TEST(AllReducePlan, RingsRoundTrip) {
  const auto plan = plan_with(3, "ring", circle_of(5));
  const auto back = all_reduce_plan_from_json(nlohmann::json::parse(to_json(plan).dump()));
  EXPECT_EQ(back.rings(), 3);
  EXPECT_EQ(to_json(back), to_json(plan));
  EXPECT_EQ(back.copies.back().order, plan.copies.back().order);
}

TEST(AllReducePlan, AGroupOfWorkersHasAsManyRings) {
  const auto plan = plan_with(2, "ring", circle_of(6));
  const std::vector<int> members = {1, 2, 4};
  const auto round = AllReduceGroup(plan, members).schedule(0, 0, 12).value().rounds.front();
  ASSERT_EQ(round.size(), 4U);
  EXPECT_NE(round[0].peer, round[2].peer) << "the second ring goes the other way";
}

TEST(AllReducePlan, RoundTrips) {
  const Network network = racks_in_turn(2, 3, 1e9);
  const auto plan = plan_all_reduce(setting_for("auto", network, {10, 1 << 20}), network);
  const auto back = all_reduce_plan_from_json(nlohmann::json::parse(to_json(plan).dump()));
  EXPECT_EQ(to_json(back), to_json(plan));
  EXPECT_EQ(back.workers.order, plan.workers.order);
  EXPECT_EQ(back.collectives, plan.collectives);
}

/// Otherwise, a manually edited document could make ranks read beyond the plan, or wait forever.
TEST(AllReducePlan, IsCheckedAgainstTheJob) {
  const AllReducePlan right{.workers = {{1, 0, 2}, {1, 2}}, .collectives = {"ring", native_all_reduce}};
  EXPECT_NO_THROW(check_plan(right, 3, 2));
  EXPECT_THROW(check_plan(right, 4, 2), ConfigError);
  EXPECT_THROW(check_plan(right, 3, 1), ConfigError);
  const auto rejects = [&](const auto& change) {
    AllReducePlan plan = right;
    change(plan);
    EXPECT_THROW(check_plan(plan, 3, 2), ConfigError);
  };
  rejects([](AllReducePlan& plan) { plan.workers.order = {}; });
  rejects([](AllReducePlan& plan) { plan.workers.order = {1, 1, 2}; });
  rejects([](AllReducePlan& plan) { plan.workers.order = {1, 0, 3}; });
  rejects([](AllReducePlan& plan) { plan.workers.groups = {1, 1}; });
  rejects([](AllReducePlan& plan) { plan.workers.groups = {3, 0}; });
  rejects([](AllReducePlan& plan) { plan.workers.groups = {4, -1}; });
  rejects([](AllReducePlan& plan) { plan.collectives = {"ring", "rang"}; });
  rejects([](AllReducePlan& plan) { plan.copies = {{{1, 0, 2}, {3}}}; });  // of the library's own
  AllReducePlan copies = right;
  copies.collectives = {"ring", "ring"};
  copies.copies = {{{2, 1, 0}, {3}}};
  EXPECT_NO_THROW(check_plan(copies, 3, 2));
  copies.copies = {{{2, 1}, {2}}};
  EXPECT_THROW(check_plan(copies, 3, 2), ConfigError);
  copies.copies.assign(most_rings, {{2, 1, 0}, {3}});
  EXPECT_THROW(check_plan(copies, 3, 2), ConfigError);
}

TEST(AllReducePlan, AGroupOfWorkersKeepsItsPartOfTheOrder) {
  const AllReducePlan plan{.workers = {.order = {0, 2, 4, 1, 3, 5}, .groups = {3, 3}},
                           .by_rank = false,
                           .picked = false,
                           .collectives = {"ring"}};
  const std::vector<int> members = {1, 2, 4};
  // The ring 2, 4, 1: worker 1 is last in the ring, but has index 0 among the members.
  const auto schedule = AllReduceGroup(plan, members).schedule(0, 0, 9).value();
  EXPECT_EQ(schedule.rounds.front().front().peer, 1);
  EXPECT_EQ(schedule.rounds.front().back().peer, 2);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
