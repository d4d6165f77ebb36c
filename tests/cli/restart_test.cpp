// `tandem run` with recovery.mode restart: ranks of a real mpirun are killed, and the job ends as if none had
// been.
#include <random>

#include "tests/cli/restart_jobs.hpp"
#include "validation/compare/compare.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using LongRestartJobs = RestartJobs;

/// The rank that dies: the roles of the job are four workers, a server and an evaluator.
class RestartAfter : public RestartJobs, public ::testing::WithParamInterface<int> {};

TEST_P(RestartAfter, TheDeathOfAnyRankEndsLikeTheUninterruptedJob) {
  const double delay_s = std::uniform_real_distribution(0.0, 0.7)(*std::make_unique<std::random_device>());
  SCOPED_TRACE(fmt::format("killed {:.2f} s after the first checkpoint", delay_s));
  succeeds("simulate " + job(300) + " --out whole");
  const auto told = killed(job(300), {{has_checkpoint(10), std::to_string(GetParam()), delay_s}});
  ASSERT_EQ(told.exit_code, 0) << told.output;
  expect_same_records("whole", "out", 0);
  expect_each_step_once("out");
  expect_each_evaluation_once("out", 300);
  // It may have ended before.
  if (restarts("out") == 0) return;
  EXPECT_NE(told.output.find(fmt::format("tandem: rank {} on host ", GetParam())), std::string::npos)
      << told.output;
  EXPECT_NE(told.output.find("as generation 1"), std::string::npos) << told.output;
  EXPECT_NE(told.output.find("started again once after a rank had died, from round"), std::string::npos)
      << told.output;
}

INSTANTIATE_TEST_SUITE_P(LongAll, RestartAfter, ::testing::Values(0, 2, 4, 5),
                         [](const auto& info) { return "OfRank" + std::to_string(info.param); });

class RestartOf : public RestartJobs, public ::testing::WithParamInterface<std::string> {};

TEST_P(RestartOf, AlgorithmsOfRoundsEndWithTheSameModel) {
  succeeds("simulate " + job(60, GetParam()) + " --out whole");
  const auto told = killed(job(60, GetParam()), {{has_checkpoint(20), "1"}});
  ASSERT_EQ(told.exit_code, 0) << told.output;
  EXPECT_EQ(restarts("out"), 1U) << told.output;
  expect_same_records("whole", "out", 0);
  expect_each_step_once("out");
  expect_each_evaluation_once("out", 60);
}

/// Workers and two servers have states of their own.
const std::string over_servers =
    "--set optimizer.update_at=workers --set optimizer.kind=adam --set placement.servers=[server,node-4]";
const std::vector<std::string> without_servers = {
    "--set sync.over=all-reduce --set sync.collective=ring",
    "--set sync.over=all-reduce --set placement.evaluator=first-worker",
    "--set sync.algorithm=local-sgd --set sync.over=all-reduce --set optimizer.kind=adam",
    "--set sync.algorithm=d-psgd --set sync.over=peers --set optimizer.momentum=0.9"};
INSTANTIATE_TEST_SUITE_P(OverServers, RestartOf, ::testing::Values(over_servers));
INSTANTIATE_TEST_SUITE_P(LongWithoutServers, RestartOf, ::testing::ValuesIn(without_servers));

using LongRestartOf = RestartOf;

/// One worker decides about commits by its measured times and tells the others: the commits are others than
/// in the simulation, and all that the workers have written is of one round.
TEST_P(LongRestartOf, CommitsInSecondsEndWithTheSameModel) {
  const std::string words =
      job(60, GetParam() +
                  " --set evaluate_every=20 --set checkpoint.policy=fixed --set "
                  "checkpoint.options.unit=seconds --set checkpoint.options.interval=0.05 "
                  "--set checkpoint.keep=0 --decisions");
  succeeds("simulate " + words + " --out whole");
  const auto told = killed(words, {{"ls out/checkpoints/*.pt > /dev/null 2>&1", "1"}});
  ASSERT_EQ(told.exit_code, 0) << told.output;
  EXPECT_EQ(restarts("out"), 1U) << told.output;
  expect_same_records("whole", "out", 0);
  expect_each_step_once("out");
  expect_replayed(results("whole"), results("out"));
  const auto rounds = rounds_of_commits(results("out").journal);
  ASSERT_FALSE(rounds.empty());
  // Any of them can be continued.
  succeeds(
      fmt::format("run --resume out --resume-from {} --set stop.rounds=70 --out resumed", rounds.front()));
  succeeds("simulate --resume whole --resume-from " +
           std::to_string(rounds_of_commits(results("whole").journal).back()) +
           " --set stop.rounds=70 --out resumed-whole");
  EXPECT_EQ(contents("resumed/model.pt"), contents("resumed-whole/model.pt"));
}

INSTANTIATE_TEST_SUITE_P(LongOverServers, LongRestartOf, ::testing::Values(over_servers));
INSTANTIATE_TEST_SUITE_P(LongWithoutServers, LongRestartOf, ::testing::ValuesIn(without_servers));

/// A rank that dies leaves its machine, with disk and memory.
TEST_F(LongRestartJobs, TheDeathOfARankLosesNoPartOfACommit) {
  const std::string commits = "--set checkpoint.policy=fixed --set checkpoint.options.interval=5 ";
  struct Case {
    std::string route, to, folder;
  };
  for (const auto& [route, to, folder] : {Case{"--set sync.over=all-reduce", "local", "local"},
                                          Case{"--set sync.algorithm=bsp", "local", "local"},
                                          Case{"--set sync.algorithm=bsp", "buddy", "memory"}}) {
    SCOPED_TRACE(route + to);
    const std::string words = job(60, commits + route);
    succeeds("simulate " + words + " --out whole --force");
    const auto told = killed(words + " --set checkpoint.to=" + to + " --force", {{has_checkpoint(20), "1"}});
    ASSERT_EQ(told.exit_code, 0) << told.output;
    EXPECT_EQ(restarts("out"), 1U) << told.output;
    EXPECT_GE(results("out").info.generations[1].at("round"), 15);
    EXPECT_TRUE(std::filesystem::exists(line_.folder() / "out" / folder / "node-2/checkpoints"));
    expect_same_records("whole", "out", 0);
    expect_each_step_once("out");
    expect_each_evaluation_once("out", 60);
    std::filesystem::remove_all(line_.folder() / "out");
  }
}

/// Rank 7 keeps copies on node-2. Its machine stays, with what it has.
TEST_F(LongRestartJobs, TheDeathOfAKeeperLosesNoPartOfACommit) {
  const std::string words = job(200, "--set checkpoint.policy=fixed --set checkpoint.options.interval=5");
  succeeds("simulate " + words + " --out whole");
  const auto told = killed(words + " --set checkpoint.to=buddy", {{has_checkpoint(20), "7"}});
  ASSERT_EQ(told.exit_code, 0) << told.output;
  EXPECT_NE(told.output.find("(keeper on 'node-2')"), std::string::npos) << told.output;
  EXPECT_EQ(restarts("out"), 1U) << told.output;
  EXPECT_GE(results("out").info.generations[1].at("round"), 15);
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
  const auto told = killed(
      words + " --set checkpoint.to=buddy", {},
      "until [ -d " + copies + " ]; do kill -0 $run || break; sleep 0.01; done; mkdir -p $(printf '" +
          copies +
          "/round_%08d.worker_0.state.partial ' $(seq 100 250)); "
          "until " +
          has_checkpoint(200) +
          "; do kill -0 $run || break; sleep 0.01; done; "
          "for host in node-2 node-3; do ls out/memory/$host/checkpoints | grep -c 'worker_1.state$'; done > "
          "counts.txt; kill -KILL $(rank 3); ");
  ASSERT_EQ(told.exit_code, 0) << told.output;
  EXPECT_EQ(restarts("out"), 1U) << told.output;
  EXPECT_GE(results("out").summary.at("commits").at("failed").get<int>(), 3);
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
  for (const char* where : {" --hosts localhost:9", " --print-sbatch"}) {
    const auto told = line_.tandem("run " + words + where);
    EXPECT_EQ(told.exit_code, 2) << told.output;
    EXPECT_NE(told.output.find("checkpoint.to: expected directory on several machines"), std::string::npos)
        << told.output;
  }
}

/// What was recorded before the death, after it and again is what the job did.
TEST_F(LongRestartJobs, AsynchronousJobsLoseNoSample) {
  const std::string words = job(200, "--set sync.algorithm=asp --decisions");
  const auto told = killed(words, {{has_checkpoint(40), "3"}, {has_begun(1), "4", 0.2}});
  ASSERT_EQ(told.exit_code, 0) << told.output;
  EXPECT_GE(restarts("out"), 1U) << told.output;
  expect_each_step_once("out");
  expect_each_evaluation_once("out", 200);
  const Results all = results("out");
  std::int64_t samples = 0;
  for (const auto& step : all.journal.steps) samples += step.samples;
  EXPECT_EQ(all.summary.at("samples"), samples);
  std::int64_t applied = 0;
  for (const auto& row : all.journal.staleness) applied += row.samples;
  EXPECT_EQ(applied, samples);
  succeeds("simulate " + words + " --out simulated");
  expect_replayed(results("simulated"), all);
}

/// Also when servers commit more often than workers write what they have recorded.
TEST_F(LongRestartJobs, AsynchronousJobsLoseNoCommit) {
  const std::string words =
      job(300,
          "--set sync.algorithm=asp --set evaluate_every=0 --set checkpoint.policy=fixed --set "
          "checkpoint.options.interval=1 --set checkpoint.keep=1");
  const auto told = killed(words, {{"ls out/checkpoints/round_000001??.pt > /dev/null 2>&1", "3"}});
  ASSERT_EQ(told.exit_code, 0) << told.output;
  ASSERT_EQ(restarts("out"), 1U) << told.output;
  EXPECT_GE(results("out").info.generations[1].at("round"), 90);
  expect_each_step_once("out");
}

/// The samples that were left of an epoch are dealt to the same workers again.
TEST_F(LongRestartJobs, AJobThatWasResumedWithFewerWorkersStartsAgain) {
  succeeds("simulate " + job(20) + " --out first");
  const std::string on = "--resume first --set placement.worker_count=2 --set stop.rounds=100";
  succeeds("simulate " + on + " --out whole");
  const auto told = killed(on, {{has_checkpoint(40), "1"}});
  ASSERT_EQ(told.exit_code, 0) << told.output;
  EXPECT_EQ(restarts("out"), 1U) << told.output;
  expect_same_records("whole", "out", 20);
}

TEST_F(LongRestartJobs, DecisionsAreThoseOfTheSimulation) {
  const std::string words = job(60, "--decisions --operations");
  const auto told = killed(words, {{has_checkpoint(20), "4"}});
  ASSERT_EQ(told.exit_code, 0) << told.output;
  succeeds("simulate " + words + " --out simulated");
  const auto comparison = validation::compare(results("simulated"), {results("out")});
  using State = validation::Gate::State;
  EXPECT_EQ(comparison.replay.state, State::passed) << comparison.replay.detail;
  EXPECT_EQ(comparison.decisions.state, State::passed) << comparison.decisions.detail;
  EXPECT_EQ(comparison.operations.state, State::not_checked) << comparison.operations.detail;
}

TEST_F(LongRestartJobs, TwoRanksDieAtOnceAndOneWhileTheJobStartsAgain) {
  succeeds("simulate " + job(200) + " --out whole");
  const auto told = killed(job(200), {{has_checkpoint(20), "1 4"},
                                      {"grep -q 'as generation 1' told.txt && [ -n \"$(rank 2)\" ]", "2"}});
  ASSERT_EQ(told.exit_code, 0) << told.output;
  EXPECT_EQ(restarts("out"), 2U) << told.output;
  expect_same_records("whole", "out", 0);
  expect_each_step_once("out");
}

/// Before the first checkpoint, too, the job starts again.
TEST_F(LongRestartJobs, ThreeDeathsBeforeTheSameCheckpointEndTheJob) {
  const std::string words = job(1000000, "--set evaluate_every=900000");
  const auto told = killed(words, {{has_begun(0), "1"}, {has_begun(1), "2"}, {has_begun(2), "3"}});
  EXPECT_EQ(told.exit_code, 70) << told.output;
  for (const char* text : {"starts again from its beginning as generation 1", "as generation 2",
                           "3 launches in a row ended after round 0 and before the next checkpoint"})
    EXPECT_NE(told.output.find(text), std::string::npos) << text << "\n" << told.output;
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "out" / "INCOMPLETE"));
}

TEST_F(LongRestartJobs, RestartsAreLimited) {
  const auto told = killed(job(1000000, "--set recovery.restarts=1"),
                           {{has_checkpoint(20), "1"}, {has_begun(1), "0", 1.0}});
  EXPECT_EQ(told.exit_code, 70) << told.output;
  EXPECT_NE(told.output.find("does not start again after 1 restart (recovery.restarts)"), std::string::npos)
      << told.output;
}

/// With the records of the killed command's generations out of the way.
TEST_F(LongRestartJobs, AKilledCommandIsResumed) {
  const auto told = killed(job(1000000), {{has_checkpoint(20), "1"}},
                           "until " + has_begun(1) +
                               "; do sleep 0.1; done; "
                               "sleep 0.3; kill -KILL $run;");
  EXPECT_EQ(told.exit_code, 137) << told.output;
  const int end = static_cast<int>(
      std::stoi(line_.shell("ls out/checkpoints | sed -n 's/^round_0*\\([0-9]*\\)\\.pt$/\\1/p' | tail -n 1")
                    .output) +
      20);
  succeeds("run --resume out --set stop.rounds=" + std::to_string(end) + " --out resumed");
  succeeds("simulate " + job(end) + " --out whole");
  const int round = results("resumed").info.resumed.at("round").get<int>();
  expect_same_end("whole", "resumed", round);
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
  const auto told = killed(words, {{has_checkpoint(20), "2"}});
  ASSERT_EQ(told.exit_code, 0) << told.output;
  expect_same_records("whole", "out", 0);
  EXPECT_EQ(results("whole").summary.at("accuracy_stop").at("round"),
            results("out").summary.at("accuracy_stop").at("round"));
}

TEST_F(LongRestartJobs, ASimulationRunsAsWithout) {
  succeeds("simulate " + job(20) + " --out with");
  succeeds("simulate " + job(20, "--set recovery.mode=in-place") + " --out without");
  for (const char* file : {"/model.pt", "/steps.csv", "/evaluations.csv", "/summary.json"})
    EXPECT_EQ(contents(std::string("with") + file), contents(std::string("without") + file)) << file;
  EXPECT_EQ(line_.shell("ls with/checkpoints").output, line_.shell("ls without/checkpoints").output);
}

/// Reads through cache nodes: what they served counts, also for rounds that are done again.
TEST_F(LongRestartJobs, CacheNodesStartAgainWithEmptyCaches) {
  const std::string words = job(
      100, "--set data.source=storage --set placement.cache_nodes=[server] --set data.cache_capacity=1MB");
  succeeds("simulate " + words + " --out whole");
  const auto told = killed(words, {{has_checkpoint(20), "1"}});
  ASSERT_EQ(told.exit_code, 0) << told.output;
  EXPECT_EQ(restarts("out"), 1U) << told.output;
  expect_same_records("whole", "out", 0);
}

/// Ranks are killed again and again, each time after at least one more commit: one at a random moment, two at
/// once, one while the job starts again. With a commit after every round, most deaths fall into one.
class RandomDeaths : public RestartJobs, public ::testing::WithParamInterface<std::tuple<std::string, int>> {
 protected:
  static constexpr int moments = 12;

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
  static std::string deaths(unsigned ranks, bool in_step) {
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
};

TEST_P(RandomDeaths, DoNotChangeTheResult) {
  const auto& [settings, every] = GetParam();
  const bool is_by_rounds =
      settings.find("asp") == std::string::npos && settings.find("esync") == std::string::npos;
  const bool has_server = settings.find("over") == std::string::npos;
  const int rounds = 1000;
  const std::string words =
      job(rounds, fmt::format("{} --set evaluate_every={} --set recovery.restarts=100", settings, every));
  if (is_by_rounds) succeeds("simulate " + words + " --out whole");
  const bool in_step = is_by_rounds && settings.find("peers") == std::string::npos;
  const auto told = killed(words, {}, deaths(has_server ? 6 : 5, in_step));
  ASSERT_EQ(told.exit_code, 0) << told.output;
  RecordProperty("restarts", static_cast<int>(restarts("out")));
  RecordProperty("killed_at", line_.shell("cat deaths.txt | wc -l").output);
  RecordProperty("within_a_commit", line_.shell("cat within.txt 2> /dev/null | wc -l").output);
  EXPECT_GE(restarts("out"), 5U) << "too few deaths for a test: " << told.output
                                 << line_.shell("cat deaths.txt").output;
  expect_each_step_once("out");
  expect_each_evaluation_once("out", rounds, every);
  if (is_by_rounds) expect_same_records("whole", "out", 0);
  const auto generations = results("out").info.generations;
  for (const auto& [generation, committed] : noted_deaths()) {
    // A job starts again only where something is left to do.
    if (generation + 1 >= generations.size() || committed == rounds) continue;
    EXPECT_GE(generations[generation + 1].at("round").get<std::int64_t>(), committed)
        << "a commit is lost after generation " << generation;
  }
}

INSTANTIATE_TEST_SUITE_P(
    LongAll, RandomDeaths,
    ::testing::Combine(::testing::Values("", "--set sync.algorithm=asp", "--set sync.algorithm=esync",
                                         "--set sync.over=all-reduce --set sync.collective=ring",
                                         "--set sync.algorithm=local-sgd --set sync.over=all-reduce",
                                         "--set sync.algorithm=d-psgd --set sync.over=peers"),
                       ::testing::Values(10, 1)));
/// The tier of the cache node is kept: no wrong sample is ever trained on. Three workers.
INSTANTIATE_TEST_SUITE_P(
    LongCaches, RandomDeaths,
    ::testing::Combine(::testing::Values("--set data.source=storage --set data.cache=lru --set "
                                         "data.cache_capacity=50kB --set data.disk_capacity=150kB --set "
                                         "data.keep=true --set placement.cache_nodes=[server] --set "
                                         "placement.workers=[node-1,node-2,node-3]"),
                       ::testing::Values(10)));

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
