// Which reads follow, and what is counted, where another node was asked in vain; and for which job.
#include "workloads/data/cache_engine.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "policies/cache/bypass.hpp"
#include "policies/cache/training/kept.hpp"

namespace tandem {
namespace TANDEM_FILE {

using cache::Arrived;
using cache::Decisions;
using cache::Where;
using cache::Why;

constexpr Bytes size(10);

/// Copies what node 1 has when there is time, and else reads it there for each batch.
class Copying final : public cache::CachePolicy {
 public:
  void on_want(const cache::Want& want, Decisions& decisions) override {
    for (const auto& [id, unused] : want.now)
      decisions.serve.push_back({id, id, kept_.holds(id) ? cache::tier(0) : cache::peer(1)});
  }
  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    kept_.forget_failed(arrived, decisions);
    for (const Arrived& read : arrived)
      if (reads_again && read.outcome == Arrived::Outcome::not_here)
        decisions.read(read.id, cache::peer(2), Why::refill);
  }
  void on_idle(Bytes, Decisions& decisions) override {
    if (kept_.keep(3, size, decisions)) decisions.read(3, cache::peer(1), Why::refill);
  }
  bool holds(SampleId id) const override { return kept_.holds(id); }
  Bytes used(int) const override { return kept_.used(); }
  bool reads_again = false;

 private:
  cache::Kept kept_{Bytes(100)};
};

class PeerMisses : public ::testing::Test {
 protected:
  using Reads = std::vector<std::pair<Where, Why>>;
  PeerMisses() {
    auto policy = std::make_unique<Copying>();
    policy_ = policy.get();
    engine_ = std::make_unique<CacheEngine>(std::move(policy), std::vector{Bytes(100)},
                                            cache::Manifest{.samples = 8, .each = size});
  }
  void want(SampleId id) {
    const std::vector<cache::Sample> now = {{id, size}};
    cache::Want want;
    want.now = now;
    engine_->want(want);
  }
  /// The reads that follow.
  Reads misses(SampleId id, Why why) {
    const std::vector<Arrived> arrived = {{id, size, cache::peer(1), why, Arrived::Outcome::not_here}};
    const Decisions& decisions = engine_->arrived(0, arrived);
    Reads reads;
    for (const cache::Fetch& fetch : decisions.fetch) {
      EXPECT_EQ(decisions.ids_of(fetch).front(), id);
      reads.emplace_back(fetch.from.where, fetch.why);
    }
    return reads;
  }
  CacheLedger ledger() const { return engine_->ledger(0, 0); }

  Copying* policy_;
  std::unique_ptr<CacheEngine> engine_;
};

TEST_F(PeerMisses, OnDemandComesFromTheStore) {
  want(5);
  EXPECT_EQ(ledger().peer.samples, 1);
  EXPECT_EQ(misses(5, Why::demand), (Reads{{Where::store, Why::demand}}));
  EXPECT_EQ(ledger().peer, SampleCount{});
  EXPECT_EQ(ledger().storage.samples, 1);
  EXPECT_EQ(ledger().peer_misses, 1);
}

TEST_F(PeerMisses, InTheBackgroundIsLeft) {
  engine_->idle(Bytes(100));
  EXPECT_EQ(misses(3, Why::refill), Reads{});
  EXPECT_FALSE(engine_->in_flight(3));
  EXPECT_EQ(ledger().peer, SampleCount{});
  EXPECT_EQ(ledger().peer_misses, 1);
}

/// It was served from the tier that was to keep it, not from the peer.
TEST_F(PeerMisses, InTheBackgroundIsReadForABatchThatWaits) {
  engine_->idle(Bytes(100));
  want(3);
  EXPECT_EQ(ledger().local.samples, 1);
  EXPECT_EQ(misses(3, Why::refill), (Reads{{Where::store, Why::demand}}));
  EXPECT_TRUE(engine_->in_flight(3));
  EXPECT_EQ(ledger().peer, SampleCount{});
  EXPECT_EQ(ledger().storage, SampleCount{});
}

TEST_F(PeerMisses, ThePolicyMayReadItItself) {
  policy_->reads_again = true;
  want(5);
  EXPECT_EQ(misses(5, Why::demand), (Reads{{Where::peer, Why::refill}}));
  // In vain again, and the batch still waits.
  policy_->reads_again = false;
  EXPECT_EQ(misses(5, Why::refill), (Reads{{Where::store, Why::demand}}));
}

/// Keeps one sample, which it reads when losses are known, and reads another one in its place when it has
/// arrived.
class ReadingByLosses final : public cache::CachePolicy {
 public:
  void on_want(const cache::Want& want, Decisions& decisions) override {
    for (const auto& [id, unused] : want.now) decisions.serve.push_back({id, id, cache::store()});
  }
  void on_importance(int, std::span<const float>, Decisions& decisions) override { read(3, decisions); }
  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    if (arrived.front().id != 3) return;
    kept_.drop(3, size, decisions);
    read(4, decisions);
  }
  bool holds(SampleId id) const override { return kept_.holds(id); }
  Bytes used(int) const override { return kept_.used(); }

 private:
  void read(SampleId id, Decisions& decisions) {
    EXPECT_TRUE(kept_.keep(id, size, decisions));
    decisions.read(id, cache::store(), Why::prefetch);
  }
  cache::Kept kept_{size};
};

/// Whichever job asked for samples meanwhile.
TEST(SharedEngine, ReadsCountForTheJobForWhichTheyAre) {
  CacheEngine engine(std::make_unique<ReadingByLosses>(), {size}, cache::Manifest{.samples = 8, .each = size},
                     2);
  const auto want = [&](int job, SampleId id) {
    const std::vector<cache::Sample> now = {{id, size}};
    cache::Want want;
    want.job = job;
    want.now = now;
    engine.want(want);
  };
  const auto ahead = [&](int job) {
    return engine.ledger(job, 0).background[static_cast<std::size_t>(Why::prefetch)].samples;
  };
  want(0, 5);
  engine.importance(1, {});
  EXPECT_EQ(ahead(1), 1);
  want(0, 6);
  const std::vector<Arrived> arrived = {{3, size, cache::store(), Why::prefetch, Arrived::Outcome::here}};
  engine.arrived(1, arrived);
  EXPECT_EQ(ahead(1), 2);
  EXPECT_EQ(ahead(0), 0);
  EXPECT_EQ(engine.ledger(1, 0).evicted, 1);
  EXPECT_EQ(engine.ledger(1, 0).wasted.samples, 1);
  EXPECT_EQ(engine.ledger(0, 0).evicted, 0);
  // Another node was asked in vain for what the other job wants.
  const std::vector<Arrived> missed = {{5, size, cache::peer(1), Why::demand, Arrived::Outcome::not_here}};
  engine.arrived(0, missed);
  EXPECT_EQ(engine.ledger(0, 0).peer_misses, 1);
  EXPECT_EQ(engine.ledger(1, 0).peer_misses, 0);
}

/// A job that bypasses the cache does not make the others wait for its reads.
TEST(SharedEngine, WhatATierHasIsThereWhileAJobReadsItPastTheTier) {
  auto lru = cache::catalog().find("lru").make.node(
      {.tiers = {Bytes(20)}, .jobs = 2, .manifest = {.samples = 8, .each = size}});
  CacheEngine engine(cache::with_bypass(std::move(lru), 2), {Bytes(20)},
                     cache::Manifest{.samples = 8, .each = size}, 2);
  const auto want = [&](int job, SampleId id) {
    const std::vector<cache::Sample> now = {{id, size}};
    cache::Want want;
    want.job = job;
    want.now = now;
    return engine.must_wait(engine.want(want).serve.front());
  };
  const auto arrives = [&](SampleId id) {
    const std::vector<Arrived> arrived = {{id, size, cache::store(), Why::demand, Arrived::Outcome::here}};
    engine.arrived(0, arrived);
  };
  EXPECT_TRUE(want(0, 3));
  EXPECT_TRUE(want(1, 3)) << "it is not here yet";
  EXPECT_FALSE(engine.has(3));
  arrives(3);
  EXPECT_FALSE(want(1, 3));
  engine.change_job({.job = 0, .state = cache::JobChange::State::bypasses});
  EXPECT_TRUE(want(0, 3));
  EXPECT_TRUE(engine.in_flight(3));
  EXPECT_TRUE(engine.has(3));
  EXPECT_FALSE(want(1, 3));
  arrives(3);
  EXPECT_TRUE(engine.is_kept(3)) << "it need not be written again";
  // Once it is evicted, the read is that of all.
  EXPECT_TRUE(want(0, 3));
  want(1, 4);
  want(1, 5);
  EXPECT_EQ(engine.tier_of(3), cache::outside);
  EXPECT_TRUE(want(1, 3));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
