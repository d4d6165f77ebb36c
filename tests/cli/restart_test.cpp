// `tandem run` with recovery.mode restart: deaths of keepers, signals, and deaths of one and of several ranks
// at random moments. When a job gives up: job_test, Generations. That a job ends as if no rank had died:
// interruptions_test.cpp.
#include <fstream>
#include <random>

#include "tests/cli/restart_jobs.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using LongRestartJobs = RestartJobs;

/// Rank 7 keeps copies on node-2. Its machine stays, with what it has.
TEST_F(LongRestartJobs, TheDeathOfAKeeperLosesNoPartOfACommit) {
  const std::string words = job(60, "--set checkpoint.policy=fixed --set checkpoint.options.interval=5");
  succeeds("simulate " + words + " --out whole");
  expect_in("(keeper on 'node-2')",
            survives(words + " --set checkpoint.to=buddy", {{has_checkpoint(20), "7"}}));
  EXPECT_EQ(restarts("out"), 1U);
  EXPECT_GE(results("out").info.generations[1].round, 15);
  expect_same_records("whole", "out", 0);
  expect_each_step_once("out");
}

/// The keeper on node-2 cannot keep copies of the first worker's part for a while: these commits fail, nobody
/// collects parts, and a job that starts again meanwhile continues.
TEST_F(LongRestartJobs, CommitsThatAKeeperCannotKeepFail) {
  const std::string words =
      job(400, "--set checkpoint.policy=fixed --set checkpoint.options.interval=10 --set checkpoint.keep=2");
  succeeds("simulate " + words + " --out whole");
  const std::string copies = "out/memory/node-2/checkpoints";
  survives(words + " --set checkpoint.to=buddy", {},
           "until [ -d " + copies + " ]; do kill -0 $run || break; sleep 0.01; done; mkdir -p $(printf '" +
               copies +
               "/round_%08d.worker_0.state.partial ' $(seq 100 250)); "
               "until " +
               has_checkpoint(200) +
               "; do kill -0 $run || break; sleep 0.01; done; "
               "for host in node-2 node-3; do ls out/memory/$host/checkpoints | grep -c 'worker_1.state$'; "
               "done > counts.txt; kill -KILL $(rank 3); ");
  EXPECT_EQ(restarts("out"), 1U);
  EXPECT_GE(results("out").summary.commits.value().failed_commits, 3);
  std::ifstream counts(line_.folder() / "counts.txt");
  int own = 0, copies_of_it = 0;
  ASSERT_TRUE(counts >> own >> copies_of_it);
  EXPECT_LE(own, 5) << "of 10 that were made";
  EXPECT_LE(copies_of_it, 5);
  EXPECT_GT(results("out").journal.commits.back().round, 390) << "commits each ten rounds, until the end";
  expect_same_records("whole", "out", 0);
  expect_each_step_once("out");
}

/// Only one machine has a folder for each host.
TEST_F(RestartJobs, LocalCommitsOnSeveralMachinesAreRefused) {
  const std::string words = job(60, "--set checkpoint.policy=fixed --set checkpoint.to=local --out out");
  for (const char* where : {" --hosts localhost:9", " --print-sbatch"})
    refuses("run " + words + where, "checkpoint.to: expected directory on several machines");
}

/// Nor any sample: RandomDeaths.
/// Also when servers commit more often than workers write what they have recorded.
TEST_F(LongRestartJobs, AsynchronousJobsLoseNoCommit) {
  survives(job(300,
               "--set sync.algorithm=asp --set evaluate_every=0 --set checkpoint.policy=fixed --set "
               "checkpoint.options.interval=1 --set checkpoint.keep=1"),
           {{"ls out/checkpoints/round_000001??.pt > /dev/null 2>&1", "3"}});
  ASSERT_EQ(restarts("out"), 1U);
  EXPECT_GE(results("out").info.generations[1].round, 90);
  expect_each_step_once("out");
}

/// The samples that were left of an epoch are dealt to the same workers again.
TEST_F(LongRestartJobs, AJobThatWasResumedWithFewerWorkersStartsAgain) {
  succeeds("simulate " + job(20) + " --out first");
  const std::string on = "--resume first --set placement.worker_count=2 --set stop.rounds=100";
  succeeds("simulate " + on + " --out whole");
  survives(on, {{has_checkpoint(40), "1"}});
  EXPECT_EQ(restarts("out"), 1U);
  expect_same_records("whole", "out", 20);
}

/// With the records of the killed command's generations out of the way.
TEST_F(LongRestartJobs, AKilledCommandIsResumed) {
  const auto told =
      killed(job(1000000), {{has_checkpoint(20), "1"}},
             "until " + after_begin(1, has_checkpoint(100)) + "; do sleep 0.1; done; kill -KILL $run;");
  EXPECT_EQ(told.exit_code, 137) << told.output;
  const int end = newest_commit("out") + 20;
  succeeds("run --resume out --set stop.rounds=" + std::to_string(end) + " --out resumed");
  succeeds("simulate " + job(end) + " --out whole");
  expect_same_end("whole", "resumed", static_cast<int>(results("resumed").info.resumed.value().round));
}

TEST_F(LongRestartJobs, ASignalEndsTheJobWhileItWaitsToStartAgain) {
  const auto told = killed(job(1000000), {{has_checkpoint(20), "1"}},
                           "until grep -q 'as generation 1' told.txt; do sleep 0.02; done; kill -TERM $run;");
  EXPECT_EQ(told.exit_code, 143) << told.output;
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "out" / "INCOMPLETE"));
}

/// The death after the evaluation that ends the job changes nothing, either.
TEST_F(LongRestartJobs, TheJobEndsAtTheSameAccuracy) {
  const std::string words =
      job(2000, "--set stop.accuracy=0.9 --set optimizer.learning_rate=0.02 --set evaluate_every=10");
  succeeds("simulate " + words + " --out whole");
  survives(words, {{has_checkpoint(20), "2"}});
  expect_same_records("whole", "out", 0);
  EXPECT_EQ(to_json(results("whole").summary).at("accuracy_stop").at("round"),
            to_json(results("out").summary).at("accuracy_stop").at("round"));
}

TEST_F(LongRestartJobs, ASimulationRunsAsWithout) {
  succeeds("simulate " + job(20) + " --out with");
  succeeds("simulate " + job(20, "--set recovery.mode=in-place") + " --out without");
  for (const char* file : {"/model.pt", "/steps.csv", "/evaluations.csv", "/summary.json"})
    EXPECT_EQ(contents(std::string("with") + file), contents(std::string("without") + file)) << file;
  EXPECT_EQ(line_.shell("ls with/checkpoints").output, line_.shell("ls without/checkpoints").output);
}

/// Ranks are killed again and again, each time after at least one more commit: one at a random moment, two at
/// once, one while the job starts again. With a commit after every round, most deaths fall into one.
class RandomDeaths : public RestartJobs, public ::testing::WithParamInterface<std::string> {
 protected:
  static constexpr int moments = 4;

  static unsigned random(unsigned below) {
    static std::random_device device;
    return device() % below;
  }
  /// Kills the ranks, and notes the generation and a round that was committed for certain: that before the
  /// last one, whose files may not all be there, and where workers are in different rounds that of two
  /// seconds ago, because what they have done is written a few times per second.
  static std::string kill(const std::string& ranks, double delay_s) {
    return fmt::format("sleep {:.2f}; ", delay_s) +
           "certain=$(certain); committed | wc -l > count; echo \"$(generation) ${certain:-0}\" >> "
           "deaths.txt; "
           "ls out/checkpoints | grep -q partial && echo >> within.txt; for r in " +
           ranks + "; do kill -KILL $(rank $r); done 2> /dev/null; ";
  }
  /// Waits for the condition, or the end of the command.
  static std::string until(const std::string& condition) {
    return "until " + condition + "; do kill -0 $run 2> /dev/null || break; sleep 0.01; done; ";
  }
  static std::string deaths(bool in_step) {
    constexpr unsigned ranks = 6;
    const std::string certain =
        in_step ? "committed | tail -n 2 | sed '$d'"
                : "find out/checkpoints -name 'round_*.pt' -not -newermt '-2 seconds' | sed "
                  "'s/.*round_0*//; s/[.]pt//' | sort -n | tail -n 1";
    std::string script =
        "certain() { " + certain +
        "; }; "
        "committed() { ls out/checkpoints 2> /dev/null | sed -n 's/^round_0*\\([0-9]*\\)\\.pt$/\\1/p'; }; "
        "generation() { echo $(( $(grep -c 'as generation' told.txt) )); }; echo 0 > count; ";
    for (int i = 0; i < moments; ++i) {
      script += until("[ $(committed | wc -l) -gt $(cat count) ]");
      const std::string two = i % 4 == 1 ? " " + std::to_string(random(ranks)) : "";
      script += "was=$(generation); " + kill(std::to_string(random(ranks)) + two, 0.01 * random(80));
      if (i % 4 != 3) continue;
      script += until("[ $(generation) -gt $was ] && [ -n \"$(rank 2)\" ]");
      script += kill(std::to_string(random(ranks)), 0.0);
    }
    return script;
  }
  /// The generation of each death, and the last round that had been committed.
  std::vector<std::pair<std::size_t, std::int64_t>> noted_deaths() const {
    std::vector<std::pair<std::size_t, std::int64_t>> noted;
    std::ifstream file(line_.folder() / "deaths.txt");
    for (std::pair<std::size_t, std::int64_t> death; file >> death.first >> death.second;)
      noted.push_back(death);
    return noted;
  }
  /// What was recorded before the deaths, after them and again is what the asynchronous job did.
  static void expect_no_lost_sample(const Results& all) {
    std::int64_t samples = 0, applied = 0;
    for (const auto& step : all.journal.steps) samples += step.samples;
    for (const auto& row : all.journal.staleness) applied += row.samples;
    EXPECT_EQ(all.summary.samples, samples);
    EXPECT_EQ(applied, samples);
    expect_replayed(all, all);
  }
};

TEST_P(RandomDeaths, DoNotChangeTheResult) {
  const std::string& settings = GetParam();
  const bool is_by_rounds = settings.find("asp") == std::string::npos;
  const int rounds = 120;
  const std::string words =
      lasting_job(rounds, settings + " --decisions --set evaluate_every=1 --set recovery.restarts=100", 20);
  if (is_by_rounds) succeeds("simulate " + words + " --out whole");
  const std::string told = survives(words, {}, deaths(is_by_rounds));
  RecordProperty("restarts", static_cast<int>(restarts("out")));
  RecordProperty("killed_at", line_.shell("cat deaths.txt | wc -l").output);
  RecordProperty("within_a_commit", line_.shell("cat within.txt 2> /dev/null | wc -l").output);
  EXPECT_GE(restarts("out"), 3U) << "too few deaths for a test: " << told << contents("deaths.txt");
  expect_each_step_once("out");
  expect_each_evaluation_once("out", rounds, 1);
  if (is_by_rounds)
    expect_same_records("whole", "out", 0);
  else
    expect_no_lost_sample(results("out"));
  const auto generations = results("out").info.generations;
  for (const auto& [generation, committed] : noted_deaths()) {
    // A job starts again only where something is left to do.
    if (generation + 1 >= generations.size() || committed == rounds) continue;
    EXPECT_GE(generations[generation + 1].round, committed)
        << "a commit is lost after generation " << generation;
  }
}

/// Workers in different rounds; and rounds of three workers, with a cache node whose second tier is kept: no
/// wrong sample is trained on. Without servers: InterruptedJobs.
INSTANTIATE_TEST_SUITE_P(
    LongAll, RandomDeaths,
    ::testing::Values("--set sync.algorithm=asp",
                      "--set data.source=storage --set data.cache=lru --set data.cache_capacity=50kB --set "
                      "data.disk_capacity=150kB --set data.keep=true --set placement.cache_nodes=[server] "
                      "--set placement.workers=[node-1,node-2,node-3]"));

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
