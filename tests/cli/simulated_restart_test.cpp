// Simulated jobs that start again when machines depart (recovery.mode: restart), against closed forms. That
// they end with the model of the uninterrupted job: interruptions_test.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "policies/checkpointing/interval.hpp"
#include "tests/cli/second_steps.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using Rounds = std::vector<std::int64_t>;

/// One worker on a host alone. With a disk, a commit of two vectors of 50 MB takes 2 s, and reading it 1 s.
class SimulatedRestarts : public SecondSteps {
 protected:
  std::string job(const std::string& settings, bool has_disk = false) const {
    return steps_of_a_second(
        "<host id='a' speed='1Tf'>" +
            std::string(has_disk ? "<disk id='disk' read_bw='100MBps' write_bw='50MBps'/>" : "") + "</host>",
        "placement: {workers: [a]}\n"
        "sync: {algorithm: bsp, over: all-reduce}\n"
        "checkpoint: {policy: fixed, options: {interval: 4}}\n"
        "recovery: {mode: restart, policy: restart, restarts: 1000}\n",
        settings);
  }
  /// Lifetimes of the first machines; later ones stay.
  static std::string lives(const std::string& times) { return lifetimes(times + ",1e9"); }
  using ResumeJobs::makespan;
  double makespan(const std::string& words, const std::string& out) const {
    return makespan(simulate(words, out));
  }
  /// Of one round, from a job whose machine stays.
  double round_s() const { return makespan(job(lives("1000")), "stays") / 12; }
  /// A job that commits when its machine is warned.
  std::string warned_job(const std::string& lifetimes, double notice_s) const {
    return job(
        lifetimes +
        fmt::format(
            "--set sync.over=server --set placement.servers=[a] --set "
            "checkpoint.policy=on-warning --set checkpoint.options={{}} --set checkpoint.at_end=false --set "
            "transience.start=1 --set transience.notice={} --decisions --force",
            notice_s));
  }
};
using LongSimulatedRestarts = SimulatedRestarts;

TEST_F(SimulatedRestarts, TakeTheTimeOfTheHandComputation) {
  const double round = round_s();
  const Results all = simulate(
      job(lives("6.5,5.25") + "--set transience.detect=2 --set transience.start=3 --decisions"), "out");
  // The host has no disk, and the output says what that means.
  EXPECT_EQ(all.info.physics.at("commits_without_disk"), nlohmann::json::array({"a"}));
  const std::string told = succeeds("simulate " + job(lives("1000")) + " --out free");
  for (const char* line : {"\n  no disk on host 'a': writing commits there costs nothing",
                           "\n  commits: 3 of 100 MB (states of the ranks, and the model as a file)"})
    EXPECT_NE(told.find(line), std::string::npos) << told;
  // Rounds 1 to 4 are committed when the first machine departs, 5 to 8 when the second does.
  const double second = 6.5 + 5, third = second + 5.25 + 5;
  EXPECT_NEAR(all.summary.makespan_s, third + 4 * round, 1e-9);
  EXPECT_EQ(rounds_of_generations(all), (Rounds{0, 4, 8}));
  EXPECT_EQ(all.info.generations[1].began.value().count(), second);
  EXPECT_EQ(all.info.generations[2].began.value().count(), third);
  // Rounds 5 and 6, and round 9.
  EXPECT_EQ(all.info.generations[0].lost_samples, 2);
  EXPECT_EQ(all.info.generations[1].lost_samples, 1);
  EXPECT_EQ(all.summary.samples, 12);
  EXPECT_EQ(all.summary.applied_samples, 12);
  EXPECT_EQ(all.summary.membership.value().lost_samples, 3);
  EXPECT_EQ(rounds_of_commits(all.journal), (Rounds{4, 8, 12}));
  ASSERT_EQ(all.journal.steps.size(), 12U);
  EXPECT_NEAR(all.journal.steps[4].start.count(), second, 1e-9);
  EXPECT_EQ(events_of(all, 0), replaced(2));
  EXPECT_TRUE(std::ranges::any_of(all.journal.decisions, [](const auto& decision) {
    return decision.side == "recovery" && decision.decisions.find("rollback") != std::string::npos;
  }));
}

/// The second machine departs while the ranks of its generation get ready.
TEST_F(SimulatedRestarts, LaunchesTakeTimeAndMayBeStruck) {
  const double round = round_s();
  const Results all =
      simulate(job(lives("6.5,1.5") + "--set transience.detect=2 --set transience.start=3 --set "
                                      "recovery.launch=2"),
               "out");
  const double ready = 6.5 + 5, struck = ready + 1.5, again = struck + 5;
  EXPECT_NEAR(all.summary.makespan_s, again + 2 + 8 * round, 1e-9);
  EXPECT_EQ(rounds_of_generations(all), (Rounds{0, 4, 4}));
  EXPECT_EQ(all.info.generations[0].launched.value().count(), 0.0);
  EXPECT_EQ(all.info.generations[1].launched.value().count(), ready);
  EXPECT_FALSE(all.info.generations[1].began);
  EXPECT_EQ(all.info.generations[2].launched.value().count(), again);
  EXPECT_EQ(all.info.generations[2].began.value().count(), again + 2);
  EXPECT_EQ(all.summary.membership.value().lost_samples, 2);
}

/// Each generation begins with a new policy, which continues from the last one. The second generation ends
/// before it commits, and its records do not stay.
TEST_F(SimulatedRestarts, DecisionsOfPoliciesThatLearnAreReplayed) {
  const Results all = simulate(job(lives("8.5,9.25") + "--set sync.over=server --set placement.servers=[a] "
                                                       "--set checkpoint.policy=optimal "
                                                       "--set checkpoint.options.mtbf_s=60 --decisions",
                                   true),
                               "out");
  EXPECT_EQ(all.info.generations.size(), 3U);
  EXPECT_EQ(std::ranges::count_if(all.journal.decisions,
                                  [](const auto& decision) {
                                    return decision.side == "checkpointing" &&
                                           decision.event.starts_with("started");
                                  }),
            2);
  expect_replayed(all, as_measured(all));
}

/// Also those of earlier generations.
TEST_F(SimulatedRestarts, OnlyTheLastCommitsAreKept) {
  const std::string words = line_.experiment("evaluate_every: 6\n") +
                            " --set stop.rounds=18 --set recovery.mode=restart --set recovery.policy=restart "
                            "--set checkpoint.policy=fixed --set checkpoint.options.interval=2 "
                            "--set checkpoint.keep=2 ";
  const double whole = makespan(words, "whole");
  const Results all = simulate(words + lives(fmt::format("{},{}", 0.45 * whole, 0.35 * whole)), "out");
  EXPECT_EQ(all.info.generations.size(), 3U);
  const auto count = [this](const std::string& pattern) {
    return line_.shell("ls out/checkpoints | grep -c '" + pattern + "'").output;
  };
  EXPECT_EQ(count("server_0.state"), "2\n");
  // Those of commits, and those that are evaluated.
  const std::string models = line_.shell("ls out/checkpoints | grep pt$").output;
  EXPECT_EQ(models, "round_00000006.pt\nround_00000012.pt\nround_00000016.pt\nround_00000018.pt\n");
}

TEST_F(SimulatedRestarts, CommitsAndReadingTheStateTakeTheirTime) {
  const double round = round_s(), write = 2.0, read = 1.0;
  const std::string commits = lives("1000") + "--set checkpoint.options.interval=4";
  EXPECT_NEAR(makespan(job(commits, true), "alone"), 12 * round + 3 * write, 1e-9);
  const double departs = 4 * round + write + 0.5;
  const Results all = simulate(job(lives(fmt::format("{}", departs)), true), "out");
  EXPECT_FALSE(all.info.physics.contains("commits_without_disk"));
  EXPECT_EQ(rounds_of_generations(all), (Rounds{0, 4}));
  EXPECT_NEAR(all.summary.makespan_s, departs + read + 8 * round + 2 * write, 1e-9);
  ASSERT_EQ(rounds_of_commits(all.journal), (Rounds{4, 8, 12}));
  EXPECT_NEAR(all.journal.commits[0].started.count(), 4 * round, 1e-9);
  EXPECT_NEAR(all.journal.commits[0].ended.count(), 4 * round + write, 1e-9);
  EXPECT_NEAR(all.journal.commits[0].blocked.count(), write, 1e-9);
  // A share of its own, of the workers' time and of what binds.
  EXPECT_NEAR(all.summary.shares.value().commits * all.summary.makespan_s, 3 * write, 1e-9);
  EXPECT_NEAR(all.summary.shares.value().exchange, 0.0, 1e-9);
  const std::string told = succeeds("simulate " + job(commits, true) + " --out told");
  const double share = 3 * write / (12 * round + 3 * write);
  for (const std::string& line : {std::string(", every 4 rounds (6."), std::string("\n  steps and commits: "),
                                  fmt::format(", waiting for commits {:.1f} %", 100 * share)})
    EXPECT_NE(told.find(line), std::string::npos) << told;
}

/// The commit that is being written is not there; the one before is.
TEST_F(SimulatedRestarts, ADepartureDuringACommitTakesTheOneBefore) {
  const double round = round_s(), write = 2.0, read = 1.0;
  const double departs = 8 * round + 2 * write - 0.125;
  for (const char* mode : {"blocking", "background"}) {
    SCOPED_TRACE(mode);
    const bool is_blocking = std::string(mode) == "blocking";
    const double end = is_blocking ? departs : 8 * round + write - 0.125;
    const Results all = simulate(job(lives(fmt::format("{}", end)) + "--set checkpoint.mode=" + mode, true),
                                 std::string("out-") + mode);
    EXPECT_EQ(rounds_of_generations(all), (Rounds{0, 4}));
    if (is_blocking) {
      EXPECT_NEAR(all.summary.makespan_s, end + read + 8 * round + 2 * write, 1e-9);
    }
    EXPECT_EQ(rounds_of_commits(all.journal), (Rounds{4, 8, 12}));
  }
  // Just after it, it counts.
  const Results whole = simulate(job(lives(fmt::format("{}", departs + 0.25)), true), "whole");
  EXPECT_EQ(rounds_of_generations(whole), (Rounds{0, 8}));
}

TEST_F(LongSimulatedRestarts, NothingIsLostAtTheEndOfARoundWithoutCosts) {
  const std::string every = "--set checkpoint.options.interval=1 ";
  const double never =
      makespan(job(every + "--set transience.lifetime=never --set recovery.mode=in-place"), "never");
  const double round = never / 12;
  const Results all =
      simulate(job(every + lives(fmt::format("{},{},{}", 3 * round, 2 * round, 5 * round))), "out");
  EXPECT_EQ(rounds_of_generations(all), (Rounds{0, 3, 5, 10}));
  EXPECT_NEAR(all.summary.makespan_s, never, 1e-9);
  EXPECT_EQ(all.summary.membership.value().lost_samples, 0);
}

TEST_F(SimulatedRestarts, MachinesThatStayChangeNothing) {
  const Results stays = simulate(job(lives("1000")), "stays");
  const Results never =
      simulate(job("--set transience.lifetime=never --set recovery.mode=in-place"), "never");
  EXPECT_EQ(contents("stays/steps.csv"), contents("never/steps.csv"));
  EXPECT_EQ(contents("stays/commits.csv"), contents("never/commits.csv"));
  EXPECT_EQ(stays.summary.makespan_s, never.summary.makespan_s);
  EXPECT_TRUE(stays.info.generations.empty());
}

/// on-warning commits after the round in which the warning comes, if that ends before the machine departs.
TEST_F(SimulatedRestarts, WarningsOfDrawnDeparturesReachThePolicy) {
  const double round = makespan(warned_job(lives("1000"), 2), "stays") / 12;
  // The worker is warned in round 5, and the server learns it with the push of that round. The first commit
  // shows that it takes no time, so another one follows the last round.
  const Results all = simulate(warned_job(lives("6.5"), 2), "out");
  EXPECT_EQ(rounds_of_commits(all.journal), (Rounds{5, 6}));
  EXPECT_EQ(rounds_of_generations(all), (Rounds{0, 6}));
  EXPECT_NEAR(all.summary.makespan_s, 7.5 + 6 * round, 1e-3);
  EXPECT_EQ(all.summary.membership.value().warned, 1);
  EXPECT_TRUE(std::ranges::any_of(all.journal.decisions, [](const auto& decision) {
    return decision.side == "checkpointing" && decision.event.starts_with("warned");
  }));
  // Warned in round 7, which does not end.
  ASSERT_LT(6 * round, 6.4);
  const Results late = simulate(warned_job(lives("6.5"), 0.1), "late");
  EXPECT_EQ(rounds_of_generations(late), (Rounds{0, 0}));
}

/// The same lifetimes, drawn at random.
TEST_F(LongSimulatedRestarts, MachinesThatAreWarnedEarlierLoseNoMore) {
  for (int seed = 1; seed <= 6; ++seed) {
    double before = std::numeric_limits<double>::infinity();
    for (const double notice_s : {0.001, 0.4, 1.1, 3.0}) {
      const double time = makespan(
          warned_job(fmt::format("--set transience.lifetime=exponential --set transience.options.mean=9 "
                                 "--set transience.options.minimum=3 --set seed={} ",
                                 seed),
                     notice_s),
          "out");
      // But for the messages about the warning.
      EXPECT_LE(time, before + 1e-3) << "seed " << seed << ", notice " << notice_s;
      before = time;
    }
  }
}

/// The closed form: a round takes 1 s and a commit of the server a time that a first job measures. If the
/// notice is as long as both, less than a round is lost, whenever the machine departs.
TEST_F(LongSimulatedRestarts, AfterAWarningLessThanARoundIsLost) {
  const std::string settings =
      "--set sync.over=server --set placement.servers=[a] --set checkpoint.policy=on-warning --set "
      "stop.rounds=30 --set checkpoint.at_end=false "
      "--set transience.start=1 --decisions --force -q ";
  const auto told = [&](const std::string& lifetimes, double notice_s, const std::string& options) {
    return job(
        lifetimes + settings +
            fmt::format("--set transience.notice={} --set 'checkpoint.options={{{}}}'", notice_s, options),
        true);
  };
  const double round = makespan(told(lives("1e8"), 3, ""), "stays") / 30;
  // What a commit takes, from one of unknown cost.
  const Results first = simulate(told(lives("8.2"), 3.7, ""), "first");
  ASSERT_FALSE(first.journal.commits.empty());
  const CommitRecord& one = first.journal.commits.front();
  EXPECT_EQ(one.round, 5) << "warned at 4.5 s";
  const double commit = (one.ended - one.started).count();
  EXPECT_GT(commit, 0.5);
  for (const double notice_s : {commit + round + 0.01, 2 * commit + 2.5, 15.0})
    for (const double phase : {0.01, 0.3, 0.6, 0.99})
      for (const double margin : {0.0, 0.1}) {
        const double departs = 17 * round + phase * round;
        SCOPED_TRACE(fmt::format("departs at {} s, notice {} s, margin {}", departs, notice_s, margin));
        const Results all = simulate(told(lives(fmt::format("{}", departs)), notice_s,
                                          fmt::format("cost_s: {}, margin: {}", commit, margin)),
                                     "out");
        ASSERT_FALSE(all.journal.commits.empty());
        const CommitRecord& last = all.journal.commits.front();
        EXPECT_EQ(rounds_of_generations(all), (Rounds{0, last.round})) << "the commit is complete";
        EXPECT_LE(departs - last.ended.count(), round + margin * (round + commit) + 1e-3);
        EXPECT_LE(all.info.generations[0].lost_samples, margin > 0 ? 1 : 0);
      }
}

/// Of one of several workers, each on a machine of its own: the rank that decides is notified with the
/// messages of the round in progress. With two servers, and where a worker decides, the commit follows a
/// round later, since the others have to learn of it; over peers, where workers may be ahead of it, four.
TEST_F(LongSimulatedRestarts, AWarningIsHeardWithTheRoundInProgress) {
  const std::pair<const char*, int> cases[] = {
      {"", 0},
      {"--set sync.overlap=none", 0},
      {"--set sync.algorithm=local-sgd --set sync.options.h=2", 0},
      {"--set sync.algorithm=esync --set sync.over=all-reduce", 0},
      {"--set placement.servers=[server,node-4]", 1},
      {"--set sync.over=all-reduce", 1},
      {"--set sync.over=all-reduce --set sync.algorithm=local-sgd --set sync.options.h=2", 1},
      {"--set sync.over=peers --set sync.algorithm=d-psgd", 4}};
  for (const auto& [settings, later] : cases) {
    SCOPED_TRACE(settings);
    const std::string words = experiment(
        24,
        std::string("--set workload.math=modelled --set recovery.mode=restart --set recovery.policy=restart "
                    "--set checkpoint.policy=on-warning --set checkpoint.at_end=false --set "
                    "transience.notice=1000 --set "
                    "evaluate_every=0 "
                    "--force -q ") +
            settings);
    const Results whole = simulate(words + " " + lives("1e9"), "whole");
    const auto step = std::ranges::find_if(whole.journal.steps,
                                           [](const auto& one) { return one.rank == 1 && one.round == 10; });
    ASSERT_NE(step, whole.journal.steps.end());
    // While it computes. The machine is there for another few rounds.
    const double round = whole.summary.makespan_s / 24;
    const double warned_s =
        (step->start + step->phases[static_cast<std::size_t>(Phase::forward)] * 0.5).count();
    const double notice_s = 8 * round;
    const Results warned =
        simulate(words + " " + lives(fmt::format("1e9,1e9;{},1e9;1e9", warned_s + notice_s)) +
                     fmt::format("--set transience.notice={}", notice_s),
                 "out");
    ASSERT_FALSE(warned.journal.commits.empty());
    EXPECT_EQ(warned.journal.commits.front().round, step->round + 1 + later);
    EXPECT_EQ(rounds_of_generations(warned), (Rounds{0, warned.journal.commits.back().round}));
    // The last commit is decided so many rounds in advance, and none is meanwhile.
    EXPECT_LE(warned_s + notice_s - warned.journal.commits.back().ended.count(),
              std::max<double>(1.25, later) * round);
  }
}

TEST_F(LongSimulatedRestarts, WithoutACommitTheJobBeginsAgain) {
  const double round = round_s();
  const Results all = simulate(job(lives("3.5,2.5") + "--set transience.start=1"), "out");
  EXPECT_EQ(rounds_of_generations(all), (Rounds{0, 0, 0}));
  EXPECT_NEAR(all.summary.makespan_s, 4.5 + 3.5 + 12 * round, 1e-9);
}

/// A job of L seconds that begins again at each failure, of rate l: (exp(l L) - 1) / l on average (Feller).
TEST_F(LongSimulatedRestarts, WithoutACommitTheMeanMakespanIsTheTextbooks) {
  constexpr int jobs = 200;
  constexpr double mean_life = 8.0;
  const double expected = std::expm1(12 * round_s() / mean_life) * mean_life;
  double sum = 0, squares = 0;
  for (int seed = 1; seed <= jobs; ++seed) {
    const double time =
        makespan(job(fmt::format(
                     "--set transience.lifetime=exponential --set transience.options.mean={} --set "
                     "transience.start=0 --set checkpoint.options.interval=1000000 --set seed={} --force -q",
                     mean_life, seed)),
                 "out");
    sum += time;
    squares += time * time;
  }
  const double mean = sum / jobs;
  const double standard_error = std::sqrt((squares / jobs - mean * mean) / (jobs - 1));
  EXPECT_LT(standard_error, 0.1 * expected);
  EXPECT_NEAR(mean, expected, 3 * standard_error);
}

/// The mean of jobs is that of the closed form: segments of work and a commit, which failures strike. The
/// last one is shorter, and has a commit, too. With lifetimes without age, `hazard` makes segments of the
/// optimal interval, rounded up to whole rounds, as `optimal` does.
TEST_F(LongSimulatedRestarts, TheMeanMakespanIsThatOfTheClosedForm) {
  const double round = round_s();
  const Seconds mtbf(15.0);
  const checkpointing::Costs costs{.commit = Seconds(2), .load = Seconds(1), .downtime = Seconds(3)};
  constexpr int rounds = 40, jobs = 24;
  const double optimum = checkpointing::optimal_interval(costs.commit, mtbf).count() / round;
  const auto makespan_with = [&](const std::string& policy, const std::string& options, int seed) {
    return makespan(
        job(fmt::format("--set transience.lifetime=exponential --set transience.options.mean={} --set "
                        "transience.start=3 --set stop.rounds={} --set seed={} --set checkpoint.policy={} "
                        "--set 'checkpoint.options={{{}}}' --force -q",
                        mtbf.count(), rounds, seed, policy, options),
            true),
        "out");
  };
  std::map<std::string, std::vector<double>> times;
  for (const auto& [policy, options, segment] :
       {std::tuple("fixed", "interval: 4", 4.0), std::tuple("hazard", "cost_s: 2", std::ceil(optimum))}) {
    SCOPED_TRACE(policy);
    double expected = 0.0;
    for (double done = 0.0; done < rounds; done += segment) {
      const Seconds work(round * std::min(segment, rounds - done));
      // There is nothing to load before the first commit.
      const Seconds load = done == 0.0 ? Seconds(0) : costs.load;
      expected += checkpointing::segment_time(work, {costs.commit, load, costs.downtime}, mtbf).count();
    }
    auto& own = times[policy];
    for (int seed = 1; seed <= jobs; ++seed) own.push_back(makespan_with(policy, options, seed));
    double mean = 0, squares = 0;
    for (const double time : own) mean += time / jobs;
    for (const double time : own) squares += (time - mean) * (time - mean) / (jobs - 1);
    const double standard_error = std::sqrt(squares / jobs);
    EXPECT_LT(standard_error, 0.15 * expected);
    EXPECT_NEAR(mean, expected, 3 * standard_error);
  }
  for (int seed = 1; seed <= 6; ++seed)
    EXPECT_EQ(makespan_with("optimal", "mtbf_s: 15, cost_s: 2", seed),
              times["hazard"][static_cast<std::size_t>(seed - 1)]);
}

TEST_F(SimulatedRestarts, RestartsAreLimited) {
  expect_in("the machine of worker 0 on 'a' departed (revoked)",
            refuses("simulate " + job(lives("2.5,2.5,2.5") + "--set recovery.restarts=2") + " --out out",
                    "does not start again after 2 restarts (recovery.restarts)", 70));
}

TEST_F(SimulatedRestarts, AJobWithoutMachinesGivesUp) {
  refuses("simulate " + job(trace("2.5 remove a")) + " --out out",
          "the job gives up: no machine can be had any more for worker 0", 70);
  EXPECT_EQ(line_.shell("cut -d, -f2,4,5 out/membership.csv | grep ,a, | paste -sd ' '").output,
            "0,a,joined 0,a,departed 0,a,noticed 0,a,requested 0,a,refused\n");
}

TEST_F(SimulatedRestarts, ImpossibleJobsAreRefused) {
  const std::string departs = lives("5");
  for (const auto& [settings, why] : std::vector<std::pair<std::string, std::string>>{
           {departs + "--set recovery.policy=replace", "'recovery.policy': expected restart"},
           {departs + "--set recovery.least=3",
            "'recovery.least': expected at most 1, the number of workers"},
           {departs + "--set recovery.options.replace=false", "'recovery.options.replace': expected true"},
           {departs + "--set sync.over=server --set stop.seconds=5",
            "'stop.seconds': expected stop.rounds or stop.epochs"},
           {departs + "--fidelity smpi", "does not start jobs again"},
           {"--set recovery.mode=in-place --set run.revoke=kill", "'run.revoke': expected none"}}) {
    refuses("simulate " + job(settings) + " --out out", why);
    EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out"));
  }
}

/// Servers of workers at different speeds commit without them: a commit counts when all have written their
/// records, and until then the one before stays, however short the time between commits is. The same where
/// all commits stay.
TEST_F(LongSimulatedRestarts, AsynchronousJobsLoseNoCommit) {
  const std::string two_servers = " --set placement.servers=[server,node-4]";
  for (const auto& [servers, keep] : std::vector<std::pair<std::string, int>>{{two_servers, 1}, {"", 0}}) {
    SCOPED_TRACE(fmt::format("checkpoint.keep {}{}", keep, servers));
    const std::string words =
        experiment(
            60,
            "--set sync.algorithm=asp --set checkpoint.policy=fixed --set checkpoint.options.interval=1 "
            "--set evaluate_every=0 --set recovery.mode=restart --set recovery.policy=restart") +
        servers + fmt::format(" --set checkpoint.keep={}", keep);
    const Results whole = simulate(words, "whole");
    const double dies_s = 0.6 * whole.summary.makespan_s;
    const Results all = simulate(words + " " + lives(fmt::format("{}", dies_s)), "out");
    const auto before = std::ranges::count_if(
        whole.journal.commits, [&](const CommitRecord& commit) { return commit.ended < Seconds(dies_s); });
    ASSERT_EQ(all.info.generations.size(), 2U);
    EXPECT_GT(before, 20);
    // All workers push in a round or two.
    EXPECT_GE(all.info.generations[1].round, before - 3);
    for (const char* out : {"whole", "out"}) {
      if (keep == 0) continue;
      EXPECT_EQ(line_.shell(fmt::format("ls {}/checkpoints | grep -c 'server_0.state'", out)).output, "1\n")
          << out;
    }
    std::filesystem::remove_all(line_.folder() / "whole");
    std::filesystem::remove_all(line_.folder() / "out");
  }
}

/// The shipped study: means over its seeds are those that its notes state, and the best interval is next to
/// the optimal one.
TEST_F(LongSimulatedRestarts, TheShippedStudyAgreesWithTheClosedForm) {
  succeeds("study " + testing::source_folder() + "/workloads/studies/checkpoint.yaml --out study -q");
  const auto report = nlohmann::json::parse(contents("study/report.json"));
  const std::map<std::string, double> expected = {{"every-1", 1368},  {"every-2", 1221},  {"every-5", 1147},
                                                  {"every-10", 1149}, {"every-25", 1234}, {"every-75", 1675},
                                                  {"optimal", 1143}};
  std::map<double, std::string> by_mean;
  for (const auto& own : report.at("seeds")) {
    const std::string name = own.at("name");
    ASSERT_TRUE(expected.contains(name)) << name;
    const double mean = own.at("makespan_s").at("mean"), deviation = own.at("makespan_s").at("deviation");
    // `optimal` learns the cost of a commit again in each generation.
    const double margin = name == "optimal" ? 0.01 * expected.at(name) : 3 * deviation / std::sqrt(16.0);
    EXPECT_NEAR(mean, expected.at(name), margin) << name;
    if (name != "optimal") by_mean[mean] = name;
  }
  ASSERT_EQ(by_mean.size(), expected.size() - 1);
  EXPECT_TRUE(by_mean.begin()->second == "every-5" || by_mean.begin()->second == "every-10")
      << by_mean.begin()->second;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
