// The division of a study among processes: every configuration in one shard, about equal costs, and digests
// that tell contents apart.
#include "validation/campaign/sweep.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

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

std::string error_of(const std::string& shard) {
  try {
    parse_shard(shard);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

/// Of a batch system, for one test.
class Variables {
 public:
  ~Variables() {
    for (const auto& name : names_) unsetenv(name.c_str());
  }
  void set(const std::string& name, const std::string& value) {
    names_.insert(name);
    setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::set<std::string> names_;
};

TEST(Shards, AreReadFromText) {
  EXPECT_EQ(parse_shard("2/8").index, 2);
  EXPECT_EQ(parse_shard("2/8").count, 8);
  for (const char* text : {"8/8", "-1/8", "1", "1/", "a/b", "0/0", "/0", "1/2/3"})
    EXPECT_NE(error_of(text).find("expected I/N with I from 0 to N - 1, found '" + std::string(text)),
              std::string::npos)
        << error_of(text);
}

TEST(Shards, AreThoseOfASlurmArray) {
  EXPECT_NE(error_of("").find("SLURM_ARRAY_TASK_ID"), std::string::npos);
  Variables slurm;
  slurm.set("SLURM_ARRAY_TASK_ID", "5");
  slurm.set("SLURM_ARRAY_TASK_MIN", "3");
  slurm.set("SLURM_ARRAY_TASK_COUNT", "4");
  EXPECT_EQ(parse_shard("").index, 2);
  EXPECT_EQ(parse_shard("").count, 4);
  slurm.set("SLURM_ARRAY_TASK_ID", "7");  // an array such as 3,4,5,7
  EXPECT_NE(error_of("").find("without gaps"), std::string::npos);
}

TEST(Shards, TakeTheNumberOfATaskFromTheEnvironment) {
  EXPECT_NE(error_of("/4").find("found none; write --shard I/4"), std::string::npos) << error_of("/4");
  for (const auto& [name, option] : {std::pair("SLURM_ARRAY_TASK_ID", "sbatch --array=0-3"),
                                     {"PBS_ARRAY_INDEX", "qsub -J 0-3"},
                                     {"HQ_TASK_ID", "hq submit --array 0-3"}}) {
    Variables array;
    // Of one task that is started again: the others count too.
    array.set("SLURM_ARRAY_TASK_MIN", "3");
    array.set("SLURM_ARRAY_TASK_COUNT", "1");
    array.set(name, "3");
    EXPECT_EQ(parse_shard("/4").index, 3) << name;
    EXPECT_EQ(parse_shard("/4").count, 4) << name;
    for (const char* task : {"4", "-1", "x"}) {
      array.set(name, task);
      EXPECT_EQ(error_of("/4"), std::string("--shard /4: expected ") + name + " from 0 to 3, found '" + task +
                                    "'; number the tasks with " + option);
    }
  }
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

TEST(Digests, OfSeveralJobsTellTheirKeysAndStartsApart) {
  SuiteConfiguration one;
  for (const char* name : {"vision", "late"}) one.jobs.push_back({name, Seconds(0), one.experiment});
  SuiteConfiguration other = one;
  EXPECT_EQ(content_hash(one), content_hash(other));
  other.jobs[1].experiment.seed = 7;
  EXPECT_NE(content_hash(one), content_hash(other));
  EXPECT_EQ(hash_without_seeds(one), hash_without_seeds(other));
  other.jobs[1].start = Seconds(2);
  EXPECT_NE(hash_without_seeds(one), hash_without_seeds(other));
  other = one;
  other.jobs[1].experiment.workload.batch = 7;
  EXPECT_NE(hash_without_seeds(one), hash_without_seeds(other));
  // A cost for each job.
  EXPECT_DOUBLE_EQ(expected_cost(one), 2 * expected_cost(SuiteConfiguration{}));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
