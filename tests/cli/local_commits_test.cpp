// Simulated jobs that commit to the disks or memories of their machines (checkpoint.to): what is lost with a
// machine, from where the job starts again, and when.
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/second_steps.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class LocalCommits : public SecondSteps {
 protected:
  /// Workers a and b, and a server s whose disk reads 100 MB/s. The model crosses the network in half a
  /// second.
  std::string job(const std::string& settings, const std::string& latency = "0us") const {
    return steps_of_a_second(
        "<host id='a' speed='1Tf'/><host id='b' speed='1Tf'/><host id='s' speed='1000Tf'>"
        "<disk id='disk' read_bw='100MBps' write_bw='1000MBps'/></host>" +
            links_of_three("100MBps", latency),
        "placement: {workers: [a], servers: [s]}\n"
        "sync: {algorithm: asp}\n"
        "physics: {ensemble: 0}\n"
        "checkpoint: {policy: fixed, options: {interval: 2}, to: local}\n"
        "transience: {lifetime: fixed, start: 3}\n"
        "recovery: {mode: restart, policy: restart}\n",
        settings,
        "<config><prop id='network/bandwidth-factor' value='1'/><prop id='network/latency-factor' "
        "value='1'/></config>");
  }
  static std::int64_t lost_samples(const Results& results) {
    return results.summary.membership.value().lost_samples.value();
  }
};
using LongLocalCommits = LocalCommits;

/// Without its own disk, the new machine of the worker gets the model from the server, which reads it first.
TEST_F(LocalCommits, TheDiskOfAServerSurvivesTheMachineOfAWorker) {
  const std::string words = job(lifetimes("15.5,1e9"));
  const Results local = simulate(words, "local"),
                shared = simulate(words + "--set checkpoint.to=directory", "shared");
  ASSERT_EQ(rounds_of_generations(shared).size(), 2U);
  EXPECT_GT(rounds_of_generations(shared)[1], 0);
  EXPECT_EQ(rounds_of_generations(local), rounds_of_generations(shared));
  EXPECT_EQ(lost_samples(local), lost_samples(shared));
  expect_each_step_once(local);
  EXPECT_NEAR(makespan(local), makespan(shared) + 0.5 + 0.5, 1e-3);
  // Without a restart, both write the same to the same disk.
  const std::string stays = job(lifetimes("1e9,1e9"));
  EXPECT_DOUBLE_EQ(makespan(simulate(stays, "local_stays")),
                   makespan(simulate(stays + "--set checkpoint.to=directory", "shared_stays")));
  // Nothing can be resumed from states without values.
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "local/local"));
}

/// The machine of the worker that writes checkpoints departs at any time around a commit: also after the
/// commit is complete, and before that worker is notified and saves the checkpoint to evaluate.
TEST_F(LongLocalCommits, NoEvaluationIsLeftOutWhenTheWriterDeparts) {
  const std::string words =
      job("--set placement.workers=[a,b] --set sync.algorithm=bsp --set sync.over=all-reduce "
          "--set checkpoint.to=buddy --set evaluate_every=2 --set stop.rounds=6 --force ",
          "200ms");
  const auto expected = rounds_of_evaluations(simulate(words + lifetimes("1e9;1e9"), "stays"));
  ASSERT_EQ(expected.size(), 3U);
  bool continues = false;
  for (double departs = 4.5; departs < 7.5; departs += 0.1) {
    SCOPED_TRACE(departs);
    const Results all = simulate(words + lifetimes(fmt::format("{},1e9;1e9", departs)), "departs");
    EXPECT_EQ(rounds_of_evaluations(all), expected);
    continues = continues || rounds_of_generations(all).back() == 2;
  }
  EXPECT_TRUE(continues);
}

/// Workers whose states belong to a commit take it along; the command says so before.
TEST_F(LongLocalCommits, AWorkerWhoseStateIsNeededTakesItAlong) {
  for (const char* over : {"server", "all-reduce"}) {
    SCOPED_TRACE(over);
    const std::string words =
        job(lifetimes("1e9;15.5,1e9") +
            "--set placement.workers=[a,b] --set sync.algorithm=bsp --force --set sync.over=" + over);
    const std::string told = succeeds("simulate " + words + " --out out");
    expect_in("when the machine of 'a' (and 1 host more) departs, it takes a part of every commit", told);
    const Results local = results("out"),
                  shared = simulate(words + " --set checkpoint.to=directory", "shared");
    EXPECT_EQ(rounds_of_generations(local), (Rounds{0, 0}));
    EXPECT_GT(rounds_of_generations(shared)[1], 0);
    EXPECT_GT(lost_samples(local), lost_samples(shared));
    expect_each_step_once(local);
    // All again, from the beginning.
    const Results stays = simulate(words + " --set 'transience.options.times=1e9;1e9'", "stays");
    EXPECT_NEAR(makespan(local), 15.5 + 3.0 + makespan(stays), 1e-6);
    ASSERT_FALSE(stays.journal.commits.empty());
    EXPECT_EQ(local.journal.commits.size(), stays.journal.commits.size());
  }
}

/// The server runs on b. When the machine of a departs, its disk keeps the commits; when that of b does, too,
/// before the job has started again or while it is being launched, they are gone, and so are the steps of
/// earlier generations.
TEST_F(LongLocalCommits, AMachineThatDepartsMeanwhileTakesItsCommitsAlong) {
  const auto words = [&](const std::string& times) {
    return job(lifetimes(times) +
               "--set placement.workers=[a,b] --set placement.servers=[b] --set recovery.launch=2 --force");
  };
  const Results one = simulate(words("15.5,1e9;1e9"), "one");
  ASSERT_EQ(rounds_of_generations(one).size(), 2U);
  const std::int64_t kept = rounds_of_generations(one)[1];
  EXPECT_GT(kept, 0);
  const Results waiting = simulate(words("15.5,1e9;16.5,1e9"), "waiting");
  EXPECT_EQ(rounds_of_generations(waiting), (Rounds{0, 0}));
  const Results launching = simulate(words("15.5,1e9;19.5,1e9"), "launching");
  EXPECT_EQ(rounds_of_generations(launching), (Rounds{0, kept, 0}));
  const Results training = simulate(words("15.5,1e9;23,1e9"), "training");
  EXPECT_EQ(rounds_of_generations(training), (Rounds{0, kept, 0}));
  // All that was done is lost, at once or in two parts.
  EXPECT_GT(lost_samples(waiting), lost_samples(one));
  EXPECT_EQ(lost_samples(launching), lost_samples(waiting));
  EXPECT_GE(lost_samples(training), lost_samples(waiting));
  for (const Results* all : {&one, &waiting, &launching, &training}) {
    expect_each_step_once(*all);
    EXPECT_EQ(all->summary.samples, all->summary.applied_samples);
  }
}

/// Files of evaluations stay in the result directory; each host has the last commits of its own ranks.
TEST_F(LocalCommits, EachHostHasThePartsOfItsRanks) {
  const std::string words =
      experiment(20,
                 "--set checkpoint.policy=fixed --set checkpoint.options.interval=3 --set "
                 "checkpoint.keep=2 --set evaluate_every=6 --set checkpoint.at_end=false ");
  succeeds("simulate " + words + "--set checkpoint.to=local --out out");
  succeeds("simulate " + words + "--out shared");
  const auto list = [this](const std::string& folder) { return line_.shell("ls " + folder).output; };
  EXPECT_EQ(list("out/local"), "node-1\nnode-2\nnode-3\nnode-6\nserver\n");
  EXPECT_EQ(list("out/local/node-2/checkpoints"),
            "round_00000015.worker_1.state\nround_00000018.worker_1.state\n");
  EXPECT_EQ(
      list("out/local/server/checkpoints"),
      "round_00000015.pt\nround_00000015.server_0.state\nround_00000018.pt\nround_00000018.server_0.state\n");
  EXPECT_EQ(list("out/checkpoints | grep -v events"),
            "round_00000006.pt\nround_00000012.pt\nround_00000018.pt\n");
  EXPECT_EQ(contents("out/commits.csv"), contents("shared/commits.csv"));
  EXPECT_EQ(contents("out/steps.csv"), contents("shared/steps.csv"));
  EXPECT_TRUE(contents("out/model.pt") == contents("shared/model.pt"));
}

/// From the latest commit of which all parts are there, on the same hosts.
TEST_F(LongLocalCommits, AreResumed) {
  const std::string commits =
      "--set checkpoint.policy=fixed --set checkpoint.options.interval=3 --set checkpoint.at_end=false --set "
      "checkpoint.to=local --set checkpoint.keep=3 ";
  succeeds("simulate " + experiment(14, commits) + " --out whole");
  succeeds("simulate " + experiment(10, commits) + " --out first");
  succeeds("simulate --resume first --out second --set stop.rounds=14");
  expect_same_end("whole", "second", 9);
  std::filesystem::remove(line_.folder() / "first/local/node-6/checkpoints/round_00000009.worker_3.state");
  succeeds("simulate --resume first --out third --set stop.rounds=14");
  expect_same_end("whole", "third", 6);
  refuses(
      "simulate --resume first --out fourth --set stop.rounds=14 --set "
      "placement.workers=[node-1,node-2,node-3,node-4]",
      "expected the same hosts, because checkpoint.to is local");
  std::filesystem::remove_all(line_.folder() / "first/local/node-6");
  refuses("simulate --resume first --out fifth --set stop.rounds=14",
          "expected a complete checkpoint in it, found none");
}

/// A machine that departs leaves the copies of its parts with the next host, from where its replacement gets
/// them; the model that it had, too.
TEST_F(LongLocalCommits, InMemorySurviveOneMachineOfAPair) {
  const auto words = [&](const std::string& times, const std::string& over) {
    return job(lifetimes(times) +
               "--set checkpoint.to=buddy --set placement.workers=[a,b] --set sync.algorithm=bsp "
               "--set recovery.launch=2 --force --set sync.over=" +
               over);
  };
  for (const std::string over : {"server", "all-reduce"}) {
    SCOPED_TRACE(over);
    const std::string told = succeeds("simulate " + words("1e9;1e9", over) + " --out out");
    expect_not_in("takes a part of every commit", told);
    for (const char* times : {"15.5,1e9;1e9", "1e9;15.5,1e9"}) {
      const Results one = simulate(words(times, over), "one");
      ASSERT_EQ(rounds_of_generations(one).size(), 2U) << times;
      EXPECT_GT(rounds_of_generations(one)[1], 0) << times;
      expect_each_step_once(one);
    }
    // One after the other, with time to make the copies again.
    const Results both = simulate(words("15.5,1e9;27.5,1e9", over), "both");
    ASSERT_EQ(rounds_of_generations(both).size(), 3U);
    EXPECT_GT(rounds_of_generations(both)[2], 0);
    expect_each_step_once(both);
  }
  // The hosts a and b are the pair over all-reduce; with a server, a third host has a copy of b's parts only.
  for (const char* over : {"server", "all-reduce"})
    EXPECT_EQ(rounds_of_generations(simulate(words("15.5,1e9;16.5,1e9", over), "pair")), (Rounds{0, 0}))
        << over;
}

/// A commit takes a copy in memory and a message; with the default rate of sums, the copy is known from
/// checkpoint.mode background.
TEST_F(LocalCommits, InMemoryTakeTheTimeOfAMessage) {
  const std::string words =
      job(lifetimes("1e9,1e9") +
          "--set stop.rounds=6 --set checkpoint.options.interval=4 --set checkpoint.at_end=false ");
  const Results none = simulate(words + "--set checkpoint.options.interval=100 --set checkpoint.to=directory",
                                "none"),
                memory = simulate(words + "--set checkpoint.to=buddy", "memory"),
                background = simulate(words + "--set checkpoint.to=buddy --set checkpoint.mode=background",
                                      "background");
  ASSERT_EQ(memory.journal.commits.size(), 1U);
  ASSERT_EQ(background.journal.commits.size(), 1U);
  const double copy_s = background.journal.commits[0].blocked.count();
  const auto bytes = static_cast<double>(memory.journal.commits[0].bytes);
  EXPECT_GT(bytes, 0);
  EXPECT_NEAR(memory.journal.commits[0].blocked.count(), copy_s + bytes / 100e6, 1e-2);
  EXPECT_GT(makespan(memory), makespan(none));
}

TEST_F(LongLocalCommits, InMemoryEndWithTheSameModelAndAreResumed) {
  const std::string commits =
      "--set checkpoint.policy=fixed --set checkpoint.options.interval=3 --set checkpoint.at_end=false --set "
      "checkpoint.to=buddy --set recovery.mode=restart --set sync.over=all-reduce ";
  succeeds("simulate " + experiment(14, commits) + " --out whole");
  succeeds("simulate " + experiment(10, commits) + " --out first");
  EXPECT_EQ(line_.shell("ls first/memory").output, "node-1\nnode-2\nnode-3\nnode-6\n");
  EXPECT_EQ(line_.shell("ls first/memory/node-2/checkpoints").output,
            "round_00000006.pt\nround_00000006.worker_0.state\nround_00000006.worker_1.state\n"
            "round_00000009.pt\nround_00000009.worker_0.state\nround_00000009.worker_1.state\n");
  std::filesystem::remove_all(line_.folder() / "first/memory/node-1");
  succeeds("simulate --resume first --out second --set stop.rounds=14");
  expect_same_end("whole", "second", 9);
  std::filesystem::remove_all(line_.folder() / "first/memory/node-2");
  EXPECT_EQ(line_.tandem("simulate --resume first --out third --set stop.rounds=14").exit_code, 2);
}

TEST_F(LocalCommits, OtherPlacesAndJobsWithoutCommitsAreRefused) {
  const auto refused = [&](const std::string& settings, const std::string& why) {
    refuses("simulate " + experiment(4, settings) + " --out refused", why);
  };
  refused("--set checkpoint.policy=fixed --set checkpoint.to=buddy",
          "key 'checkpoint.to': expected directory, because commits in memory serve only a job that");
  refused(
      "--set checkpoint.policy=fixed --set checkpoint.to=buddy --set recovery.mode=restart --set "
      "placement.workers=[node-1] --set sync.over=all-reduce",
      "key 'checkpoint.to': expected directory or local, because a single host has nobody to keep copies");
  refused(
      "--set checkpoint.policy=fixed --set checkpoint.to=buddy --set recovery.mode=restart --set "
      "checkpoint.keep=0",
      "key 'checkpoint.keep': expected at least 1 with checkpoint.to buddy");
  refused("--set checkpoint.to=local",
          "key 'checkpoint.to': expected directory, because checkpoint.policy is empty, and states are saved "
          "with "
          "the evaluations");
  refuses("simulate " + line_.experiment("checkpoint:\n  policy: fixed\n  to: nowhere\n") + " --out refused",
          "experiment.yaml:7: key 'checkpoint.to': expected directory | local | buddy");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
