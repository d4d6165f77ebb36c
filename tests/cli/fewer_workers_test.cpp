// Jobs that start again with fewer workers when machines depart, and with more when they come up: in the
// simulation against the same done by hand with --resume, and in the measurement against the simulation.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/cli/fewer_jobs.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using LongFewerWorkers = FewerWorkers;

class ShrunkenTraining : public FewerWorkers, public ::testing::WithParamInterface<std::string> {};

TEST_P(ShrunkenTraining, EndsAsTheSameDoneByHand) {
  const std::string words = experiment(24, commits + GetParam());
  succeeds("simulate " + words + " --out whole");
  const double whole_s = makespan("whole");
  expect_in("with 4, 3, 2 workers",
            succeeds("simulate " + words + " --set recovery.policy=shrink --decisions " +
                     departs({{1, 0.35 * whole_s}, {3, 0.7 * whole_s}}) + " --out out"));
  const Results all = results("out");
  EXPECT_EQ(slots_of_generations(all), (std::vector<Slots>{{0, 1, 2, 3}, {0, 2, 3}, {0, 2}}));
  expect_as_by_hand("whole", "out", 24);
  expect_each_step_once("out");
  EXPECT_NEAR(all.summary.rounds, 24, 1e-6);
  const auto rounds = rounds_of_generations(all);
  EXPECT_EQ(ranks_in(all, rounds[1]), (std::set<Rank>{0, 2, 3}));
  EXPECT_EQ(ranks_in(all, rounds[2]), (std::set<Rank>{0, 2}));
  // Hosts are those of the whole job.
  ASSERT_GE(all.info.hosts.size(), 4U);
  EXPECT_EQ(std::vector(all.info.hosts.begin(), all.info.hosts.begin() + 4), hosts);
  EXPECT_EQ(all.info.experiment.placement.workers, hosts);
  expect_replayed(all, as_measured(all));
}

INSTANTIATE_TEST_SUITE_P(
    TwoServers, ShrunkenTraining,
    ::testing::Values("--set placement.servers=[server,node-4] --set optimizer.momentum=0.9"));
INSTANTIATE_TEST_SUITE_P(
    LongOthers, ShrunkenTraining,
    ::testing::Values(
        "--set checkpoint.mode=background --set optimizer.kind=adam",
        "--set sync.algorithm=local-sgd --set sync.over=all-reduce",
        "--set sync.compression=top-k --set sync.over=all-reduce", "--set placement.evaluator=first-worker",
        "--set data.sampling=shuffled",
        "--set recovery.mode=restart --set recovery.scale_rate=sqrt --set recovery.batch=global",
        "--set recovery.mode=restart --set recovery.batch=global --set workload.batch=50 --set "
        "optimizer.update_at=workers",
        "--set recovery.mode=restart --set recovery.scale_rate=linear --set "
        "recovery.batch=global --set sync.algorithm=local-sgd"));

/// Resumed with the rate that follows from the rule, and without the rule. To half of the workers, since
/// powers of two are exact.
TEST_F(LongFewerWorkers, ScaleTheRate) {
  for (const char* route : {"", "--set sync.over=all-reduce ", "--set optimizer.update_at=workers ",
                            "--set sync.over=all-reduce --set sync.overlap=both "}) {
    SCOPED_TRACE(route);
    line_.shell("rm -rf whole out hand");
    const std::string words = experiment(24, commits + route + "--set optimizer.learning_rate=0.03125 ");
    succeeds("simulate " + words + " --out whole");
    const double departure_s = 0.4 * makespan("whole");
    succeeds("simulate " + words + " --set recovery.policy=shrink --set recovery.scale_rate=linear " +
             departs({{1, departure_s}, {3, departure_s}}) + "--out out");
    EXPECT_EQ(slots_of_generations(results("out")), (std::vector<Slots>{{0, 1, 2, 3}, {0, 2}}));
    line_.shell("sed -Ei 's/(\"learning_rate\": *)0.03125/\\10.015625/' whole/job.json");
    succeeds(
        fmt::format("simulate --resume whole --resume-from {} --set 'placement.workers=[node-1,node-3]' "
                    "--out hand",
                    rounds_of_generations(results("out")).back()));
    EXPECT_EQ(results("hand").info.experiment.optimizer.learning_rate, 0.015625);
    expect_same_model("hand", "out");
  }
}

/// It follows from the number of all workers, whatever the number of those that are left.
TEST_F(LongFewerWorkers, KeepTheLengthOfTheCosine) {
  const std::string words = experiment(0, commits + "--set stop.epochs=2 --set optimizer.schedule=cosine ");
  const Results whole = simulate(words, "whole");
  const std::string shrinks =
      words + " --set recovery.policy=shrink " + departs({{1, 0.4 * makespan("whole")}});
  succeeds("simulate " + shrinks + "--out out");
  EXPECT_EQ(slots_of_generations(results("out")), (std::vector<Slots>{{0, 1, 2, 3}, {0, 2, 3}}));
  EXPECT_GT(results("out").summary.rounds.value, whole.summary.rounds.value);
  succeeds("simulate " + shrinks +
           fmt::format("--set optimizer.cosine_rounds={} --out given", std::llround(whole.summary.rounds)));
  expect_same_model("given", "out");
}

class SharedBatches : public FewerWorkers, public ::testing::WithParamInterface<std::string> {};

/// Those that are left share the batches of all, larger parts first.
TEST_P(SharedBatches, AreThoseOfAll) {
  const std::string words = experiment(24, commits + "--set workload.batch=50 " + GetParam());
  succeeds("simulate " + words + " --out whole");
  const std::string shrinks = words + " --set recovery.policy=shrink --set recovery.batch=global " +
                              departs({{1, 0.4 * makespan("whole")}});
  for (const char* math : {"real", "modelled"}) {
    succeeds("simulate " + shrinks + "--set workload.math=" + math +
             " --set evaluate_every=0 --out out --force");
    const Results all = results("out");
    const std::int64_t from = rounds_of_generations(all).at(1);
    std::map<Rank, std::set<int>> before, after;
    for (const auto& step : all.journal.steps)
      (step.round < from ? before : after)[step.rank].insert(step.samples);
    EXPECT_EQ(before, (std::map<Rank, std::set<int>>{{0, {50}}, {1, {50}}, {2, {50}}, {3, {50}}})) << math;
    EXPECT_EQ(after, (std::map<Rank, std::set<int>>{{0, {67}}, {2, {67}}, {3, {66}}})) << math;
    const int steps = GetParam().find("local-sgd") == std::string::npos ? 1 : 2;
    EXPECT_EQ(all.summary.samples, 24 * steps * 200) << math;
  }
}
INSTANTIATE_TEST_SUITE_P(AllReduce, SharedBatches, ::testing::Values("--set sync.over=all-reduce"));
INSTANTIATE_TEST_SUITE_P(LongOthers, SharedBatches,
                         ::testing::Values("", "--set optimizer.update_at=workers",
                                           "--set sync.over=all-reduce --set sync.algorithm=local-sgd "
                                           "--set sync.options.h=2"));

/// Also those of workers that are absent when they become old. The first generation wrote rounds 3 and 6.
TEST_F(LongFewerWorkers, KeepTheLastCommits) {
  const std::string words = experiment(24, every_third_round);
  for (const char* settings :
       {"--set checkpoint.keep=2 ",
        "--set checkpoint.keep=2 --set sync.over=all-reduce --set evaluate_every=0 "}) {
    SCOPED_TRACE(settings);
    succeeds("simulate " + words + settings + "--out whole --force");
    succeeds("simulate " + words + settings + "--set recovery.policy=shrink " +
             departs({{1, 0.35 * makespan("whole")}}) + "--out out --force");
    ASSERT_EQ(slots_of_generations(results("out")), (std::vector<Slots>{{0, 1, 2, 3}, {0, 2, 3}}));
    EXPECT_EQ(rounds_of_generations(results("out"))[1], 6);
    EXPECT_EQ(
        line_.shell("ls out/checkpoints | grep 'worker_.*state$'").output,
        "round_00000021.worker_0.state\nround_00000021.worker_1.state\nround_00000021.worker_2.state\n"
        "round_00000024.worker_0.state\nround_00000024.worker_1.state\nround_00000024.worker_2.state\n");
  }
}

/// With policy restart, the replacement ends the smaller generation, and the next one has all workers.
TEST_F(FewerWorkers, GrowAgainWhenAMachineHasComeUp) {
  const std::string words = experiment(24, commits);
  succeeds("simulate " + words + " --out whole");
  const double whole_s = makespan("whole");
  const std::string told = succeeds(
      "simulate " + words + " --set recovery.policy=restart --set recovery.least=2 --decisions " +
      departs({{0, 0.35 * whole_s}}) + fmt::format("--set transience.start={} --out out", 0.4 * whole_s));
  expect_in("after a departure of a machine, and after an arrival of a machine", told);
  const Results all = results("out");
  EXPECT_EQ(slots_of_generations(all), (std::vector<Slots>{{0, 1, 2, 3}, {1, 2, 3}, {0, 1, 2, 3}}));
  EXPECT_NEAR(all.info.generations[2].began.value().count(), 0.75 * whole_s, 1e-9);
  EXPECT_EQ(all.info.generations[1].ended, "a machine came up for worker 0 on 'node-1'");
  expect_as_by_hand("whole", "out", 24);
  expect_each_step_once("out");
  // Commits are those of one job, each once.
  EXPECT_EQ(rounds_of_commits(all.journal), (std::vector<std::int64_t>{3, 6, 9, 12, 15, 18, 21, 24}));
}

/// A generation that ends before its first commit: the point is that of the one before, of other workers.
TEST_F(LongFewerWorkers, ContinueFromTheCommitOfMoreWorkers) {
  const std::string words = experiment(24, commits);
  succeeds("simulate " + words + " --out whole");
  const double whole_s = makespan("whole");
  succeeds("simulate " + words + " --set recovery.policy=shrink " +
           departs({{1, 0.45 * whole_s}, {2, 0.46 * whole_s}}) + "--out out");
  const Results all = results("out");
  EXPECT_EQ(slots_of_generations(all), (std::vector<Slots>{{0, 1, 2, 3}, {0, 2, 3}, {0, 3}}));
  const auto rounds = rounds_of_generations(all);
  EXPECT_EQ(rounds[1], rounds[2]);
  // From four workers to two, as if there had never been three.
  succeeds(
      fmt::format("simulate --resume whole --resume-from {} --set 'placement.workers=[node-1,node-6]' "
                  "--out hand",
                  rounds[2]));
  expect_same_model("hand", "out");
  expect_each_step_once("out");
}

/// Nothing was committed: the smaller job begins anew.
TEST_F(FewerWorkers, WithoutACommitBeginAgain) {
  const std::string words = experiment(12, "--set evaluate_every=100 ");
  succeeds("simulate " + words + " --set placement.workers=[node-1,node-3,node-6] --out three");
  succeeds("simulate " + words + " --set recovery.policy=shrink " + departs({{1, 0.001}}) + "--out out");
  EXPECT_EQ(rounds_of_generations(results("out")), (std::vector<std::int64_t>{0, 0}));
  expect_same_model("three", "out");
}

/// A job that ends incomplete is resumed with all workers, from what fewer have written.
TEST_F(LongFewerWorkers, AreResumedByHand) {
  const std::string words = experiment(60, commits);
  succeeds("simulate " + words + " --out whole");
  const double whole_s = makespan("whole");
  refuses("simulate " + words + " --set recovery.policy=shrink --set recovery.restarts=1 " +
              departs({{1, 0.3 * whole_s}, {2, 0.6 * whole_s}}) + "--out out",
          "", 70);
  const std::string end = fmt::format(" --set stop.rounds={} ", newest_commit("out") + 2);
  expect_in("note: 4 workers instead of 3: ", succeeds("simulate --resume out" + end + "--out resumed"));
  EXPECT_GT(results("resumed").info.resumed.value().round, 18) << "before the first departure";
  // With three, nothing changes; from before the departure, four have written it.
  const std::string instead = "workers instead of";
  expect_not_in(instead, succeeds("simulate --resume out --set 'placement.workers=[node-1,node-3,node-6]'" +
                                  end + "--out same"));
  expect_not_in(instead, succeeds("simulate --resume out --resume-from 3 --set stop.rounds=5 --out before"));
  EXPECT_EQ(results("before").info.resumed.value().round, 3);
}

struct Refused {
  std::string settings;
  std::string why;
};

TEST_F(LongFewerWorkers, WhereTheyCannotContinueAreRefused) {
  const std::string shrink = departs({{1, 0.1}}) + "--set recovery.policy=shrink ";
  for (const Refused& refused :
       {Refused{
            shrink + "--set sync.algorithm=d-psgd --set sync.over=peers",
            "'recovery.policy': expected restart, which waits for all workers, because each worker of d-psgd "
            "has a model of its own"},
        Refused{shrink + "--set sync.algorithm=easgd", "each worker of easgd has a model of its own"},
        Refused{shrink + "--set data.sampling=importance",
                "each worker alone knows the losses of its samples"},
        Refused{departs({{1, 0.1}}) + "--set recovery.policy=restart --set recovery.least=3 --set "
                                      "sync.algorithm=easgd",
                "'recovery.least': expected 4, all workers, because each worker of easgd"},
        Refused{shrink + "--set sync.algorithm=k-sync --set sync.options.k=3",
                "'recovery.least': expected at least 3, because with 2 workers "},
        Refused{shrink + "--set recovery.least=5", "'recovery.least': expected at most 4"},
        Refused{
            "--set recovery.mode=restart --set recovery.policy=shrink --set sync.algorithm=d-psgd --set "
            "sync.over=peers",
            "'recovery.policy': expected restart, which waits for all workers, because each worker of d-psgd "
            "has a model of its own"},
        Refused{
            "--set recovery.mode=restart --set recovery.policy=liveput --set sync.algorithm=easgd",
            "'recovery.policy': expected restart, which waits for all workers, because each worker of easgd"},
        Refused{"--set recovery.mode=restart --set recovery.least=5", "'recovery.least': expected at most 4"},
        Refused{shrink + "--set recovery.batch=global --set sync.algorithm=lb-bsp",
                "'recovery.batch': expected keep, because lb-bsp divides the batch itself"},
        Refused{departs({{1, 0.1}}) + "--set recovery.policy=replace",
                "'recovery.policy': expected restart, shrink or liveput"},
        Refused{
            "--set recovery.mode=restart --set recovery.policy=liveput " + trace("10 remove a"),
            "'transience.lifetime': expected a model with a distribution of lifetimes for recovery.policy "
            "liveput"},
        Refused{"--set transience.lifetime=exponential --set recovery.policy=liveput",
                "'recovery.policy': expected a policy that recovers in place"}}) {
    refuses("simulate " + experiment(24, commits + refused.settings) + " --out out", refused.why);
    EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out"));
  }
}

/// With n of four workers, a job whose departures are as dear as 0.15 of a lifetime trains most with three.
TEST_F(LongFewerWorkers, AsManyAsTrainMost) {
  const std::string words = experiment(24, commits + "--set recovery.mode=restart ");
  succeeds("simulate " + words + " --out whole");
  const double whole_s = makespan("whole");
  const std::string told =
      succeeds("simulate " + words +
               fmt::format(" --set recovery.policy=liveput --set recovery.restarts=100 --set "
                           "recovery.options.restart_s={0} --set recovery.options.lost_s={0} --set "
                           "transience.lifetime=exponential --set transience.options.mean={1} --set "
                           "transience.start={2} --decisions --out out",
                           0.3 * whole_s, 2 * whole_s, 0.1 * whole_s));
  const Results all = results("out");
  const auto slots = slots_of_generations(all);
  ASSERT_GT(slots.size(), 1U) << told;
  EXPECT_EQ(slots.front(), (Slots{0, 1, 2})) << told;
  for (const Slots& present : slots) EXPECT_LE(present.size(), 3U);
  succeeds("simulate " + words + " --set placement.workers=[node-1,node-2,node-3] --out three");
  expect_as_by_hand("three", "out", 24);
  expect_each_step_once("out");
  Results measured = as_measured(all);
  measured.info.experiment.run.revoke = RevokeMode::kill;
  expect_replayed(all, measured);
}

/// Workers on machines that may depart, the other ranks on those that stay.
TEST_F(LongFewerWorkers, InTiers) {
  const std::string tiers =
      "--set recovery.provisioning=tiers --set recovery.policy=restart " + departs({{1, 1e8}});
  succeeds("simulate " + experiment(2, commits + tiers) + " --out out");
  // Keepers are on the hosts of workers.
  succeeds("simulate " +
           experiment(2, commits + tiers + "--set checkpoint.keep=2 --set checkpoint.to=buddy ") +
           " --out kept");
  // In the second stage, servers may depart, too.
  const std::string backups = "--set recovery.provisioning_options.backups=",
                    kept = "--set checkpoint.keep=2 --set checkpoint.to=buddy ";
  succeeds("simulate " +
           experiment(2, commits + tiers + "--set placement.servers=[node-2] " + kept + backups + "server ") +
           " --out backups");
  for (const Refused& refused :
       {Refused{"--set placement.servers=[node-2]",
                "expected all ranks but workers and keepers on hosts that stay"},
        Refused{kept + backups + "node-1", "found the keeper on 'node-1', whose machine may depart"},
        Refused{backups + "server", "key 'checkpoint.to': expected buddy"},
        Refused{kept + backups + "nowhere", "expected a host of"},
        Refused{"--set placement.servers=[node-2]", "found the server on 'node-2', whose machine may depart"},
        Refused{"--set placement.evaluator=node-1", "found the evaluator on 'node-1'"},
        Refused{"--set placement.evaluator=first-worker",
                "key 'placement.evaluator': expected a host whose machine stays"}})
    refuses("simulate " + experiment(2, commits + tiers + refused.settings) + " --out no", refused.why);
}

TEST_F(FewerWorkers, BelowTheLeastTheJobGivesUp) {
  refuses("simulate " + experiment(24, commits + "--set recovery.policy=shrink --set recovery.least=4 ") +
              departs({{1, 0.1}}) + "--out out",
          "the job gives up: machines have departed, and no other one is coming", 70);
}

#ifdef TANDEM_TESTS_RUN
using LongRevokedFewer = RevokedFewer;

TEST_F(LongRevokedFewer, ShrinkAsInTheSimulation) {
  expect_alike(" --set recovery.policy=shrink --set transience.detect=0.1 " + departs({{1, 1.0}, {3, 2.2}}),
               {{0, 1, 2, 3}, {0, 2, 3}, {0, 2}});
}

TEST_F(LongRevokedFewer, ScaleRateAndBatchAsInTheSimulation) {
  expect_alike(" --set recovery.policy=shrink --set transience.detect=0.1 " + departs({{1, 1.0}}),
               {{0, 1, 2, 3}, {0, 2, 3}}, "--set recovery.scale_rate=linear --set recovery.batch=global");
}

TEST_F(LongRevokedFewer, GrowAsInTheSimulation) {
  expect_alike(
      " --set recovery.policy=restart --set recovery.least=2 --set transience.start=1.2 "
      "--set transience.detect=0.1 " +
          departs({{0, 1.0}}),
      {{0, 1, 2, 3}, {1, 2, 3}, {0, 1, 2, 3}});
}

/// No machine departs as it is drawn: a rank dies.
class LongDeadWorkers : public FewerWorkers {};

TEST_F(LongDeadWorkers, LeaveTheJobToTheOthers) {
  const std::string words = job(120, "--decisions --set recovery.policy=shrink");
  succeeds("simulate " + words + " --out whole");
  expect_in("generation 1 has 3 of 4 workers: 0, 2, 3", survives(words, {{has_checkpoint(10), "1"}}));
  const Results measured = results("out");
  EXPECT_EQ(slots_of_generations(measured), (std::vector<Slots>{{0, 1, 2, 3}, {0, 2, 3}}));
  expect_as_by_hand("whole", "out", 120);
  expect_each_step_once("out");
  expect_each_evaluation_once("out", 120);
  std::vector<std::string> decided;
  for (const auto& decision : measured.journal.decisions)
    if (decision.side == "recovery") decided.push_back(decision.event.substr(0, decision.event.find(' ')));
  EXPECT_EQ(decided, (std::vector<std::string>{"started", "departed"}));
  expect_replayed(measured, measured);
}

/// With fewer than recovery.least, the job gives up.
TEST_F(LongDeadWorkers, BelowTheLeastEndTheJob) {
  const std::string told = gives_up(job(1000000, "--set recovery.policy=shrink --set recovery.least=3"),
                                    {{has_checkpoint(10), "1"}, {after_begin(1, has_checkpoint(100)), "0"}});
  expect_in("generation 1 has 3 of 4 workers: 0, 2, 3", told);
  expect_in("the job gives up: machines have departed, and no other one is coming", told);
  EXPECT_EQ(line_.shell("cut -d, -f2,5 out/membership.csv | grep departed | paste -sd ' '").output,
            "1,departed 0,departed\n");
}

/// Other policies start them again on their machines, which are still there; servers always are.
TEST_F(LongDeadWorkers, StartAgainOnTheirMachines) {
  for (const auto& [settings, rank] : std::vector<std::pair<std::string, std::string>>{
           {"--set recovery.policy=restart --set recovery.least=2", "1"},
           {"--set recovery.policy=shrink", "4"}}) {
    SCOPED_TRACE(settings);
    const std::string words = job(100, settings + " --force");
    succeeds("simulate " + words + " --out whole");
    survives(words, {{has_checkpoint(10), rank}});
    EXPECT_EQ(restarts("out"), 1U);
    expect_same_records("whole", "out", 0);
    expect_each_step_once("out");
    std::filesystem::remove_all(line_.folder() / "out");
  }
}

#endif

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
