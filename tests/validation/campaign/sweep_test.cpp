// The division of a study among processes: every configuration in one shard, about equal costs, and digests
// that tell contents apart.
#include "validation/campaign/sweep.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::validation {
namespace {

Suite suite_of(const std::vector<int>& workers) {
  Suite suite;
  for (const int count : workers) {
    SuiteConfiguration configuration;
    configuration.name = "c" + std::to_string(suite.configurations.size());
    configuration.experiment.placement.worker_count = count;
    configuration.experiment.stop.rounds = 10;
    suite.configurations.push_back(configuration);
  }
  return suite;
}

TEST(Shards, HaveEachConfigurationOnce) {
  Rng rng(1);
  for (int run = 0; run < 50; ++run) {
    std::vector<int> workers(rng.below(40));
    for (int& count : workers) count = static_cast<int>(1 + rng.below(64));
    const Suite suite = suite_of(workers);
    for (const int count : {1, 2, 7}) {
      std::multiset<std::size_t> seen;
      for (int index = 0; index < count; ++index) {
        const auto own = configurations_of(suite, {index, count});
        EXPECT_TRUE(std::ranges::is_sorted(own));
        seen.insert(own.begin(), own.end());
      }
      EXPECT_EQ(seen.size(), workers.size());
      EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), workers.size());
    }
  }
}

TEST(Shards, AreBalancedByExpectedCost) {
  const Suite suite = suite_of({64, 1, 1, 1, 1, 32, 32, 60, 2, 2});
  std::vector<int> cost(3);
  for (int index = 0; index < 3; ++index)
    for (const std::size_t i : configurations_of(suite, {index, 3}))
      cost[static_cast<std::size_t>(index)] += suite.configurations[i].experiment.placement.worker_count;
  EXPECT_EQ(std::accumulate(cost.begin(), cost.end(), 0), 196);
  for (const int each : cost) EXPECT_NEAR(each, 196 / 3.0, 2.0);
}

TEST(Shards, AreReadFromTextAndJobArrays) {
  EXPECT_EQ(parse_shard("2/8").index, 2);
  EXPECT_EQ(parse_shard("2/8").count, 8);
  for (const char* text : {"8/8", "-1/8", "1", "1/", "/8", "a/b", "0/0", "1/2/3"})
    EXPECT_THROW(parse_shard(text), ConfigError) << text;
  EXPECT_THROW(shard_of_environment(), ConfigError);
  setenv("SLURM_ARRAY_TASK_ID", "5", 1);
  setenv("SLURM_ARRAY_TASK_MIN", "3", 1);
  setenv("SLURM_ARRAY_TASK_COUNT", "4", 1);
  EXPECT_EQ(shard_of_environment().index, 2);
  EXPECT_EQ(shard_of_environment().count, 4);
  setenv("SLURM_ARRAY_TASK_ID", "7", 1);  // an array such as 3,4,5,7
  EXPECT_THROW(shard_of_environment(), ConfigError);
  for (const char* name : {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT"})
    unsetenv(name);
}

TEST(ContentHash, DependsOnEveryKeyButTheName) {
  SuiteConfiguration one;
  one.name = "one";
  one.experiment.name = "a";
  SuiteConfiguration other = one;
  other.name = "other";
  other.experiment.name = "b";
  EXPECT_EQ(content_hash(one), content_hash(other));
  EXPECT_EQ(content_hash(one).size(), 16U);
  other.experiment.seed = one.experiment.seed + 1;
  EXPECT_NE(content_hash(one), content_hash(other));
  Suite study = suite_of({1, 2}), changed = suite_of({1, 3});
  EXPECT_EQ(study_id(study), study_id(suite_of({1, 2})));
  EXPECT_NE(study_id(study), study_id(changed));
}

}  // namespace
}  // namespace tandem::validation
