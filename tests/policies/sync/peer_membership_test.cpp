// Algorithms without a server when workers leave and join: all present workers agree who exchanges with whom,
// nobody absent takes part, and a return changes nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "policies/sync/decentralised/peer_graph.hpp"
#include "policies/sync/policy.hpp"
#include "tests/support/names.hpp"
#include "tests/support/random_options.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::sync {
namespace TANDEM_FILE {

/// All workers of an algorithm, some of which are absent, in rounds.
class Peers {
 public:
  Peers(const std::string& algorithm, Setting setting)
      : make_(catalog().find(algorithm).make), setting_(std::move(setting)) {
    for (int worker = 0; worker < setting_.workers; ++worker) {
      present_.insert(worker);
      workers_[worker] = make_.make_worker(setting_, worker);
    }
  }

  const std::set<int>& present() const { return present_; }
  int round() const { return round_; }
  WorkerPolicy& at(int worker) { return *workers_.at(worker); }

  void leave(int worker) { present_.erase(worker); }
  void join(int worker) {
    if (!present_.insert(worker).second) return;
    workers_[worker] = make_.make_worker(setting_, worker);
  }
  void announce_members() {
    for (const int worker : present_)
      workers_.at(worker)->on_members({round_, std::vector(present_.begin(), present_.end())});
  }
  /// The members of each present worker's exchange in one step.
  std::map<int, std::vector<int>> step() {
    std::map<int, std::vector<int>> groups;
    for (const int worker : present_) groups[worker] = members_of(worker);
    ++round_;
    return groups;
  }

 private:
  std::vector<int> members_of(int worker) {
    if (const auto overlapping = at(worker).on_step_begin({0})) return overlapping->members;
    return std::get<Exchange>(at(worker).on_step_done({Seconds(round_), Seconds(1), 8, 1})).members;
  }

  const Factory& make_;
  Setting setting_;
  std::set<int> present_;
  std::map<int, std::unique_ptr<WorkerPolicy>> workers_;
  int round_ = 0;
};

Peers random_peers(const std::string& algorithm, Rng& random) {
  return {algorithm, testing::random_setting(algorithm, random)};
}

void change_members(Peers& peers, int workers, Rng& random) {
  for (auto changes = 1 + random.below(3); changes > 0; --changes) {
    const int worker = static_cast<int>(random.below(static_cast<std::uint64_t>(workers)));
    if (!peers.present().contains(worker))
      peers.join(worker);
    else if (peers.present().size() > 1)
      peers.leave(worker);
  }
  peers.announce_members();
}

class PeerMembership : public ::testing::TestWithParam<std::string> {};

TEST_P(PeerMembership, IsBorneAsTheCatalogueSays) {
  EXPECT_EQ(catalog().find(GetParam()).make.membership.bears, Membership::Bears::departures_and_arrivals);
}

/// Groups are mutual, so no worker waits for one that does not exchange with it, and the mixing matrix with
/// equal weights has rows and columns that sum to 1.
TEST_P(PeerMembership, ExchangesAreMutualAmongThePresent) {
  const bool is_asynchronous = GetParam() == "ad-psgd";
  for (const auto seed : testing::seeds(60)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "peers");
    Peers peers = random_peers(GetParam(), random);
    const int workers = static_cast<int>(peers.present().size());
    for (int change = 0; change < 30; ++change) {
      for (auto steps = random.below(4); steps > 0; --steps) {
        const auto groups = peers.step();
        for (const auto& [worker, members] : groups) {
          ASSERT_TRUE(std::ranges::is_sorted(members));
          ASSERT_TRUE(std::ranges::binary_search(members, worker));
          for (const int member : members) {
            ASSERT_TRUE(peers.present().contains(member)) << "worker " << worker << " with " << member;
            if (is_asynchronous) continue;
            ASSERT_TRUE(std::ranges::binary_search(groups.at(member), worker));
            ASSERT_EQ(groups.at(member).size(), members.size());
          }
        }
      }
      change_members(peers, workers, random);
    }
  }
}

/// A worker that leaves after a round and returns at once, with a new object, changes no exchange.
TEST_P(PeerMembership, AnImmediateReturnBetweenRoundsChangesNothing) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "peers"), same = Rng::stream(seed, "peers");
    Peers peers = random_peers(GetParam(), random), constant = random_peers(GetParam(), same);
    const std::vector<int> all(peers.present().begin(), peers.present().end());
    for (int round = 0; round < 60; ++round) {
      const auto groups = peers.step(), expected = constant.step();
      for (const int worker : all) {
        // The random choices of a new active worker are its own.
        if (GetParam() != "ad-psgd") {
          ASSERT_EQ(groups.at(worker), expected.at(worker)) << round;
        }
        ASSERT_EQ(peers.at(worker).neighbours().incoming, constant.at(worker).neighbours().incoming);
        ASSERT_EQ(peers.at(worker).neighbours().outgoing, constant.at(worker).neighbours().outgoing);
      }
      if (random.below(3) > 0) continue;
      const int worker = all[random.below(all.size())];
      peers.leave(worker);
      if (all.size() > 1 && random.below(2) == 0) peers.announce_members();
      peers.join(worker);
      peers.announce_members();
    }
  }
}

/// A cancelled exchange is decided again.
TEST_P(PeerMembership, ACancelledRoundIsDecidedAgain) {
  if (GetParam() == "ad-psgd") return;
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "peers"), same = Rng::stream(seed, "peers");
    Peers peers = random_peers(GetParam(), random), constant = random_peers(GetParam(), same);
    for (int round = 0; round < 20; ++round) {
      const int before = peers.round();
      const auto cancelled = peers.step();
      const std::vector<int> all(peers.present().begin(), peers.present().end());
      for (const int worker : all) peers.at(worker).on_members({before, all});
      std::map<int, std::vector<int>> again;
      for (const int worker : all) {
        const auto overlapping = peers.at(worker).on_step_begin({0});
        again[worker] =
            overlapping
                ? overlapping->members
                : std::get<Exchange>(peers.at(worker).on_step_done({Seconds(0), Seconds(1), 8, 1})).members;
      }
      ASSERT_EQ(again, cancelled);
      ASSERT_EQ(again, constant.step());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, PeerMembership, ::testing::Values("d-psgd", "ad-psgd", "group-average"),
                         testing::catalog_name);

/// Every active worker's choices are those that passive ones expect, and the graph is connected.
TEST(AdPsgdMembership, TheGraphIsMutualAndConnected) {
  for (const auto seed : testing::seeds(100)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "graph");
    Peers peers = random_peers("ad-psgd", random);
    const int workers = static_cast<int>(peers.present().size());
    for (int change = 0; change < 10; ++change) {
      change_members(peers, workers, random);
      std::map<int, std::set<int>> linked;
      bool has_active = false, has_passive = false;
      for (const int worker : peers.present()) {
        const Neighbours own = peers.at(worker).neighbours();
        (worker % 2 == 0 ? has_active : has_passive) = true;
        EXPECT_TRUE((worker % 2 == 0 ? own.incoming : own.outgoing).empty());
        EXPECT_TRUE(std::ranges::is_sorted(own.incoming));
        for (const int other : own.outgoing) {
          const auto expected = peers.at(other).neighbours().incoming;
          EXPECT_TRUE(std::ranges::binary_search(expected, worker)) << worker << " calls " << other;
          linked[worker].insert(other);
          linked[other].insert(worker);
        }
        for (const int other : own.incoming) {
          const auto chosen = peers.at(other).neighbours().outgoing;
          EXPECT_TRUE(std::ranges::binary_search(chosen, worker)) << other << " does not call " << worker;
        }
      }
      // A whole ring of an odd number of workers is a chain, and connected too.
      if (!has_active || !has_passive) continue;
      std::set<int> reached = {*peers.present().begin()};
      for (std::size_t before = 0; before < reached.size();) {
        before = reached.size();
        for (const int worker : std::set(reached))
          reached.insert(linked[worker].begin(), linked[worker].end());
      }
      EXPECT_EQ(reached, peers.present());
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// With as many active as passive workers, the graphs are those of a ring without gaps.
TEST(BipartiteNeighbours, OfEqualNumbersAreThoseOfAllWorkers) {
  for (const char* graph : {"ring", "exponential", "complete"})
    for (int workers = 2; workers <= 40; workers += 2) {
      SCOPED_TRACE(std::string(graph) + " of " + std::to_string(workers));
      std::vector<int> active, passive;
      for (int worker = 0; worker < workers; ++worker) (worker % 2 == 0 ? active : passive).push_back(worker);
      const auto all = bipartite_neighbours(graph, active, passive);
      for (const int worker : active) {
        std::vector<int> expected;
        for (const int other : neighbourhood(graph, workers, worker, Among::both_kinds))
          if (other % 2 == 1) expected.push_back(other);
        EXPECT_EQ(all[static_cast<std::size_t>(worker / 2)], expected) << worker;
      }
    }
}

TEST(BipartiteNeighbours, WithoutPassiveWorkersThereAreNone) {
  EXPECT_EQ(bipartite_neighbours("complete", {0, 4}, {}), std::vector<std::vector<int>>(2));
  EXPECT_TRUE(bipartite_neighbours("ring", {}, {1, 3}).empty());
}

TEST(DPsgdMembership, DamagedMembersAreRejected) {
  const auto& algorithm = catalog().find("d-psgd");
  const Setting setting{4, 8, Route::peers, Options::resolve("d-psgd", algorithm.options, {})};
  for (const char* present : {"", "1011", "111", "11111", "11x1"}) {
    const auto worker = algorithm.make.make_worker(setting, 1);
    EXPECT_THROW(restore(*worker, "exchanges=3 present=" + std::string(present)), ConfigError) << present;
  }
  const auto worker = algorithm.make.make_worker(setting, 1);
  restore(*worker, "exchanges=3 present=0101");
  EXPECT_EQ(to_text(WorkerDecision(*worker->on_step_begin({0}))), "exchange model members=1,3");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sync
