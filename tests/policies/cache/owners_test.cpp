// Owners of samples: equal shares, and little movement when nodes come and go. Caches that nodes share.
#include "policies/cache/owners.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "policies/cache/shared.hpp"
#include "policies/cache/text.hpp"

namespace tandem::cache {
namespace TANDEM_FILE {

constexpr SampleId ids = 40'000;

std::vector<int> first_owners(const Owners& owners) {
  std::vector<int> all, found;
  for (SampleId id = 0; id < ids; ++id) {
    owners.find(id, 1, found);
    all.push_back(found.at(0));
  }
  return all;
}

class EitherRule : public ::testing::TestWithParam<Owners::Rule> {};

TEST_P(EitherRule, SharesAreAboutEqual) {
  for (const int nodes : {1, 3, 8}) {
    const auto owners = first_owners(Owners(GetParam(), nodes));
    for (int node = 0; node < nodes; ++node) {
      const double share = static_cast<double>(std::ranges::count(owners, node)) * nodes / ids;
      EXPECT_NEAR(share, 1.0, 0.2) << "node " << node << " of " << nodes;
    }
  }
}

TEST_P(EitherRule, OnlyWhatBelongsToANodeThatDepartsMoves) {
  Owners owners(GetParam(), 5);
  const auto before = first_owners(owners);
  owners.set_present(2, false);
  const auto without = first_owners(owners);
  std::set<int> heirs;
  for (std::size_t id = 0; id < before.size(); ++id) {
    if (before[id] != 2) {
      ASSERT_EQ(without[id], before[id]) << id;
    } else {
      heirs.insert(without[id]);
    }
  }
  EXPECT_FALSE(heirs.contains(2));
  // On the ring, all others share it; in turn, the next node gets all.
  EXPECT_EQ(heirs.size(), GetParam() == Owners::Rule::ring ? 4U : 1U);
  owners.set_present(2, true);
  EXPECT_EQ(first_owners(owners), before);
}

TEST_P(EitherRule, OwnersOfASampleAreDifferentNodes) {
  const Owners owners(GetParam(), 4);
  std::vector<int> one, three, all;
  for (SampleId id = 0; id < 1000; ++id) {
    owners.find(id, 1, one);
    owners.find(id, 3, three);
    owners.find(id, 9, all);
    ASSERT_EQ(three.size(), 3U);
    EXPECT_EQ(std::set<int>(three.begin(), three.end()).size(), 3U);
    EXPECT_EQ(one.at(0), three.at(0));
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(std::set<int>(all.begin(), all.end()).size(), 4U);
    EXPECT_TRUE(std::ranges::equal(three, std::span(all).first(3)));
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, EitherRule, ::testing::Values(Owners::Rule::in_turn, Owners::Rule::ring),
                         [](const auto& each) {
                           return each.param == Owners::Rule::ring ? "Ring" : "InTurn";
                         });

/// A node more takes its share from all others, and nothing moves between those.
TEST(Ring, ANodeMoreTakesOnlyItsShare) {
  const auto eight = first_owners(Owners(Owners::Rule::ring, 8));
  const auto nine = first_owners(Owners(Owners::Rule::ring, 9));
  std::int64_t moved = 0;
  for (std::size_t id = 0; id < eight.size(); ++id) {
    if (eight[id] == nine[id]) continue;
    ASSERT_EQ(nine[id], 8) << id;
    ++moved;
  }
  EXPECT_NEAR(static_cast<double>(moved) * 9 / ids, 1.0, 0.2);
}

TEST(Ring, AnotherSeedIsAnotherRing) {
  EXPECT_NE(first_owners(Owners(Owners::Rule::ring, 4, 1)), first_owners(Owners(Owners::Rule::ring, 4, 2)));
}

/// Node 1 of 3, samples of 10 bytes, room for two.
class SharedCaches : public ::testing::Test {
 protected:
  static std::unique_ptr<CachePolicy> cache(int copies) {
    const auto& lru = catalog().find("lru");
    auto policy = lru.make.node({.tiers = {Bytes(20)}, .options = Options::resolve("lru", lru.options, {})});
    return share(std::move(policy),
                 {.owners = Owners(Owners::Rule::in_turn, 3), .node = 1, .copies = copies});
  }
  /// "tier0 peer2 store": from where each comes.
  static std::string served(CachePolicy& cache, const std::vector<SampleId>& wanted) {
    std::vector<Sample> now;
    for (const SampleId id : wanted) now.push_back({id, Bytes(10)});
    Decisions decisions;
    cache.on_want({.now = now}, decisions);
    std::string text;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Serve& serve = decisions.serve.at(i);
      EXPECT_EQ(serve.asked, wanted[i]);
      EXPECT_EQ(serve.given, wanted[i]);
      text += text.empty() ? "" : " ";
      text += serve.from.where == Where::store  ? "store"
              : serve.from.where == Where::tier ? "tier" + std::to_string(serve.from.number)
                                                : "peer" + std::to_string(serve.from.number);
    }
    return text;
  }
};

TEST_F(SharedCaches, OneCopyIsWithItsOwner) {
  const auto one = cache(1);
  EXPECT_EQ(served(*one, {0, 1, 2, 4}), "peer0 store peer2 store");
  EXPECT_EQ(served(*one, {0, 1, 2, 4}), "peer0 tier0 peer2 tier0");
  EXPECT_FALSE(one->holds(0));
  EXPECT_TRUE(one->holds(1));
  EXPECT_EQ(one->used(0), Bytes(20));
}

/// A sample may be with its owner and the node after that.
TEST_F(SharedCaches, TwoCopiesAreWithTheFirstTwoOwners) {
  const auto two = cache(2);
  EXPECT_EQ(served(*two, {0, 1, 2}), "peer0 peer2 peer2");
  EXPECT_EQ(served(*two, {0, 1, 2}), "tier0 tier0 peer2");
}

TEST_F(SharedCaches, WithoutALimitEachNodeKeepsWhatItWants) {
  const auto all = cache(0);
  EXPECT_EQ(served(*all, {2, 1}), "peer2 store");
  EXPECT_EQ(served(*all, {2, 1}), "tier0 tier0");
  EXPECT_EQ(all->used(0), Bytes(20));
}

/// The read has not ended: the store will deliver the sample.
TEST_F(SharedCaches, WhatAPeerLacksIsStillKept) {
  const auto all = cache(0);
  EXPECT_EQ(served(*all, {2}), "peer2");
  Decisions decisions;
  Arrived read{.id = 2, .size = Bytes(10), .from = peer(2), .outcome = Arrived::Outcome::not_here};
  all->on_arrived(std::span(&read, 1), decisions);
  EXPECT_TRUE(decisions.move.empty());
  EXPECT_TRUE(all->holds(2));
  read.from = store();
  read.outcome = Arrived::Outcome::gone;
  all->on_arrived(std::span(&read, 1), decisions);
  EXPECT_FALSE(all->holds(2));
}

TEST_F(SharedCaches, ANodeThatDepartsIsNotAsked) {
  const auto one = cache(1);
  Decisions decisions;
  one->on_peer({.node = 2, .joins = false}, decisions);
  EXPECT_EQ(served(*one, {0, 1, 2}), "peer0 store peer0");
  one->on_peer({.node = 2, .joins = true}, decisions);
  EXPECT_EQ(served(*one, {2}), "peer2");
}

/// It has kept the sample as its owner, and has it until it evicts it.
TEST_F(SharedCaches, WhatWasKeptForANodeThatWasAwayIsServed) {
  const auto one = cache(1);
  Decisions decisions;
  for (const int node : {0, 2}) one->on_peer({.node = node, .joins = false}, decisions);
  EXPECT_EQ(served(*one, {2}), "store");
  one->on_peer({.node = 2, .joins = true}, decisions);
  EXPECT_EQ(served(*one, {2, 5}), "tier0 peer2");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::cache
