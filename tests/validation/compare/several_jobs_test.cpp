// What is compared of several jobs on one platform: sums over all of them, worked out by hand, and which
// decisions of the caches that they share must be the same.
#include "validation/compare/several_jobs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"
#include "validation/compare/gates.hpp"
#include "workloads/records/jobs_summary.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

JobsSummary summary(double makespan, JobsSummary more = {}) {
  more.makespan_s = makespan;
  more.jobs["vision"] = {.start_s = 0.0, .makespan_s = makespan - 2};
  more.jobs["late"] = {.start_s = 2.0, .makespan_s = makespan - 2};
  return more;
}

JobsSummary with_alone(double jain_index, double least, double most) {
  JobsSummary summary;
  summary.jain_index = jain_index;
  summary.slow_down = {least, most};
  return summary;
}

const Figure* find(const SeveralJobs& jobs, const std::string& key) {
  for (const auto& figure : jobs.figures)
    if (figure.key == key) return &figure;
  return nullptr;
}

TEST(SeveralJobsCompared, ErrorsAreOverTheMeanOfTheRuns) {
  const JobsSummary alone = with_alone(0.9, 1.1, 1.5), other = with_alone(0.8, 1.0, 2.0);
  const auto jobs = compare_jobs("lru", summary(11, alone), {summary(9, other), summary(11, other)});
  EXPECT_EQ(jobs.name, "lru");
  ASSERT_EQ(jobs.jobs.size(), 2U);
  EXPECT_EQ(jobs.jobs[0].name, "late");
  EXPECT_EQ(jobs.jobs[0].start_s, 2.0);
  ASSERT_NE(find(jobs, "makespan"), nullptr);
  EXPECT_EQ(find(jobs, "makespan")->measured, 10);
  EXPECT_DOUBLE_EQ(find(jobs, "makespan")->error, 0.1);
  // Each is compared with the other one: 2/11 and 2/9.
  EXPECT_NEAR(find(jobs, "makespan")->noise_floor.value_or(0), (2.0 / 11 + 2.0 / 9) / 2, 1e-12);
  EXPECT_DOUBLE_EQ(find(jobs, "jain_index")->error, 0.125);
  EXPECT_DOUBLE_EQ(find(jobs, "largest_slow_down")->error, -0.25);
  EXPECT_NEAR(find(jobs, "least_slow_down")->error, 0.1, 1e-12);
  EXPECT_EQ(find(jobs, "shared_hit_ratio"), nullptr);
}

TEST(SeveralJobsCompared, WhatOneOfTheWorldsLacksIsLeftOut) {
  const JobsSummary alone = with_alone(0.9, 1.1, 1.5);
  JobsSummary shared;
  shared.shared_cache = SharedCacheSummary{.hit_ratio = 0.5, .byte_hit_ratio = 0.5};
  EXPECT_EQ(find(compare_jobs("a", summary(10, alone), {summary(10)}), "jain_index"), nullptr);
  EXPECT_EQ(find(compare_jobs("a", summary(10), {summary(10), summary(10, shared)}), "shared_hit_ratio"),
            nullptr);
  const auto both = compare_jobs("a", summary(10, shared), {summary(10, shared)});
  ASSERT_NE(find(both, "shared_hit_ratio"), nullptr);
  EXPECT_EQ(find(both, "shared_hit_ratio")->error, 0);
}

TEST(SeveralJobsCompared, ADirectoryOfOneJobIsRefused) {
  const testing::TemporaryFolder folder;
  EXPECT_THAT([&] { read_jobs_summary(folder.path("none")); },
              ThrowsMessage<ConfigError>(HasSubstr("summary.json")));
}

/// A job with one worker, and a node of its own or one that other jobs use, too.
TEST(SeveralJobsCompared, ANodeOfSeveralJobsServesSeveralWorkers) {
  RunInfo info;
  info.roles = {"worker", "cache-node"};
  EXPECT_FALSE(caches_serve_several(info));
  info.physics[shared_cache_key] = {"late"};
  EXPECT_TRUE(caches_serve_several(info));
  RunInfo of_two_workers;
  of_two_workers.roles = {"worker", "worker", "cache-node"};
  EXPECT_TRUE(caches_serve_several(of_two_workers));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
