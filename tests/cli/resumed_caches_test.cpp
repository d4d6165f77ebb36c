// Jobs with cache nodes that are resumed, or start again when a rank dies: what is left of their caches, and
// that samples that changed places are trained on once.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "tests/cli/restart_jobs.hpp"
#include "tests/support/cache_counts.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

/// 400 samples of 785 bytes: 13 rounds an epoch.
const std::string stored =
    "--set data.source=storage --set placement.cache_nodes=[server,server] --set data.sampling=shuffled "
    "--set "
    "data.cache_capacity=60000 --set data.prefetch=2 ";

class SwappedSamples : public RestartJobs, public ::testing::WithParamInterface<std::string> {
 protected:
  using Visits = std::map<std::int64_t, std::multiset<std::int64_t>>;
  /// By epoch.
  static void add_visits(const Results& results, Visits& visits) {
    for (const auto& loss : results.journal.losses) visits[loss.epoch].insert(loss.id);
  }
  static Visits visits_of(const Results& results) {
    Visits visits;
    add_visits(results, visits);
    return visits;
  }
  static void expect_once(const Visits& visits, std::int64_t epochs) {
    for (const auto& [epoch, ids] : visits) {
      EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), ids.size()) << "epoch " << epoch;
      if (epoch < epochs) {
        EXPECT_EQ(ids.size(), 400U) << "epoch " << epoch;
      }
    }
    EXPECT_GE(std::ssize(visits), epochs);
  }
  /// From the second epoch on, samples that are in the cache come early, and others late. The job is
  /// interrupted in the middle of that epoch.
  void expect_once_when_resumed(const std::string& world) const {
    succeeds(world + experiment(18, stored + "--losses --set data.cache=" + GetParam()) + " --out first");
    succeeds(world + experiment(18, stored + "--losses --set data.cache=minio") + " --out in_order");
    Visits visits = visits_of(results("first"));
    EXPECT_NE(visits.at(1), visits_of(results("in_order")).at(1)) << "no samples changed places";
    expect_in("cache nodes begin with empty caches",
              succeeds(world + "--resume first --losses --set stop.rounds=40 --out second"));
    EXPECT_EQ(results("second").info.resumed.value().round, 18);
    add_visits(results("second"), visits);
    expect_once(visits, 3);
  }
};

TEST_P(SwappedSamples, AreTrainedOnOnceInEachEpochOfAResumedSimulation) {
  expect_once_when_resumed("simulate ");
}

using LongSwappedSamples = SwappedSamples;

/// Of the other policy: that a run is resumed, and that it starts again, are of one kind of state.
using LongSwappedSamplesOfDeadRanks = SwappedSamples;

TEST_P(LongSwappedSamples, AreTrainedOnOnceInEachEpochOfAResumedRun) { expect_once_when_resumed("run "); }

TEST_P(SwappedSamples, AreNotOnOtherHostsOrOfOtherWorkersWhenAJobIsResumed) {
  succeeds("simulate " + experiment(4, stored + "--set data.cache=" + GetParam()) + " --out first");
  const std::string resumes = "simulate --resume first --set stop.rounds=8 --out second ";
  refuses(resumes + "--set placement.cache_nodes=[server]",
          "expected the same hosts, because cache policy " + GetParam() +
              " has changed the places of samples among the workers of a node");
  refuses(resumes + "--set placement.worker_count=2", "cache policy " + GetParam());
}

/// A worker dies in the middle of the second epoch, and the cache node in that of the third.
TEST_P(LongSwappedSamplesOfDeadRanks, AreTrainedOnOnceWhereTheJobStartsAgain) {
  survives(job(60, stored + "--losses --set evaluate_every=5 --set data.cache=" + GetParam()),
           {{has_checkpoint(20), "1"}, {after_begin(1, has_checkpoint(35)), "5"}});
  EXPECT_EQ(restarts("out"), 2U);
  expect_each_step_once("out");
  // Each worker has all batches of its part of the epochs, the last of which has 4 samples.
  std::map<Rank, std::int64_t> samples;
  for (const auto& step : results("out").journal.steps) samples[step.rank] += step.samples;
  for (Rank worker = 0; worker < 4; ++worker) EXPECT_EQ(samples[worker], 4 * 100 + 8 * 8) << worker;
  expect_once(visits_of(results("out")), 4);
}

const auto name_of = [](const auto& test) { return test.param; };
INSTANTIATE_TEST_SUITE_P(Policies, SwappedSamples, ::testing::Values("quiver"), name_of);
INSTANTIATE_TEST_SUITE_P(LongPolicies, SwappedSamples, ::testing::Values("ods"), name_of);
INSTANTIATE_TEST_SUITE_P(LongPolicies, LongSwappedSamples, ::testing::Values("quiver"), name_of);
INSTANTIATE_TEST_SUITE_P(LongPolicies, LongSwappedSamplesOfDeadRanks, ::testing::Values("ods"), name_of);

/// Of the 400 samples, 127 are in memory and 191 on the disk once they were read.
class KeptCaches : public RestartJobs {
 protected:
  static constexpr int in_memory = 127, on_disk = 191;
  const std::string keeping_ =
      "--set data.source=storage --set placement.cache_nodes=[server] --set data.cache=minio --set "
      "data.cache_capacity=100kB --set data.disk_capacity=150kB --set data.prefetch=0 --set data.keep=true ";
  bool has_files(const std::string& directory) const {
    return line_.shell("ls " + directory + "/tier_0.bin " + directory + "/tier_0.index").exit_code == 0;
  }
};
using LongKeptCaches = KeptCaches;

TEST_F(LongKeptCaches, AJobThatStartsAgainReadsWhatIsLeftOfThem) {
  // Long enough for the last death on a busy machine, too.
  constexpr int rounds = 110;
  succeeds("simulate " + job(rounds, keeping_) + " --out whole");
  // The process of the cache node, and then that of a worker.
  const std::string told =
      survives(job(rounds, keeping_), {{has_checkpoint(30), "5"}, {after_begin(1, has_checkpoint(50)), "0"}});
  EXPECT_EQ(restarts("out"), 2U) << told;
  expect_same_records("whole", "out", 0);
  const auto cache = to_json(results("out").summary).at("cache");
  // A node that is killed soon may not have recorded it.
  const int kept = cache.at("kept");
  EXPECT_GE(kept, on_disk);
  EXPECT_EQ(kept % on_disk, 0);
  EXPECT_FALSE(cache.contains("spoiled"));
  expect_in(" samples kept on disks of cache nodes", told);
}

TEST_F(LongKeptCaches, AResumedJobReadsWhatIsLeftOfThemInBothWorlds) {
  succeeds("simulate " + experiment(40, keeping_) + " --out whole");
  for (const std::string world : {"simulate ", "run "}) {
    SCOPED_TRACE(world);
    succeeds(world + experiment(20, keeping_) + " --force --out first");
    expect_in("cache nodes begin with what is left of their second tiers (data.keep)",
              succeeds(world + "--resume first --set stop.rounds=40 --force --out second"));
    expect_same_end("whole", "second", 20);
    const Results second = results("second");
    EXPECT_EQ(second.summary.cache.value().kept, on_disk);
    if (world == "simulate ") {
      // What was on the disk need not be read from the store once more.
      const std::string empty = "--set data.keep=false ";
      succeeds(world + experiment(20, keeping_ + empty) + " --out first_empty");
      succeeds(world + "--resume first_empty --set stop.rounds=40 --out second_empty");
      EXPECT_GE(cache_sum(results("second_empty").journal, "store").samples -
                    cache_sum(second.journal, "store").samples,
                on_disk);
    }
    EXPECT_GT(cache_sum(second.journal, "tier1").samples, 0);
    EXPECT_TRUE(has_files("first"));
    EXPECT_TRUE(has_files("second"));
    EXPECT_TRUE(succeeds(world + "--resume second --set stop.rounds=44 --force --out third").size() > 0);
    EXPECT_EQ(results("third").summary.cache.value().kept, on_disk);
  }
  EXPECT_EQ(to_json(results("whole").summary).at("cache").contains("kept"), false);
  succeeds("run " + experiment(4, keeping_ + "--set data.keep=false") + " --force --out whole");
  EXPECT_FALSE(has_files("whole"));
}

TEST_F(KeptCaches, OnSeveralMachinesAreRefused) {
  for (const char* where : {" --hosts localhost:9", " --print-sbatch"})
    refuses("run " + experiment(4, keeping_) + " --out out" + where,
            "data.keep: expected false on several machines");
}

/// The machine of the first of two cache nodes departs with its disk, and with the first worker.
TEST_F(LongKeptCaches, OfAMachineThatDepartsAreLost) {
  // The departure, after 1.5 s, comes long before the end on a fast machine, too.
  const std::string words =
      job(300, keeping_ +
                   "--set placement.cache_nodes=[node-1,node-2] --set "
                   "data.cache_capacity=20kB --set data.disk_capacity=60kB --set recovery.policy=restart " +
                   hundredfold + trace_of_four("150 remove a; 155 add a") +
                   "--set platform=" + edited_lab(line_, {disks_of("node-[12]")}));
  for (const std::string world : {"simulate ", "run --set run.revoke=kill "}) {
    SCOPED_TRACE(world);
    succeeds(world + words + " --set stop.rounds=20 --force --out first");
    EXPECT_EQ(restarts("first"), 0U);
    EXPECT_GT(results("first").summary.cache.value().requests, 0);
    succeeds(world + words + " --force --out out");
    EXPECT_EQ(restarts("out"), 1U);
    std::map<Rank, std::int64_t> kept;
    for (const auto& row : results("out").journal.caches)
      if (row.from == "kept") kept[row.rank] += row.samples;
    EXPECT_FALSE(kept.contains(5));
    EXPECT_GT(kept[6], 0);
    // Nor do they come back from the result that the job resumes, in its second epoch.
    succeeds(world + "--resume first --set stop.rounds=320 --force --out resumed");
    const Results resumed = results("resumed");
    ASSERT_EQ(restarts("resumed"), 1U);
    ASSERT_GE(resumed.info.generations[1].round, 30);
    std::map<Rank, std::int64_t> kept_later;
    for (const auto& row : resumed.journal.caches)
      if (row.from == "kept" && row.epoch > 1) kept_later[row.rank] += row.samples;
    EXPECT_FALSE(kept_later.contains(5));
    EXPECT_GT(kept_later[6], 0);
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
