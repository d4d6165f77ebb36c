// How samples reached the workers: closed forms on small journals.
#include "workloads/records/data_figures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "workloads/experiment/json_fields.hpp"
#include "workloads/records/cache_rows.hpp"
#include "workloads/records/id_text.hpp"
#include "workloads/records/summary_fields.hpp"

namespace tandem {
namespace TANDEM_FILE {

using Ids = std::vector<std::int64_t>;

Ids range(std::int64_t first, std::int64_t end) {
  Ids ids(static_cast<std::size_t>(end - first));
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

std::vector<std::uint32_t> counts_in(const std::string& text, std::size_t size) {
  std::vector<std::uint32_t> counts(size);
  add_ids(text, counts);
  return counts;
}

TEST(IdText, HoldsEachIdAsOftenAsItOccurs) {
  constexpr std::size_t size = 5000;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng = Rng::stream(seed, "ids");
    std::vector<std::uint32_t> expected(size);
    Ids ids;
    for (std::size_t left = rng.below(400); left > 0; --left) {
      const std::uint64_t first = rng.below(size), count = 1 + rng.below(seed % 2 == 0 ? 1 : 8);
      for (std::uint64_t id = first; id < std::min<std::uint64_t>(size, first + count); ++id) {
        ids.push_back(static_cast<std::int64_t>(id));
        ++expected[id];
      }
    }
    EXPECT_EQ(counts_in(id_text(ids), size), expected) << seed;
  }
}

TEST(IdText, IsShort) {
  EXPECT_EQ(id_text({}), "");
  EXPECT_LE(id_text(range(0, 1'000'000)).size(), 6U);
  Ids every_tenth;
  for (std::int64_t id = 0; id < 100'000; id += 10) every_tenth.push_back(id);
  EXPECT_LE(id_text(every_tenth).size(), 10'001U);
}

TEST(IdText, DamageIsFound) {
  std::vector<std::uint32_t> few(3);
  const std::vector<std::string> damaged = {
      "?", "B", "g", "A", id_text({3}), id_text(range(0, 4)), std::string(20, 'g')};
  for (const std::string& text : damaged) EXPECT_THROW(add_ids(text, few), ConfigError) << text;
  EXPECT_NO_THROW(add_ids(id_text({2, 2}), few));
}

/// A job with one worker and two nodes that are asked for halves of the samples; 10 bytes each.
class Data : public ::testing::Test {
 protected:
  static constexpr std::int64_t set = 100, size = 10;
  Data() {
    info_.experiment.warmup_steps = 0;
    info_.experiment.data.cache_capacity = Bytes(20 * size);
    info_.experiment.stop.epochs = 2;
  }
  void rows(std::int64_t epoch, Rank rank, std::int64_t local, std::int64_t stored) {
    auto& caches = journal_.caches;
    caches.push_back({rank, epoch, "tier0", local, local * size, Seconds(0.5), Seconds(0)});
    caches.push_back({rank, epoch, "store", stored, stored * size, Seconds(1.5), Seconds(1)});
  }
  void delivers(std::int64_t epoch, Rank rank, const Ids& requested, const Ids& delivered = {}) {
    const std::set<std::int64_t> distinct(requested.begin(), requested.end());
    journal_.deliveries.push_back({rank, epoch, set, std::ssize(requested), std::ssize(requested) * size,
                                   std::ssize(distinct) * size, id_text(requested),
                                   delivered.empty() ? "" : id_text(delivered)});
  }
  /// Two epochs; the second has 15 and 20 hits.
  void two_epochs() {
    rows(0, 1, 0, 50);
    rows(0, 2, 0, 50);
    rows(1, 1, 15, 35);
    rows(1, 2, 20, 30);
    for (const std::int64_t epoch : {0, 1}) {
      delivers(epoch, 1, range(0, 50));
      delivers(epoch, 2, range(50, 100));
    }
  }
  void step(int number, double start, double load, double compute, int samples) {
    StepRecord& record = journal_.steps.emplace_back();
    record.step = number;
    record.start = Seconds(start);
    record.samples = samples;
    record.phases[static_cast<std::size_t>(Phase::load)] = Seconds(load);
    record.phases[static_cast<std::size_t>(Phase::forward)] = Seconds(compute);
  }
  nlohmann::json figures() const { return write_fields(data_figures(info_, journal_)); }

  RunInfo info_;
  Journal journal_;
};

TEST_F(Data, JobsWithoutCacheNodesHaveNone) { EXPECT_TRUE(figures().is_null()); }

TEST_F(Data, ColdAndWarmEpochsAreApart) {
  two_epochs();
  const auto data = figures();
  EXPECT_EQ(data.at("cold").at("requests"), 100);
  EXPECT_EQ(data.at("cold").at("hit_ratio"), 0.0);
  EXPECT_EQ(data.at("cold").at("bound").at("byte_hit_ratio"), 0.0);
  EXPECT_TRUE(data.at("cold").at("bound").at("attained").is_null());
  const auto& warm = data.at("warm");
  EXPECT_EQ(warm.at("epochs"), 1);
  EXPECT_EQ(warm.at("classes").at("tier0").at("samples"), 35);
  EXPECT_EQ(warm.at("classes").at("store").at("bytes"), 650);
  EXPECT_EQ(warm.at("classes").at("store").at("blocked_s"), 3.0);
  EXPECT_EQ(warm.at("blocked_s"), 4.0);
  EXPECT_DOUBLE_EQ(warm.at("hit_ratio"), 0.35);
}

/// Two nodes with room for 20 of the 50 samples that each is asked for: 40 hits at most, of 100.
TEST_F(Data, TheBoundOfOneVisitIsTheCapacity) {
  two_epochs();
  const auto bound = figures().at("warm").at("bound");
  EXPECT_EQ(bound.at("name"), "capacity / requests");
  EXPECT_DOUBLE_EQ(bound.at("byte_hit_ratio"), 0.4);
  EXPECT_DOUBLE_EQ(bound.at("attained"), 35.0 / 40);
  EXPECT_TRUE(bound.at("oblivious").is_null()) << "shards are the same in every epoch";
}

/// Each node keeps a fifth of all samples, of which every list has as many for it.
TEST_F(Data, NodesThatAreDealtTheSamplesAnewKnowAFifthOfThem) {
  two_epochs();
  info_.experiment.data.sampling = "shuffled";
  const auto bound = figures().at("warm").at("bound");
  EXPECT_DOUBLE_EQ(bound.at("byte_hit_ratio"), 0.4);
  EXPECT_DOUBLE_EQ(bound.at("oblivious"), 0.2);
}

/// Of 80 samples that are requested once or twice, 120 requests in all, at most 20 are there: 60 misses.
TEST_F(Data, SamplesThatAreVisitedTwiceMissOnceAtMost) {
  rows(0, 1, 0, 100);
  delivers(0, 1, range(0, 100));
  Ids twice = range(0, 80);
  for (std::int64_t id = 0; id < 40; ++id) twice.push_back(id);
  rows(1, 1, 54, 66);
  delivers(1, 1, twice);
  const auto bound = figures().at("warm").at("bound");
  EXPECT_EQ(bound.at("name"), "residents");
  EXPECT_DOUBLE_EQ(bound.at("byte_hit_ratio"), 60.0 / 120);
  EXPECT_DOUBLE_EQ(bound.at("attained"), 54.0 / 60);
}

/// Each node recorded what it could have delivered: 18 and 22 samples, of which 15 and 20 were.
TEST_F(Data, BeladysBoundIsWhatNodesRecorded) {
  two_epochs();
  const auto belady = [&](Rank rank, std::int64_t epoch, std::int64_t samples) {
    journal_.caches.push_back({rank, epoch, "belady", samples, samples * size});
  };
  EXPECT_EQ(figures().at("warm").at("belady").at("missing"),
            "nodes did not record all requests, or began in different epochs");
  belady(1, 0, 0);
  belady(2, 0, 0);
  belady(1, 1, 18);
  EXPECT_TRUE(figures().at("warm").at("belady").at("byte_hit_ratio").is_null()) << "node 2 has not";
  belady(2, 1, 22);
  const auto data = figures();
  EXPECT_EQ(data.at("cold").at("belady").at("byte_hit_ratio"), 0.0);
  EXPECT_TRUE(data.at("cold").at("belady").at("attained").is_null());
  EXPECT_TRUE(data.at("cold").at("belady").at("missing").is_null());
  EXPECT_DOUBLE_EQ(data.at("warm").at("belady").at("byte_hit_ratio"), 0.4);
  EXPECT_DOUBLE_EQ(data.at("warm").at("belady").at("attained"), 35.0 / 40);
  // It is no class, and the other bound is as before.
  EXPECT_EQ(data.at("warm").at("classes").size(), 2U);
  EXPECT_DOUBLE_EQ(data.at("warm").at("bound").at("byte_hit_ratio"), 0.4);
  EXPECT_EQ(data.at("warm").at("requests"), 100);
}

/// A node that was asked for less has its row in an earlier epoch; the last epoch does not count.
TEST_F(Data, BeladysBoundIsThatOfTheEpochsThatCount) {
  info_.experiment.stop.epochs = 0;
  for (const std::int64_t epoch : {0, 1, 2, 3}) rows(epoch, 1, 10, 40);
  for (const std::int64_t epoch : {0, 1}) rows(epoch, 2, 10, 40);
  for (const auto& [rank, epoch, samples] : {std::tuple(1, 0, 0), std::tuple(1, 3, 70), std::tuple(1, 2, 45),
                                             std::tuple(2, 0, 0), std::tuple(2, 1, 15)})
    journal_.caches.push_back({rank, epoch, "belady", samples, samples * size});
  EXPECT_DOUBLE_EQ(offline_optimum(info_, journal_, false).bytes, (45 + 15) * size);
  info_.experiment.stop.epochs = 4;
  EXPECT_DOUBLE_EQ(offline_optimum(info_, journal_, false).bytes, (70 + 15) * size);
}

TEST_F(Data, BeladysBoundSaysWhyItIsMissing) {
  const auto why = [&] { return offline_optimum(info_, journal_, false).missing; };
  two_epochs();
  for (const Rank rank : {1, 2})
    for (const std::int64_t epoch : {0, 1}) journal_.caches.push_back({rank, epoch, "belady", 1, size});
  EXPECT_EQ(why(), "");
  journal_.caches.push_back({1, 1, "background", 30, 300, Seconds(0), Seconds(1)});
  EXPECT_EQ(why(), "caches read samples before they were requested");
  journal_.caches.back().from = "kept";
  EXPECT_EQ(why(), "caches were not empty when the job began");
  journal_.caches.pop_back();
  info_.generations = {{}};
  EXPECT_EQ(why(), "the job started again, with empty caches");
  info_.physics["shared_cache"] = {"other"};
  EXPECT_EQ(why(), "other jobs fill the caches, too");
  info_ = {};
  journal_.caches.clear();
  rows(0, 1, 0, most_ordered);
  rows(1, 1, 0, 1);
  EXPECT_EQ(why(), "of more than 16777216 requests, nodes do not keep the order");
}

TEST_F(Data, AllSamplesFitIntoALargeCache) {
  two_epochs();
  info_.experiment.data.disk_capacity = Bytes(1000 * size);
  EXPECT_DOUBLE_EQ(figures().at("warm").at("bound").at("byte_hit_ratio"), 1.0);
}

/// What was read ahead of its request is a hit that the bound does not know, and no delivery.
TEST_F(Data, ReadsInTheBackgroundAddToNoRequestAndHaveNoBound) {
  two_epochs();
  journal_.caches.push_back({1, 1, "background", 30, 300, Seconds(0), Seconds(1)});
  const auto data = figures();
  EXPECT_EQ(data.at("warm").at("requests"), 100);
  EXPECT_EQ(data.at("warm").at("classes").at("background").at("samples"), 30);
  EXPECT_TRUE(data.at("warm").at("bound").is_null());
}

/// Of a job of one epoch, whose workers ask for a batch in advance.
TEST_F(Data, BatchesInAdvanceAfterTheEndAreNoWarmEpoch) {
  info_.experiment.stop.epochs = 1;
  rows(0, 1, 0, 100);
  rows(1, 1, 5, 10);
  delivers(0, 1, range(0, 100));
  delivers(1, 1, range(0, 15));
  const auto data = figures();
  EXPECT_TRUE(data.at("warm").is_null());
  EXPECT_EQ(data.at("epochs").size(), 2U);
  EXPECT_DOUBLE_EQ(data.at("coverage").at("divergence"), 0.0);
  // A job that trains on a part of the second epoch.
  info_.experiment.stop.epochs = 1.2;
  EXPECT_EQ(figures().at("warm").at("requests"), 15);
}

/// What is left of a cache is no class of delivered samples; the bound is for caches that begin empty.
TEST_F(Data, WhatIsLeftOfACacheIsNoClass) {
  two_epochs();
  journal_.caches.push_back({1, 1, "kept", 30, 300, Seconds(0), Seconds(0)});
  journal_.caches.push_back({1, 1, "spoiled", 2, 0, Seconds(0), Seconds(0)});
  const auto data = figures();
  EXPECT_EQ(data.at("warm").at("requests"), 100);
  EXPECT_EQ(data.at("warm").at("classes").size(), 2U);
  EXPECT_EQ(data.at("epochs").at(1).at("classes").size(), 2U);
  EXPECT_TRUE(data.at("warm").at("bound").is_null());
}

/// Two workers with two batches of 25 samples per epoch; they wait for half of each step of the cold epoch.
TEST_F(Data, StallIsKnownWhereWorkersTrainEqually) {
  two_epochs();
  for (const Rank worker : {3, 4})
    for (int number = 0; number < 4; ++number) {
      step(number, number, number < 2 ? 1.0 : 0.25, number < 2 ? 1.0 : 0.75, 25);
      journal_.steps.back().rank = worker;
    }
  EXPECT_DOUBLE_EQ(figures().at("cold").at("stall").get<double>(), 0.5);
  EXPECT_DOUBLE_EQ(figures().at("warm").at("stall").get<double>(), 0.25);
  // The first one trains on two batches more.
  for (const int number : {4, 5}) {
    step(number, number, 0.25, 0.75, 25);
    journal_.steps.back().rank = 3;
  }
  EXPECT_TRUE(figures().at("cold").at("stall").is_null());
  EXPECT_TRUE(figures().at("warm").at("stall").is_null());
}

TEST_F(Data, EpochsHaveNoTimesWhereAWorkerDeparted) {
  two_epochs();
  for (int number = 0; number < 2; ++number) step(number, number, 0.0, 1.0, 100);
  EXPECT_EQ(epoch_times(info_, journal_).size(), 2U);
  journal_.membership.push_back({.time = Seconds(1), .event = "departed", .cause = "left"});
  EXPECT_TRUE(epoch_times(info_, journal_).empty());
}

TEST_F(Data, EveryEpochCoversTheSet) {
  two_epochs();
  const Coverage coverage = coverage_of(info_, journal_);
  ASSERT_EQ(coverage.epochs.size(), 2U);
  for (const EpochCoverage& epoch : coverage.epochs) {
    EXPECT_EQ(epoch.requested, set);
    EXPECT_EQ(epoch.distinct, set);
    EXPECT_EQ(epoch.omitted + epoch.repeated, 0);
    EXPECT_NEAR(epoch.divergence, 0.0, 1e-12);
  }
  EXPECT_EQ(figures().at("coverage").at("distinct_share"), 1.0);
}

/// Sample 7 comes in place of 3 samples of the other node, which delivers it too.
TEST_F(Data, SubstitutesAreOmissionsAndRepetitions) {
  rows(0, 1, 0, 50);
  rows(0, 2, 0, 50);
  delivers(0, 1, range(0, 50));
  Ids delivered = range(53, 100);
  delivered.insert(delivered.end(), 3, 7);
  delivers(0, 2, range(50, 100), delivered);
  const Coverage coverage = coverage_of(info_, journal_);
  ASSERT_EQ(coverage.epochs.size(), 1U);
  const EpochCoverage& epoch = coverage.epochs[0];
  EXPECT_EQ(epoch.distinct, 97);
  EXPECT_EQ(epoch.omitted, 3);
  EXPECT_EQ(epoch.repeated, 3);
  // 96 samples with a share of 0.01, one with 0.04, three with none.
  EXPECT_NEAR(epoch.divergence, 0.04 * std::log(4.0), 1e-12);
}

/// The half of the samples that is selected: ln 2.
TEST_F(Data, SelectionDiverges) {
  rows(0, 1, 0, 50);
  delivers(0, 1, range(0, 50));
  EXPECT_NEAR(coverage_of(info_, journal_).epochs.at(0).divergence, std::log(2.0), 1e-12);
}

/// A node that was killed recorded less than it had delivered.
TEST_F(Data, EpochsThatWereNotRecordedCompletelyHaveNoCoverage) {
  two_epochs();
  journal_.deliveries.pop_back();
  const Coverage coverage = coverage_of(info_, journal_);
  ASSERT_EQ(coverage.epochs.size(), 1U);
  EXPECT_EQ(coverage.epochs[0].epoch, 0);
  const auto data = figures();
  EXPECT_TRUE(data.at("epochs").at(1).at("coverage").is_null());
  EXPECT_TRUE(data.at("warm").at("bound").is_null());
}

/// All samples in epoch 0, the first half in epoch 1, then all: half of them have a loss of epoch 0.
TEST_F(Data, ImportanceAgesWithTheVisits) {
  info_.experiment.workload.math = Math::real;
  info_.experiment.data.sampling_options["lag"] = std::int64_t{0};
  for (const std::int64_t epoch : {0, 1, 2}) {
    const std::int64_t count = epoch == 1 ? 50 : 100;
    rows(epoch, 1, 0, count);
    delivers(epoch, 1, range(0, count));
  }
  const auto ages_of = [&] {
    std::vector<double> ages;
    for (const auto& epoch : coverage_of(info_, journal_).epochs)
      ages.push_back(epoch.importance_age.value_or(-1));
    return ages;
  };
  EXPECT_EQ(ages_of(), (std::vector<double>{-1, 1, 1.5}));
  info_.experiment.data.sampling_options["lag"] = std::int64_t{1};
  EXPECT_EQ(ages_of(), (std::vector<double>{-1, -1, 2}));
  // Losses of a model are new for all samples in every epoch.
  info_.experiment.workload.math = Math::modelled;
  EXPECT_EQ(ages_of(), (std::vector<double>{-1, -1, -1}));
}

/// Five steps of 20 samples an epoch, 3 s each in the cold one and 1 s in the warm one.
TEST_F(Data, EpochsEndWithTheLastOfTheirSamples) {
  two_epochs();
  double start = 0.5;
  for (int number = 0; number < 10; ++number) {
    const double load = number < 5 ? 2.25 : 0.25;
    step(number, start, load, 0.75, 20);
    start += load + 0.75;
  }
  const auto times = epoch_times(info_, journal_);
  ASSERT_EQ(times.size(), 2U);
  EXPECT_DOUBLE_EQ(times[0].count(), 15.0);
  EXPECT_DOUBLE_EQ(times[1].count(), 5.0);
  const auto data = figures();
  EXPECT_DOUBLE_EQ(data.at("warm").at("epoch_time_s"), 5.0);
  EXPECT_DOUBLE_EQ(data.at("cold").at("stall"), 0.75);
  EXPECT_DOUBLE_EQ(data.at("warm").at("stall"), 0.25);
}

/// Messages to the directory are neither samples nor classes, and the bound holds with them.
TEST_F(Data, ADirectoryHasFiguresOfItsOwn) {
  two_epochs();
  const auto without = figures();
  EXPECT_FALSE(without.at("cold").contains("directory"));
  const auto add = [&](std::int64_t epoch, Rank rank, const char* from, std::int64_t samples,
                       std::int64_t bytes, double blocked_s = 0) {
    journal_.caches.push_back({rank, epoch, from, samples, bytes, Seconds(blocked_s), Seconds(blocked_s)});
  };
  for (const Rank node : {1, 2}) {
    add(1, node, "lookup", 30, 300, 0.25);
    add(1, node, "lookup-messages", 8, 360);
    add(1, node, "published", 5, 50);
    add(1, node, "withdrawn", 4, 40);
    add(1, node, "update-messages", 3, 80);
  }
  add(1, 2, "repaired", 1, 10);
  const auto data = figures();
  EXPECT_EQ(data.at("warm").at("directory"),
            (nlohmann::json{
                {"lookups", {{"messages", 16}, {"bytes", 720}, {"samples", 60}, {"blocked_s", 0.5}}},
                {"updates",
                 {{"messages", 6}, {"bytes", 160}, {"published", 10}, {"withdrawn", 8}, {"repaired", 1}}}}));
  for (const char* key : {"requests", "bytes", "blocked_s", "hit_ratio", "bound", "classes"})
    EXPECT_EQ(data.at("warm").at(key), without.at("warm").at(key)) << key;
  EXPECT_TRUE(data.at("warm").at("bound").is_object());
}

/// Batches that were requested in advance and never trained on are no epoch.
TEST_F(Data, AnEpochThatWasBegunHasNoTime) {
  two_epochs();
  rows(2, 1, 0, 8);
  for (int number = 0; number < 10; ++number) step(number, number, 0.5, 0.5, 20);
  EXPECT_EQ(epoch_times(info_, journal_).size(), 2U);
  const auto data = figures();
  EXPECT_FALSE(data.at("epochs").at(2).at("complete"));
  EXPECT_TRUE(data.at("epochs").at(2).at("time_s").is_null());
  EXPECT_EQ(data.at("warm").at("epochs"), 1);
  EXPECT_EQ(data.at("warm").at("requests"), 100);
  // The job was stopped by rounds, in the second epoch.
  journal_.caches.resize(8);
  info_.experiment.stop.epochs = 0;
  EXPECT_EQ(epoch_times(info_, journal_).size(), 1U);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
