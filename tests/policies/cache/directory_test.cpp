// The directory never allows more copies than it may, and repairs what is wrong in it. Caches of nodes that
// ask it.
#include "policies/cache/directory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "policies/cache/shared.hpp"
#include "policies/cache/text.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::cache {
namespace TANDEM_FILE {

using Located = Directory::Located;

TEST(DirectoryOfCaches, TheFirstAskerMayKeepASampleAndIsNamedToOthers) {
  Directory directory(10, 1);
  EXPECT_EQ(directory.look_up(3, 0), (Located{-1, true}));
  EXPECT_EQ(directory.look_up(3, 1), (Located{0, false})) << "it is reading the sample";
  EXPECT_EQ(directory.look_up(3, 0), (Located{-1, true})) << "a second request of the same node";
  directory.publish(3, 0);
  EXPECT_EQ(directory.look_up(3, 2), (Located{0, false}));
  EXPECT_EQ(directory.look_up(4, 2), (Located{-1, true}));
  EXPECT_EQ(directory.holders(3), 1U);
}

TEST(DirectoryOfCaches, WhatIsWithdrawnMayBeKeptByAnotherNode) {
  Directory directory(10, 1);
  directory.look_up(3, 0);
  directory.withdraw(3, 0);
  directory.withdraw(3, 0);
  EXPECT_EQ(directory.holders(3), 0U);
  EXPECT_EQ(directory.look_up(3, 1), (Located{-1, true}));
}

TEST(DirectoryOfCaches, ANodeThatDepartsHasNothing) {
  Directory directory(10, 1);
  for (const SampleId id : {3, 4}) directory.look_up(id, 0);
  directory.publish(3, 0);
  const std::int64_t moment = directory.moment();
  directory.remove(0);
  for (const SampleId id : {3, 4}) EXPECT_EQ(directory.look_up(id, 1), (Located{-1, true})) << id;
  // What others knew of it before does not describe what it has when it is back.
  directory.withdraw(3, 1);
  directory.look_up(3, 0);
  directory.publish(3, 0);
  EXPECT_FALSE(directory.repair(3, 0, moment));
}

TEST(DirectoryOfCaches, SoManyNodesMayKeepASample) {
  Directory two(10, 2);
  for (const int node : {0, 1}) EXPECT_TRUE(two.look_up(3, node).may_keep);
  EXPECT_FALSE(two.look_up(3, 2).may_keep);
  two.withdraw(3, 0);
  EXPECT_TRUE(two.look_up(3, 2).may_keep);
  Directory all(10, 0);
  for (int node = 0; node < 50; ++node) EXPECT_TRUE(all.look_up(3, node).may_keep);
  EXPECT_EQ(all.holders(3), 50U);
}

TEST(DirectoryOfCaches, AskersAreSentToTheNextNodeThatHasTheSample) {
  Directory directory(10, 0);
  for (const int node : {1, 4, 6}) {
    directory.look_up(3, node);
    directory.publish(3, node);
  }
  for (const auto& [asker, holder] : {std::pair(0, 1), {1, 4}, {2, 4}, {5, 6}, {6, 1}, {7, 1}}) {
    const bool is_holder = asker == 1 || asker == 6;
    EXPECT_EQ(directory.look_up(3, asker).holder, holder) << asker;
    if (is_holder)
      directory.publish(3, asker);
    else
      directory.withdraw(3, asker);
  }
  // A node that is still reading comes after those that have it.
  directory.look_up(3, 2);
  EXPECT_EQ(directory.look_up(3, 1).holder, 4);
  for (const int node : {4, 6}) directory.withdraw(3, node);
  EXPECT_EQ(directory.look_up(3, 1).holder, 2);
}

TEST(DirectoryOfCaches, AStaleHolderIsRepairedOnce) {
  Directory directory(10, 1);
  directory.look_up(3, 0);
  directory.publish(3, 0);
  const std::int64_t moment = directory.moment();
  EXPECT_TRUE(directory.repair(3, 0, moment));
  EXPECT_FALSE(directory.repair(3, 0, moment));
  EXPECT_FALSE(directory.repair(3, 1, moment)) << "it has no entry";
  EXPECT_EQ(directory.holders(3), 0U);
}

TEST(DirectoryOfCaches, ANewerEntryIsNotRepaired) {
  Directory directory(10, 1);
  directory.look_up(3, 0);
  directory.publish(3, 0);
  const std::int64_t old = directory.moment();
  // The sample has left node 0 and come back since another one was sent there.
  directory.withdraw(3, 0);
  directory.look_up(3, 0);
  EXPECT_FALSE(directory.repair(3, 0, directory.moment())) << "it is reading the sample";
  directory.publish(3, 0);
  EXPECT_FALSE(directory.repair(3, 0, old));
  EXPECT_EQ(directory.look_up(3, 1), (Located{0, false}));
}

/// Node 1 of 3, samples of 10 bytes, room for two.
class LocatedCaches : public ::testing::Test {
 protected:
  static std::unique_ptr<CachePolicy> cache(const std::string& name, int node = 1) {
    const auto& entry = catalog().find(name);
    return share_by_directory(
        entry.make.node({.tiers = {Bytes(20)}, .options = Options::resolve(name, entry.options, {})}), node);
  }
  static std::string want(CachePolicy& cache, const std::vector<Holder>& holders,
                          const std::vector<SampleId>& wanted) {
    Decisions decisions;
    cache.on_directory(holders, decisions);
    EXPECT_EQ(to_text(decisions), "");
    std::vector<Sample> now;
    for (const SampleId id : wanted) now.push_back({id, Bytes(10)});
    cache.on_want({.now = now}, decisions);
    return to_text(decisions);
  }
  static std::string arrived(CachePolicy& cache, const std::vector<SampleId>& ids, Place from = store(),
                             Arrived::Outcome outcome = Arrived::Outcome::here) {
    std::vector<Arrived> reads;
    for (const SampleId id : ids)
      reads.push_back({.id = id, .size = Bytes(10), .from = from, .outcome = outcome});
    Decisions decisions;
    cache.on_arrived(reads, decisions);
    return to_text(decisions);
  }
};

TEST_F(LocatedCaches, KeepWhatTheyMayAndReadWhereItIs) {
  const auto lru = cache("lru");
  EXPECT_EQ(want(*lru, {{5, 1}, {6, 2}, {7, 0}, {7, 1}}, {5, 6, 7}),
            "serve 5 store, 6 peer2, 7 peer0; keep 5; keep 7");
  EXPECT_EQ(arrived(*lru, {5}), "publish 5");
  EXPECT_EQ(arrived(*lru, {6}, peer(2)), "");
  EXPECT_EQ(arrived(*lru, {7}, peer(0)), "publish 7");
  // What it has is not looked up, and kept.
  EXPECT_EQ(want(*lru, {}, {7, 5}), "serve 7 tier, 5 tier");
}

TEST_F(LocatedCaches, WithdrawWhatLeavesThem) {
  const auto lru = cache("lru");
  want(*lru, {{1, 1}, {2, 1}}, {1, 2});
  EXPECT_EQ(want(*lru, {{3, 1}}, {3}), "serve 3 store; drop 1; keep 3; withdraw 1");
  // It arrives when it has been evicted.
  EXPECT_EQ(arrived(*lru, {1, 2}), "publish 2");
  EXPECT_EQ(arrived(*lru, {2}, store(), Arrived::Outcome::gone), "drop 2; withdraw 2");
}

TEST_F(LocatedCaches, NothingIsEvictedForWhatTheyMayNotKeep) {
  const auto lru = cache("lru");
  want(*lru, {{1, 1}, {2, 1}}, {1, 2});
  EXPECT_EQ(want(*lru, {{3, 0}, {4, -1}}, {3, 4}), "serve 3 peer0, 4 store");
  EXPECT_TRUE(lru->holds(1) && lru->holds(2));
}

TEST_F(LocatedCaches, WithdrawWhatTheyMightHaveKept) {
  const auto minio = cache("minio");
  EXPECT_EQ(want(*minio, {{1, 1}, {2, 1}, {3, 1}}, {1, 2, 3}),
            "serve 1 store, 2 store, 3 store; keep 1; keep 2; withdraw 3");
  // In one request, room is made for the one and then for the other.
  const auto lru = cache("lru");
  EXPECT_EQ(want(*lru, {{1, 1}, {2, 1}, {3, 1}}, {1, 2, 3}),
            "serve 1 store, 2 store, 3 store; keep 1; keep 2; drop 1; keep 3; withdraw 1");
}

/// The answers hold for one request.
TEST_F(LocatedCaches, ForgetTheAnswersOfTheRequestBefore) {
  const auto lru = cache("lru");
  EXPECT_EQ(want(*lru, {{1, 1}, {2, 0}}, {2}), "serve 2 peer0; withdraw 1");
  EXPECT_EQ(want(*lru, {}, {1, 2}), "serve 1 store, 2 store");
}

TEST_F(LocatedCaches, WhatAPeerLacksIsStillKept) {
  const auto lru = cache("lru");
  EXPECT_EQ(want(*lru, {{1, 0}, {1, 1}}, {1}), "serve 1 peer0; keep 1");
  EXPECT_EQ(arrived(*lru, {1}, peer(0), Arrived::Outcome::not_here), "");
  EXPECT_EQ(arrived(*lru, {1}), "publish 1");
}

/// Several nodes and a directory, whose messages arrive at once: nobody holds a sample without an entry, and
/// there are never more copies than allowed, whatever the nodes evict.
class CopiesInCaches : public LocatedCaches {
 protected:
  static constexpr int nodes = 4;
  static constexpr SampleId ids = 12;
  using Make = std::function<std::unique_ptr<CachePolicy>(int node)>;

  /// `before`: what happens to a node before it is asked.
  static void play(const std::string& policy, int copies, const Make& make,
                   const std::function<void(CachePolicy&, Rng&)>& before = {}) {
    SCOPED_TRACE(policy + std::to_string(copies));
    Directory directory(ids, copies);
    std::vector<std::unique_ptr<CachePolicy>> caches;
    for (int node = 0; node < nodes; ++node) caches.push_back(make(node));
    Rng rng = Rng::stream(7, policy, static_cast<std::uint64_t>(copies));
    for (int step = 0; step < 2000; ++step) {
      const int node = static_cast<int>(rng.below(nodes));
      CachePolicy& own = *caches[static_cast<std::size_t>(node)];
      if (before) before(own, rng);
      std::vector<Holder> holders;
      std::vector<Sample> now;
      for (std::uint64_t i = 1 + rng.below(4); i > 0; --i) {
        now.push_back({static_cast<SampleId>(rng.below(ids)), Bytes(10)});
        if (own.holds(now.back().id)) continue;
        const Located located = directory.look_up(now.back().id, node);
        holders.push_back({now.back().id, located.holder});
        if (located.may_keep) holders.push_back({now.back().id, node});
        if (located.holder >= 0) {
          ASSERT_TRUE(caches[static_cast<std::size_t>(located.holder)]->holds(now.back().id));
        }
      }
      const Decisions decisions = request(own, holders, now);
      for (const SampleId id : decisions.withdrawn) directory.withdraw(id, node);
      for (const SampleId id : decisions.published) directory.publish(id, node);
      for (SampleId id = 0; id < ids; ++id) {
        const auto held = std::ranges::count_if(caches, [&](const auto& each) { return each->holds(id); });
        ASSERT_LE(held, copies) << "sample " << id << " in step " << step;
        ASSERT_EQ(static_cast<std::size_t>(held), directory.holders(id)) << "sample " << id;
      }
    }
  }

 private:
  static Decisions request(CachePolicy& cache, const std::vector<Holder>& holders,
                           const std::vector<Sample>& now) {
    Decisions decisions;
    cache.on_directory(holders, decisions);
    cache.on_want({.now = now}, decisions);
    std::vector<Arrived> reads;
    for (const auto& serve : decisions.serve)
      if (serve.from.where != Where::tier)
        reads.push_back({.id = serve.given, .size = Bytes(10), .from = serve.from});
    cache.on_arrived(reads, decisions);
    return decisions;
  }
};

TEST_F(CopiesInCaches, AreNeverMoreThanAllowed) {
  for (const int copies : {1, 2})
    for (const char* policy : {"lru", "minio", "random", "sieve"})
      play(policy, copies, [policy](int node) { return cache(policy, node); });
}

/// Importance changes all the time, so more important samples displace others.
TEST_F(CopiesInCaches, AreNeverMoreThanAllowedInTheHCacheOfICache) {
  const auto& entry = catalog().find("icache");
  ASSERT_TRUE(entry.make.follows_directory);
  int kept = 0;
  const auto make = [&](int node) {
    return entry.make.node({.tiers = {Bytes(20)},
                            .node = node,
                            .nodes = nodes,
                            .manifest = {.samples = ids, .each = Bytes(10)},
                            .options = Options::resolve("icache", entry.options, {{"split", 1.0}})});
  };
  const auto renew = [&](CachePolicy& cache, Rng& rng) {
    std::vector<float> losses(ids);
    for (float& loss : losses) loss = static_cast<float>(rng.uniform());
    const std::vector<std::uint8_t> low(ids, 0);
    Decisions decisions;
    cache.on_importance(0, losses, decisions);
    cache.on_epoch({.low = low}, decisions);
    EXPECT_EQ(to_text(decisions), "");
    kept += cache.holds(0) ? 1 : 0;
  };
  for (const int copies : {1, 2}) play("icache", copies, make, renew);
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, 4000) << "it is displaced at times";
}

}  // namespace TANDEM_FILE
}  // namespace tandem::cache
