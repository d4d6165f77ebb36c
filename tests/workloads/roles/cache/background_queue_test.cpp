// Reads in the background come one at a time, in the order in which they were decided, unless a batch waits
// for one.
#include "workloads/roles/cache/background_queue.hpp"

#include <gtest/gtest.h>

namespace tandem {
namespace TANDEM_FILE {

using Ids = std::vector<SampleId>;

cache::Decisions reading(const std::vector<std::pair<Ids, cache::Why>>& reads) {
  cache::Decisions decisions;
  for (const auto& [ids, why] : reads) decisions.read(ids, cache::store(), why);
  return decisions;
}

TEST(BackgroundQueue, OneIsMadeAtATime) {
  BackgroundQueue reads(4, 8);
  reads.add(reading({{{1, 2}, cache::Why::package}, {{3, 4}, cache::Why::package}}), 2);
  auto read = reads.next();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->ids, (Ids{1, 2}));
  EXPECT_TRUE(read->is_package());
  EXPECT_EQ(read->epoch, 2);
  reads.note_begun(2);
  EXPECT_FALSE(reads.next());
  reads.note_end();
  EXPECT_FALSE(reads.next()) << "its other part has not ended";
  reads.note_end();
  EXPECT_EQ(reads.next()->ids, (Ids{3, 4}));
  EXPECT_TRUE(reads.is_empty());
}

TEST(BackgroundQueue, AsManyAreMadeAtTheSameTimeAsItIsTold) {
  constexpr std::size_t concurrent = 2;
  BackgroundQueue reads(1, 8, concurrent);
  reads.add(
      reading({{{1}, cache::Why::package}, {{2}, cache::Why::package}, {{3}, cache::Why::package}}), 0);
  for (const SampleId id : {1, 2}) {
    EXPECT_EQ(reads.next()->ids, (Ids{id}));
    reads.note_begun(1);
  }
  EXPECT_FALSE(reads.next());
  reads.note_end();
  EXPECT_EQ(reads.next()->ids, (Ids{3}));
}

TEST(BackgroundQueue, SingleSamplesAreReadTogetherUpToABatch) {
  BackgroundQueue reads(3, 8);
  reads.add(reading({{{1}, cache::Why::prefetch},
                     {{2}, cache::Why::prefetch},
                     {{3}, cache::Why::prefetch},
                     {{4}, cache::Why::prefetch},
                     {{5}, cache::Why::refill}}),
            0);
  EXPECT_EQ(reads.next()->ids, (Ids{1, 2, 3}));
  EXPECT_EQ(reads.next()->ids, (Ids{4}));
  EXPECT_EQ(reads.next()->ids, (Ids{5}));
}

TEST(BackgroundQueue, DemandIsNotInTheBackground) {
  BackgroundQueue reads(3, 8);
  reads.add(reading({{{1}, cache::Why::demand}}), 0);
  EXPECT_TRUE(reads.is_empty());
}

TEST(BackgroundQueue, WhatABatchWaitsForComesFirst) {
  BackgroundQueue reads(3, 8);
  reads.add(reading({{{1, 2}, cache::Why::package}, {{3, 4}, cache::Why::package}}), 0);
  reads.note_begun(1);  // another one is under way
  EXPECT_FALSE(reads.hurry(9));
  EXPECT_EQ(reads.hurry(4)->ids, (Ids{3, 4}));
  EXPECT_FALSE(reads.hurry(4)) << "it has begun";
  reads.note_end();
  EXPECT_EQ(reads.next()->ids, (Ids{1, 2}));
}

/// Nobody waits for them: they are written, and read with their package.
TEST(BackgroundQueue, APackageIsWrittenBeforeItIsRead) {
  BackgroundQueue reads(3, 8);
  cache::Decisions decisions;
  decisions.write_package(Ids{1, 2, 3});
  decisions.read(Ids{1, 2, 3}, cache::store(), cache::Why::package);
  decisions.fetch[0].count = 2;  // the last one is here
  decisions.fetch[0].others = 1;
  reads.add(decisions, 0);
  const auto written = reads.next();
  EXPECT_TRUE(written->is_new_package);
  EXPECT_EQ(written->others, 3U);
  EXPECT_FALSE(reads.hurry(3)) << "it comes with the package, and is not needed";
  const auto read = reads.hurry(2);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->ids, (Ids{1, 2, 3}));
  EXPECT_EQ(read->others, 1U);
}

/// One read of many samples is several, of which one is made at a time, or the one that a batch waits for.
TEST(BackgroundQueue, LargeReadsAreDivided) {
  BackgroundQueue reads(2, 3);
  reads.add(reading({{{1, 2, 3, 4, 5, 6, 7}, cache::Why::warm_up}}), 4);
  EXPECT_EQ(reads.next()->ids, (Ids{1, 2, 3}));
  reads.note_begun(1);
  EXPECT_FALSE(reads.next());
  EXPECT_FALSE(reads.hurry(2)) << "it has begun";
  const auto hurried = reads.hurry(7);
  ASSERT_TRUE(hurried);
  EXPECT_EQ(hurried->ids, (Ids{7}));
  EXPECT_EQ(hurried->why, cache::Why::warm_up);
  EXPECT_EQ(hurried->epoch, 4);
  reads.note_end();
  EXPECT_EQ(reads.next()->ids, (Ids{4, 5, 6}));
  EXPECT_TRUE(reads.is_empty());
}

/// A store answers no larger read: each part of such a package is a request of its own.
TEST(BackgroundQueue, APackageIsDividedWithItsOthers) {
  BackgroundQueue reads(2, 3);
  cache::Decisions decisions = reading({{{1, 2, 3, 4, 5, 6, 7}, cache::Why::package}});
  decisions.fetch[0].count = 5;
  decisions.fetch[0].others = 2;
  reads.add(decisions, 0);
  EXPECT_EQ(reads.next()->others, 0U);
  const auto second = reads.next();
  EXPECT_EQ(second->ids, (Ids{4, 5, 6}));
  EXPECT_EQ(second->others, 1U);
  EXPECT_TRUE(second->is_package());
  EXPECT_EQ(reads.next()->others, 1U);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
