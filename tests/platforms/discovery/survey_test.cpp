// The network that a survey finds allows the same flows as the true one, for random trees with noise, and has
// exactly the groups of clear ones. The bench is the emulation's max-min model, which the survey does not
// use.
#include "platforms/discovery/survey.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "platforms/discovery/groups.hpp"
#include "policies/vocabulary/rng.hpp"
#include "runtime/cluster/wiring.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::discovery {
namespace TANDEM_FILE {

using cluster::Wiring;

constexpr int patterns = 30;

/// The routes of a tree.
Wiring wiring_of(const Tree& tree) {
  Wiring wiring;
  std::vector<std::pair<int, int>> channels;  // of each node: up, down
  for (const Node& node : tree.nodes) {
    const int up = static_cast<int>(wiring.channels.size());
    const Seconds latency(node.cable.latency_s);
    wiring.channels.push_back({"up", BytesPerSecond(node.cable.up), latency, true});
    if (!node.cable.is_shared)
      wiring.channels.push_back({"down", BytesPerSecond(node.cable.down), latency, true});
    channels.emplace_back(up, node.cable.is_shared ? up : up + 1);
  }
  for (int from = 0; from < tree.machines; ++from)
    for (int to = 0; to < tree.machines; ++to) {
      if (from == to) continue;
      auto up = tree.path_up(from), down = tree.path_up(to);
      while (!up.empty() && !down.empty() && up.back() == down.back()) {
        up.pop_back();
        down.pop_back();
      }
      cluster::Route route{{}, Seconds(0)};
      for (const int node : up) {
        route.channels.push_back(channels[static_cast<std::size_t>(node)].first);
        route.latency += Seconds(tree.nodes[static_cast<std::size_t>(node)].cable.latency_s);
      }
      std::ranges::reverse(down);
      for (const int node : down) {
        route.channels.push_back(channels[static_cast<std::size_t>(node)].second);
        route.latency += Seconds(tree.nodes[static_cast<std::size_t>(node)].cable.latency_s);
      }
      wiring.routes[{from, to}] = route;
    }
  for (int machine = 0; machine < tree.machines; ++machine) wiring.hosts.push_back(std::to_string(machine));
  return wiring;
}

class TrueNetwork final : public Bench {
 public:
  /// `noise`: standard deviation of the logarithm of each rate.
  TrueNetwork(const Tree& tree, double noise, std::uint64_t seed)
      : wiring_(wiring_of(tree)),
        machines_(tree.machines),
        noise_(noise),
        random_(Rng::stream(seed, "noise")) {}

  std::vector<double> rates(const Trial& trial) override {
    ++trials;
    flows += trial.flows.size();
    if (trial.flows.front().to >= machines_) return {loopback * factor()};
    std::vector<cluster::Pair> pairs;
    for (const Flow& flow : trial.flows) pairs.emplace_back(flow.from, flow.to);
    std::vector<double> rates;
    for (const auto rate : cluster::max_min_rates(wiring_, pairs)) rates.push_back(rate.count() * factor());
    return rates;
  }
  Seconds latency(int from, int to) override {
    return to >= machines_ ? Seconds(2e-6) : wiring_.routes.at({from, to}).latency;
  }

  static constexpr double loopback = 4e9;
  std::size_t trials = 0, flows = 0;

 private:
  double factor() { return std::exp(noise_ * random_.normal()); }
  Wiring wiring_;
  int machines_;
  double noise_;
  Rng random_;
};

Node machine(double rate, int parent = Node::core) {
  return {.parent = parent, .cable = {.up = rate, .down = rate, .latency_s = 50e-6}};
}

/// Racks of machines of the same rate, each on its own cable, and machines on the core switch.
Tree racks(const std::vector<int>& sizes, double rate, double uplink, int at_core) {
  Tree tree;
  for (const int size : sizes) tree.machines += size;
  tree.machines += at_core;
  for (int i = 0; i < at_core; ++i) tree.nodes.push_back(machine(rate));
  for (std::size_t rack = 0; rack < sizes.size(); ++rack)
    for (int i = 0; i < sizes[rack]; ++i)
      tree.nodes.push_back(machine(rate, tree.machines + static_cast<int>(rack)));
  for (std::size_t rack = 0; rack < sizes.size(); ++rack) tree.nodes.push_back(machine(uplink));
  return tree;
}

/// The machines of each group.
std::set<std::vector<int>> groups_of(const Tree& tree) {
  std::set<std::vector<int>> groups;
  for (int node = tree.machines; node < static_cast<int>(tree.nodes.size()); ++node)
    groups.insert(tree.machines_below(node));
  return groups;
}

/// The same flows on both networks, in random patterns: how many of `patterns` differ by more in sum.
int different_rates(const Tree& found, const Tree& expected, double tolerance, std::uint64_t seed) {
  Rng random = Rng::stream(seed, "patterns");
  const Wiring ours = wiring_of(found), theirs = wiring_of(expected);
  int different = 0;
  for (int pattern = 0; pattern < patterns; ++pattern) {
    std::vector<cluster::Pair> flows;
    const auto count = 1 + random.below(static_cast<std::uint64_t>(2 * expected.machines));
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto from = static_cast<int>(random.below(static_cast<std::uint64_t>(expected.machines)));
      const auto shift =
          1 + static_cast<int>(random.below(static_cast<std::uint64_t>(expected.machines - 1)));
      flows.emplace_back(from, (from + shift) % expected.machines);
    }
    double found_sum = 0.0, expected_sum = 0.0;
    for (const auto rate : cluster::max_min_rates(ours, flows)) found_sum += rate.count();
    for (const auto rate : cluster::max_min_rates(theirs, flows)) expected_sum += rate.count();
    if (std::abs(found_sum / expected_sum - 1.0) > tolerance) ++different;
  }
  return different;
}

TEST(Survey, FindsTheExactTreeWithoutNoise) {
  const Tree expected = racks({3, 3}, 12.5e6, 12.5e6, 1);
  TrueNetwork network(expected, 0.0, 1);
  const Tree found = survey(7, network, {.has_companions = true});
  ASSERT_EQ(found.nodes.size(), expected.nodes.size());
  EXPECT_EQ(groups_of(found), groups_of(expected));
  for (std::size_t node = 0; node < found.nodes.size(); ++node) {
    EXPECT_NEAR(found.nodes[node].cable.up, 12.5e6, 1) << node;
    EXPECT_NEAR(found.nodes[node].cable.down, 12.5e6, 1) << node;
    EXPECT_FALSE(found.nodes[node].cable.is_shared) << node;
    EXPECT_NEAR(found.nodes[node].cable.latency_s, 50e-6, 1e-7) << node;
  }
  ASSERT_EQ(found.loopbacks.size(), 7U);
  EXPECT_EQ(found.loopbacks[3], (Loopback{TrueNetwork::loopback, 2e-6}));
  EXPECT_EQ(tree_from_json(nlohmann::json::parse(to_json(found).dump())), found);
}

TEST(Survey, FindsRacksOfManySizes) {
  for (const auto& expected :
       {racks({4, 4, 4, 4}, 1.25e9, 2.5e9, 1), racks({2, 2}, 1e8, 1e8, 0), racks({8, 8}, 1e8, 2e8, 0),
        racks({3, 5, 2}, 1e8, 1e8, 2), racks({16, 16, 16, 16}, 1e9, 4e9, 0)}) {
    TrueNetwork network(expected, 0.02, 3);
    const Tree found = survey(expected.machines, network, {});
    EXPECT_EQ(groups_of(found), groups_of(expected)) << expected.machines;
    EXPECT_EQ(different_rates(found, expected, 0.06, 3), 0);
    EXPECT_LE(network.trials, static_cast<std::size_t>(32 * expected.machines)) << expected.machines;
  }
}

TEST(Survey, FindsNoGroupsWhereNoCableIsShared) {
  for (const double noise : {0.0, 0.03}) {
    Tree expected;
    expected.machines = 7;
    for (const double rate : {1.0, 1.0, 1.0, 0.1, 1.0, 0.5, 1.0})
      expected.nodes.push_back(machine(1e8 * rate));
    TrueNetwork network(expected, noise, 5);
    const Tree found = survey(7, network, {});
    EXPECT_EQ(found.nodes.size(), 7U);
    EXPECT_EQ(different_rates(found, expected, 0.08, 5), 0);
  }
}

TEST(Survey, FindsSitesOfRacks) {
  // Two sites of two racks of three machines each: each level has less than the one below it could use.
  Tree expected{.machines = 12, .nodes = {}, .loopbacks = {}};
  for (int i = 0; i < 12; ++i) expected.nodes.push_back(machine(1e8, 12 + i / 3));
  for (int i = 0; i < 4; ++i) expected.nodes.push_back(machine(1.5e8, 16 + i / 2));
  for (int i = 0; i < 2; ++i) expected.nodes.push_back(machine(0.5e8));
  TrueNetwork network(expected, 0.01, 7);
  const Tree found = survey(12, network, {});
  EXPECT_EQ(groups_of(found), groups_of(expected));
  EXPECT_EQ(different_rates(found, expected, 0.06, 7), 0);
}

TEST(Survey, FindsCablesWhoseDirectionsShareAndThoseThatDiffer) {
  Tree expected;
  expected.machines = 5;
  for (int i = 0; i < 5; ++i) expected.nodes.push_back(machine(1e8));
  expected.nodes[0].cable.is_shared = expected.nodes[3].cable.is_shared = true;
  expected.nodes[4].cable.up = 2e7;
  TrueNetwork network(expected, 0.01, 9);
  const Tree found = survey(5, network, {});
  ASSERT_EQ(found.nodes.size(), 5U);
  for (std::size_t node = 0; node < 5; ++node)
    EXPECT_EQ(found.nodes[node].cable.is_shared, node == 0 || node == 3) << node;
  EXPECT_NEAR(found.nodes[4].cable.up / 2e7, 1.0, 0.03);
  EXPECT_NEAR(found.nodes[4].cable.down / 1e8, 1.0, 0.03);
}

TEST(Survey, MeasuresTheGroupsThatAreKnown) {
  // The cables of racks carry all that their machines can send, so only the user knows the racks.
  const Tree wide = racks({2, 2, 2}, 1e8, 4e8, 0);
  const std::vector<KnownGroup> known = {
      {"r1", {0, 1}, {}}, {"r2", {2, 3}, {}}, {"r3", {4, 5}, {}}, {"top", {}, {0, 1, 2}}};
  TrueNetwork network(wide, 0.0, 1);
  const Tree found = survey(6, network, {.known = known});
  EXPECT_EQ(groups_of(found), groups_of(wide)) << "the top has all machines, so no cable";
  for (int node = 6; node < 9; ++node) {
    const Node& rack = found.nodes[static_cast<std::size_t>(node)];
    EXPECT_EQ(rack.name, known[static_cast<std::size_t>(node - 6)].name);
    EXPECT_FALSE(rack.cable.limits);
    EXPECT_NEAR(rack.cable.up, 2e8, 1) << "the most that was seen";
  }
  const Tree narrow = racks({2, 2, 2}, 1e8, 1.2e8, 0);
  TrueNetwork other(narrow, 0.0, 1);
  const Tree measured = survey(6, other, {.known = known});
  EXPECT_TRUE(measured.nodes[6].cable.limits);
  EXPECT_NEAR(measured.nodes[6].cable.down, 1.2e8, 1);
}

TEST(Survey, OfFewMachines) {
  for (int machines = 1; machines <= 3; ++machines) {
    Tree expected{.machines = machines, .nodes = {}, .loopbacks = {}};
    for (int i = 0; i < machines; ++i) expected.nodes.push_back(machine(1e8));
    TrueNetwork network(expected, 0.0, 1);
    double last = 0.0;
    const Tree found = survey(machines, network, {.has_companions = true}, [&](double done) {
      EXPECT_GE(done, last);
      last = done;
    });
    EXPECT_EQ(last, 1.0);
    EXPECT_EQ(found.nodes.size(), static_cast<std::size_t>(machines));
    EXPECT_EQ(found.loopbacks.size(), static_cast<std::size_t>(machines));
    EXPECT_TRUE(machines == 1 || different_rates(found, expected, 1e-6, 1) == 0);
  }
}

TEST(LongSurvey, AllowsTheSameFlowsAsRandomNetworks) {
  // Noise hides a cable that little exceeds what its machines need, and who uses it.
  int different = 0, all = 0;
  for (const auto seed : testing::seeds(60)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "network");
    std::vector<int> sizes;
    for (std::uint64_t left = 2 + random.below(3); left > 0; --left)
      sizes.push_back(2 + static_cast<int>(random.below(4)));
    const int at_core = static_cast<int>(random.below(3));
    // At least half of the machines of the smallest rack suffice to fill its cable.
    const double uplink = 1e8 * (0.3 + 0.7 * random.uniform());
    Tree expected = racks(sizes, 1e8, uplink, at_core);
    // One slow machine, in a rack of at least three.
    for (int i = at_core; i < expected.machines; ++i) {
      Node& node = expected.nodes[static_cast<std::size_t>(i)];
      if (expected.machines_below(node.parent).size() < 3) continue;
      node.cable.up = node.cable.down = 2e7;
      break;
    }
    TrueNetwork network(expected, 0.02, seed);
    const Tree found = survey(expected.machines, network, {.seed = seed});
    different += different_rates(found, expected, 0.15, seed);
    all += patterns;
  }
  EXPECT_LE(different, all / 100) << "of " << all;
}

TEST(Linked, JoinsWhatIsSimilarOnAverage) {
  const std::vector<std::vector<double>> similarity = {
      {1.0, 0.95, 0.3, 0.3}, {0.95, 1.0, 0.88, 0.2}, {0.3, 0.88, 1.0, 0.9}, {0.3, 0.2, 0.9, 1.0}};
  EXPECT_EQ(linked(similarity, 0.85), (std::vector<std::vector<int>>{{0, 1}, {2, 3}}));
  EXPECT_EQ(linked(similarity, 0.99).size(), 4U);
  EXPECT_EQ(linked(similarity, 0.1).size(), 1U);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::discovery
