// Algorithms without a server: which workers average with each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "policies/sync/decentralised/peer_graph.hpp"
#include "policies/sync/policy.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::sync {
namespace TANDEM_FILE {

/// All workers of an algorithm.
std::vector<std::unique_ptr<WorkerPolicy>> make_workers(
    const std::string& algorithm, int workers, std::uint64_t seed,
    const std::map<std::string, OptionValue>& options = {}) {
  const auto& entry = catalog().find(algorithm);
  const Setting setting{workers, 8, entry.make.routes.front(),
                        Options::resolve(algorithm, entry.options, options), seed};
  std::vector<std::unique_ptr<WorkerPolicy>> made;
  for (int worker = 0; worker < workers; ++worker) made.push_back(entry.make.make_worker(setting, worker));
  return made;
}

/// Equal mixing weights preserve the mean of all models iff neighbours have equal numbers of neighbours.
TEST(PeerGraph, IsMutualAndRegular) {
  for (const char* graph : {"ring", "exponential", "complete"})
    for (int workers = 1; workers <= 33; ++workers) {
      SCOPED_TRACE(std::string(graph) + " of " + std::to_string(workers));
      const std::size_t degree = neighbourhood(graph, workers, 0).size();
      for (int worker = 0; worker < workers; ++worker) {
        const auto members = neighbourhood(graph, workers, worker);
        EXPECT_EQ(members.size(), degree);
        EXPECT_TRUE(std::ranges::is_sorted(members));
        EXPECT_TRUE(std::ranges::binary_search(members, worker));
        for (const int other : members)
          EXPECT_TRUE(std::ranges::binary_search(neighbourhood(graph, workers, other), worker));
      }
    }
}

TEST(PeerGraph, ExponentialReachesEveryWorkerInFewSteps) {
  std::set<int> reached = {0};
  for (int step = 0; step < 6; ++step)
    for (const int from : std::set(reached))
      for (const int to : neighbourhood("exponential", 64, from)) reached.insert(to);
  EXPECT_EQ(reached.size(), 64U);
}

/// As published: any number of workers, and in the directions of both sides.
TEST(PeerGraph, ExponentialHasAllPowersOfTwo) {
  EXPECT_EQ(neighbourhood("exponential", 8, 0), (std::vector{0, 1, 2, 4, 6, 7}));
  EXPECT_EQ(neighbourhood("exponential", 7, 0), (std::vector{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(neighbourhood("exponential", 12, 0), (std::vector{0, 1, 2, 4, 8, 10, 11}));
  EXPECT_EQ(neighbourhood("exponential", 16, 0, Among::both_kinds),
            (std::vector{0, 1, 3, 5, 7, 9, 11, 13, 15}));
  EXPECT_EQ(neighbourhood("exponential", 32, 0, Among::both_kinds),
            (std::vector{0, 1, 3, 5, 9, 15, 17, 23, 27, 29, 31}));
}

/// Even distances lead to a worker of the same kind, so a graph of powers of two would be a ring.
TEST(AdPsgd, TheExponentialGraphReachesEveryWorkerInFewSteps) {
  constexpr int workers = 64;
  const auto all = make_workers("ad-psgd", workers, 1, {{"graph", std::string("exponential")}});
  std::set<int> reached = {0};
  for (int step = 0; step < 5; ++step)
    for (const int from : std::set(reached)) {
      const auto own = all[static_cast<std::size_t>(from)]->neighbours();
      reached.insert(own.incoming.begin(), own.incoming.end());
      reached.insert(own.outgoing.begin(), own.outgoing.end());
    }
  EXPECT_EQ(reached.size(), static_cast<std::size_t>(workers));
}

/// Chi-squared of equally likely choices, which has one less than `counts` degrees of freedom; in units of
/// its standard deviation above its mean.
double excess_of(const std::map<std::pair<int, int>, int>& counts, int choices) {
  const double expected = choices / static_cast<double>(counts.size());
  double sum = 0.0;
  for (const auto& [pair, count] : counts) sum += (count - expected) * (count - expected) / expected;
  const auto freedom = static_cast<double>(counts.size() - 1);
  return (sum - freedom) / std::sqrt(2 * freedom);
}

TEST(AdPsgd, ActiveWorkersChooseEachNeighbourEquallyOften) {
  const auto all = make_workers("ad-psgd", 10, 7);
  for (int active = 0; active < 10; active += 2) {
    std::map<std::pair<int, int>, int> chosen;
    for (int step = 0; step < 5000; ++step) {
      const auto members = all[static_cast<std::size_t>(active)]->on_step_begin({0})->members;
      ++chosen[{members.at(0), members.at(1)}];
    }
    EXPECT_EQ(chosen.size(), 5U);
    EXPECT_LT(excess_of(chosen, 5000), 4.0) << "worker " << active;
  }
}

TEST(GroupAverage, EachPairMeetsEquallyOften) {
  const auto all = make_workers("group-average", 6, 7);
  std::map<std::pair<int, int>, int> met;
  for (int round = 0; round < 5000; ++round)
    for (int worker = 0; worker < 6; ++worker) {
      const auto decision =
          all[static_cast<std::size_t>(worker)]->on_step_done({Seconds(0), Seconds(1), 8, 1});
      const auto& members = std::get<Exchange>(decision).members;
      if (members.at(0) == worker) ++met[{members.at(0), members.at(1)}];
    }
  EXPECT_EQ(met.size(), 15U);
  EXPECT_LT(excess_of(met, 3 * 5000), 4.0);
}

TEST(AdPsgd, ActiveWorkersCallOnlyTheirPassiveNeighbours) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "ad-psgd test");
    const int workers = 1 + static_cast<int>(random.below(9));
    const std::string graph = random.below(2) == 0 ? "ring" : "complete";
    const auto all = make_workers("ad-psgd", workers, seed, {{"graph", graph}});
    for (int worker = 0; worker < workers; ++worker) {
      const auto own = all[static_cast<std::size_t>(worker)]->neighbours();
      EXPECT_TRUE(own.incoming.empty() || own.outgoing.empty())
          << "a worker must not both call and be called";
      std::set<int> chosen;
      for (int step = 0; step < 400; ++step) {
        const auto exchange = all[static_cast<std::size_t>(worker)]->on_step_begin({0});
        ASSERT_TRUE(exchange && exchange->payload == Payload::model);
        for (const int member : exchange->members)
          if (member != worker) chosen.insert(member);
      }
      EXPECT_EQ(std::vector<int>(chosen.begin(), chosen.end()), own.outgoing);
      for (const int other : own.outgoing) {
        const auto callers = all[static_cast<std::size_t>(other)]->neighbours().incoming;
        EXPECT_TRUE(std::ranges::binary_search(callers, worker));
      }
    }
  }
}

TEST(GroupAverage, GroupsOfARoundAreAPartitionOfAllWorkers) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "groups test");
    const int size = 1 + static_cast<int>(random.below(4));
    const int workers = size * (1 + static_cast<int>(random.below(4)));
    const auto all = make_workers("group-average", workers, seed, {{"group_size", std::int64_t{size}}});
    std::set<std::vector<int>> seen;
    for (int round = 0; round < 50; ++round) {
      std::map<int, std::vector<int>> group_of;
      for (int worker = 0; worker < workers; ++worker) {
        const StepDone done{Seconds(0), Seconds(1), 8, 1};
        const auto decision = all[static_cast<std::size_t>(worker)]->on_step_done(done);
        group_of[worker] = std::get<Exchange>(decision).members;
        seen.insert(group_of[worker]);
      }
      for (const auto& [worker, members] : group_of) {
        ASSERT_EQ(std::ssize(members), size);
        ASSERT_TRUE(std::ranges::is_sorted(members));
        ASSERT_TRUE(std::ranges::binary_search(members, worker));
        for (const int member : members) ASSERT_EQ(group_of[member], members);
      }
    }
    if (size > 1 && workers > size) {
      EXPECT_GT(std::ssize(seen), workers / size) << "always the same groups";
    }
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sync
