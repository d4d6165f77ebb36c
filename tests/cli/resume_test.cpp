// `tandem simulate --resume`: the same result as the uninterrupted job, and what is rejected.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/cli/resume_jobs.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using LongResumeJobs = ResumeJobs;

class ResumeWithoutTiming : public ResumeJobs, public ::testing::WithParamInterface<std::string> {};

TEST_P(ResumeWithoutTiming, EndsLikeTheUninterruptedJob) {
  succeeds("simulate " + experiment(8, GetParam()) + " --out whole");
  succeeds("simulate " + experiment(4, GetParam()) + " --out first");
  const std::string told = succeeds("simulate --resume first/ --set stop.rounds=8");
  EXPECT_NE(told.find("resuming from round 4 of "), std::string::npos) << told;
  EXPECT_EQ(told.find("may differ"), std::string::npos) << told;
  expect_same_end("whole", "first-resumed", 4);
}

struct WithoutTiming {
  std::vector<std::string> each_kind;  ///< of state, once
  std::vector<std::string> others;
};

/// Every algorithm over every route, and then all state that a rank must save: moments of each kind, the
/// position of a schedule, a worker's own batch statistics, the random state of dropout, prefetched batches.
WithoutTiming without_timing() {
  const std::string momentum =
      " --set optimizer.momentum=0.9 --set optimizer.nesterov=true --set optimizer.schedule=step"
      " --set optimizer.step_every=3 --set optimizer.warmup_rounds=5";
  const std::string adam =
      " --set optimizer.kind=adamw --set optimizer.learning_rate=0.001 --set optimizer.schedule=cosine"
      " --set optimizer.cosine_rounds=9 --set optimizer.warmup_rounds=2";
  const std::string with_dropout =
      " --set workload.model=mobilenet-v2 --set workload.image_size=32 --set workload.batch=2"
      " --set workload.test_samples=4 --set placement.workers=[node-1,node-2]";
  const std::string two_shards = " --set placement.servers=[server,node-4]";
  // Three rounds each, so a job is interrupted in the second.
  const std::string short_epochs = " --set workload.train_samples=80";
  const std::string importance =
      "--set data.sampling=importance --set data.sampling_options.warm_up=1 --set "
      "data.sampling_options.history=8" +
      short_epochs;
  const std::string by_means = " --set optimizer.update_at=workers";
  const std::vector<std::string> each_kind = {
      two_shards + momentum, two_shards + momentum + by_means + " --set sync.compression=top-k",
      "--set sync.algorithm=d-psgd --set sync.over=peers --set sync.options.global_every=3" + adam,
      "--set sync.over=all-reduce --set sync.average_statistics=false" + with_dropout + adam};
  std::vector<std::string> all = {
      two_shards + adam,
      "--set sync.algorithm=slowmo --set sync.options.h=3" + two_shards + momentum,
      "--set sync.algorithm=diloco --set sync.options.h=3 --set sync.over=all-reduce" + adam,
      "--set sync.algorithm=easgd --set sync.over=all-reduce" + momentum,
      "--set sync.algorithm=post-local-sgd --set sync.options.switch_round=6" + adam,
      "--set sync.algorithm=group-average --set sync.over=all-reduce" + momentum,
      "--set data.source=storage --set placement.cache_nodes=[server] --set data.prefetch=3" + momentum,
      "--set data.sampling=shuffled --set sync.over=all-reduce" + short_epochs + momentum,
      importance + two_shards + momentum,
      importance + " --set data.sampling_options.lag=1" + momentum,
      two_shards + adam + by_means + " --set sync.overlap=both",
      "--set sync.average_statistics=false" + with_dropout + momentum + by_means +
          " --set optimizer.learning_rate=0.0001",
      with_dropout + momentum + " --set optimizer.learning_rate=0.0001",
      "--set sync.pull=requested --set placement.evaluator=first-worker" + two_shards + momentum,
      "--set sync.exchange=by-key --set workload.bucket_bytes=100kB" + two_shards + adam,
      "--set sync.exchange=by-key --set sync.algorithm=slowmo --set sync.options.h=3" + momentum,
      "--set placement.evaluator=first-worker --set sync.over=all-reduce" + momentum};
  for (const char* compression : {"random-k", "power-sgd", "qsgd"})
    for (const std::string over : {"all-reduce", "server --set placement.servers=[server,node-4]"})
      all.push_back("--set sync.compression=" + (compression + (" --set sync.over=" + over)) + momentum);
  for (const auto& algorithm : sync::catalog().entries())
    for (const auto route : algorithm.make.routes)
      if (!algorithm.make.timing_driven) all.push_back(settings_for(algorithm, route) + momentum);
  return {each_kind, all};
}
INSTANTIATE_TEST_SUITE_P(EachKind, ResumeWithoutTiming, ::testing::ValuesIn(without_timing().each_kind));
INSTANTIATE_TEST_SUITE_P(LongOthers, ResumeWithoutTiming, ::testing::ValuesIn(without_timing().others));

/// With prefetching, the saved state is the one before the batch that has been loaded but not used.
class ResumeOnGpus : public ResumeJobs, public ::testing::WithParamInterface<std::string> {};

TEST_P(ResumeOnGpus, EndsLikeTheUninterruptedJob) {
  std::ifstream lab(testing::source_folder() + "/platforms/mixed_lab.xml");
  const std::string hosts(std::istreambuf_iterator<char>(lab), {});
  const std::string gpus = line_.write(
      "gpus.xml",
      std::regex_replace(hosts, std::regex("(<host id=[^>]*>)"), "$1<prop id=\"tandem:gpu\" value=\"0\"/>"));
  const std::string settings = "--set platform=" + gpus + " " + GetParam();
  succeeds("simulate " + experiment(8, settings) + " --out whole");
  succeeds("simulate " + experiment(4, settings) + " --out first");
  succeeds("simulate --resume first --set stop.rounds=8 --out second");
  expect_same_end("whole", "second", 4);
}

INSTANTIATE_TEST_SUITE_P(
    Prefetching, ResumeOnGpus,
    ::testing::Values(
        "--set data.source=storage --set placement.cache_nodes=[server] --set data.prefetch=3"));
INSTANTIATE_TEST_SUITE_P(LongOthers, ResumeOnGpus,
                         ::testing::Values("--set optimizer.momentum=0.9", "--set sync.algorithm=local-sgd"));

/// The warm-up belongs to the whole job: a warm-up that lasts beyond the interruption reaches the full rate
/// in the same round as without it, whichever role steps the model, and the decay begins in the same round
/// too.
class ResumeInWarmup : public ResumeJobs, public ::testing::WithParamInterface<std::string> {};

TEST_P(ResumeInWarmup, EndsLikeTheUninterruptedJob) {
  const std::string settings =
      "--set optimizer.warmup_rounds=7 --set optimizer.learning_rate=0.2 " + GetParam();
  succeeds("simulate " + experiment(10, settings) + " --out whole");
  succeeds("simulate " + experiment(2, settings) + " --out first");
  succeeds("simulate --resume first --set stop.rounds=4 --out second");
  succeeds("simulate --resume second --set stop.rounds=10 --out third");
  expect_same_end("whole", "third", 4);
  succeeds("simulate " + experiment(10, settings + " --set optimizer.warmup_rounds=0") + " --out abrupt");
  EXPECT_FALSE(contents("whole/model.pt") == contents("abrupt/model.pt")) << "the warm-up has no effect";
}

INSTANTIATE_TEST_SUITE_P(
    LongAll, ResumeInWarmup,
    ::testing::Values(
        "--set optimizer.momentum=0.9",
        "--set sync.over=all-reduce --set optimizer.schedule=cosine"
        " --set optimizer.cosine_rounds=9",
        "--set sync.algorithm=local-sgd --set optimizer.schedule=step --set optimizer.step_every=2",
        "--set sync.algorithm=slowmo --set sync.options.h=3 --set sync.over=all-reduce",
        "--set sync.algorithm=d-psgd --set sync.over=peers --set optimizer.momentum=0.9",
        "--set sync.algorithm=asp --set placement.workers=[node-1]"));

class ResumeByTiming : public ResumeJobs, public ::testing::WithParamInterface<std::string> {};

/// No worker waits for a lost message, and all counters continue.
TEST_P(ResumeByTiming, ContinuesToItsEnd) {
  succeeds("simulate " + experiment(5, GetParam()) + " --out first");
  const std::string told = succeeds("simulate --resume first --set stop.rounds=8 --out second");
  EXPECT_NE(told.find("may differ from an uninterrupted job"), std::string::npos) << told;
  const Results first = results("first"), second = results("second");
  const int round = second.info.resumed.at("round").get<int>();
  EXPECT_GE(round, 2);
  std::map<Rank, int> steps;
  for (const auto& step : second.journal.steps) {
    EXPECT_TRUE(std::isfinite(step.loss));
    const auto [found, is_first] = steps.emplace(step.rank, step.step);
    if (!is_first) {
      EXPECT_EQ(step.step, ++found->second);
    }
  }
  EXPECT_EQ(steps.size(), 4U) << "all workers continue";
  ASSERT_FALSE(second.journal.evaluations.empty());
  EXPECT_GT(second.journal.evaluations.front().round, round);
  EXPECT_GE(second.journal.evaluations.back().round, 8);
  const auto before = std::ranges::find(first.journal.evaluations, round, &EvaluationRecord::round);
  ASSERT_NE(before, first.journal.evaluations.end());
  EXPECT_GT(second.journal.evaluations.front().samples, before->samples);
}

std::vector<std::string> others_by_timing() {
  std::vector<std::string> all = {
      "--set sync.algorithm=dynsgd --set sync.options.staleness=2",
      "--set sync.algorithm=ssp --set sync.pull=requested --set placement.servers=[server,node-4]",
      "--set sync.algorithm=lb-bsp --set optimizer.update_at=workers --set optimizer.momentum=0.9",
      "--set sync.algorithm=k-batch-sync --set sync.options.k=3 --set placement.servers=[server,node-4]",
      "--set sync.algorithm=easgd-async --set optimizer.momentum=0.9 --set "
      "placement.servers=[server,node-4]"};
  for (const auto& algorithm : sync::catalog().entries())
    for (const auto route : algorithm.make.routes)
      if (algorithm.make.timing_driven) all.push_back(settings_for(algorithm, route));
  return all;
}
INSTANTIATE_TEST_SUITE_P(Ssp, ResumeByTiming,
                         ::testing::Values("--set sync.algorithm=ssp --set sync.options.staleness=1 --set "
                                           "placement.servers=[server,node-4]"));
INSTANTIATE_TEST_SUITE_P(LongOthers, ResumeByTiming, ::testing::ValuesIn(others_by_timing()));

/// Resumed servers restore the state of their policy: here the number of steps of the current round.
TEST_F(ResumeJobs, AnAdaptivePolicyIsRestored) {
  const std::string words = experiment(
      4, "--set sync.algorithm=adacomm --set sync.options.tau=8 --set sync.options.period_s=0.001");
  succeeds("simulate " + words + " --out first");
  succeeds("simulate --resume first --set stop.rounds=6 --decisions --out second");
  const auto steps_of_round = [this](const std::string& directory, int round) {
    const Results all = results(directory);
    return std::ranges::count_if(all.journal.steps,
                                 [&](const auto& step) { return step.rank == 0 && step.round == round; });
  };
  EXPECT_EQ(steps_of_round("first", 0), 8);
  EXPECT_LT(steps_of_round("second", 4), 8);
  EXPECT_LE(steps_of_round("second", 4), steps_of_round("first", 3));
  const Results second = results("second");
  const auto count = [&](const std::string& side, const std::string& event) {
    return std::ranges::count_if(second.journal.decisions, [&](const auto& record) {
      return record.side == side && record.event.starts_with(event);
    });
  };
  EXPECT_EQ(count("server", "push"), 4 * 2);
  EXPECT_EQ(count("server", "restore"), 1) << "replaying the run needs its initial state";
  EXPECT_EQ(contents("second/checkpoints/server_0.events").find("restore "), 0U);
}

/// If a new policy and the workers counted versions from different origins, no push would ever be late.
TEST_F(ResumeJobs, LatePushesAreStillDropped) {
  const std::string backups = "--set sync.algorithm=k-sync --set sync.options.k=2";
  succeeds("simulate " + experiment(12, backups) + " --out first");
  succeeds("simulate --resume first --resume-from 6 --set stop.rounds=20 --out second");
  EXPECT_GT(results("first").summary.at("dropped_samples").get<std::int64_t>(), 0);
  EXPECT_GT(results("second").summary.at("dropped_samples").get<std::int64_t>(), 0);
}

/// Workers that had left before the checkpoint take part again.
TEST_F(LongResumeJobs, WorkersThatHadLeftRejoin) {
  const std::string words = line_.experiment("evaluate_every: 1\n") +
                            " --set sync.algorithm=ssp --set sync.options.staleness=100"
                            " --set stop.rounds=0 --set stop.epochs=";
  for (const char* epochs : {"0.9", "0.95", "1.01"}) {
    const std::string folder = std::string("first-") + epochs;
    succeeds("simulate " + words + epochs + " --out " + folder);
    succeeds("simulate --resume " + folder + " --set stop.epochs=2 --out " + folder + "-on");
  }
}

/// With one worker the result does not depend on time.
TEST_F(LongResumeJobs, DelayCompensationUsesTheSameBackup) {
  const std::string one = "--set sync.algorithm=dc-asgd-mxnet --set placement.workers=[node-1]";
  succeeds("simulate " + experiment(8, one) + " --out whole");
  succeeds("simulate " + experiment(4, one) + " --out first");
  succeeds("simulate --resume first --set stop.rounds=8 --out second");
  expect_same_end("whole", "second", 4);
}

/// Every worker continues its random draws at the step from which it resumes. With a third of the steps slow,
/// equal durations of so many steps cannot be a coincidence.
TEST_F(LongResumeJobs, StepsAreAsSlowAsInTheUninterruptedJob) {
  for (const std::string overlap : {"backward", "both"}) {
    const std::string slow =
        "--set run.slowdown_probability=0.3 --set run.slowdown_factor=20 --set sync.overlap=" + overlap;
    succeeds("simulate " + experiment(30, slow) + " --out whole-" + overlap);
    succeeds("simulate " + experiment(12, slow) + " --out first-" + overlap);
    succeeds("simulate --resume first-" + overlap + " --set stop.rounds=30 --out second-" + overlap);
    expect_same_end("whole-" + overlap, "second-" + overlap, 12);
    std::map<std::pair<Rank, int>, StepRecord> whole;
    for (const auto& step : results("whole-" + overlap).journal.steps) whole[{step.rank, step.step}] = step;
    for (const auto& step : results("second-" + overlap).journal.steps) {
      const StepRecord& same = whole.at({step.rank, step.step});
      const std::string which =
          overlap + ", rank " + std::to_string(step.rank) + " step " + std::to_string(step.step);
      EXPECT_NEAR(step.duration().count(), same.duration().count(), 1e-6 * same.duration().count()) << which;
      for (const Phase phase : {Phase::load, Phase::forward, Phase::backward}) {
        const double expected = same.phases[static_cast<std::size_t>(phase)].count();
        EXPECT_NEAR(step.phases[static_cast<std::size_t>(phase)].count(), expected, 1e-6 * expected) << which;
      }
    }
  }
}

TEST_F(ResumeJobs, ASymbolicLinkToTheJobIsRecognised) {
  succeeds("simulate " + experiment(2) + " --out first");
  std::filesystem::create_directory_symlink("first", line_.folder() / "link");
  const auto refused = line_.tandem("simulate --resume link --set stop.rounds=4 --out first --force");
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "first/model.pt"));
}

// ---- Interruptions ----

/// Each worker's state holds its own part of the common model: with one state missing, the workers' models
/// would diverge.
TEST_F(ResumeJobs, UpdatesAtWorkersNeedTheStatesOfAllWorkers) {
  const std::string words = "--set sync.algorithm=lb-bsp --set optimizer.update_at=workers";
  succeeds("simulate " + experiment(4, words) + " --out first");
  std::filesystem::remove(line_.folder() / "first/checkpoints/round_00000004.worker_2.state");
  succeeds("simulate --resume first --set stop.rounds=6 --out second");
  EXPECT_EQ(results("second").info.resumed.at("round"), 2);
}

TEST_F(LongResumeJobs, AKilledSimulationResumesFromItsLatestCompleteCheckpoint) {
  const auto killed = line_.shell(
      "\"$TANDEM\" simulate " + experiment(1000000, "--set optimizer.momentum=0.9") +
      " --out killed & job=$!; "
      "while [ ! -e killed/checkpoints/round_00000006.pt ]; do kill -0 $job || exit 9; sleep 0.02; done; "
      "kill -KILL $job; wait $job; [ -e killed/INCOMPLETE ]");
  ASSERT_EQ(killed.exit_code, 0) << killed.output;
  const std::string newest =
      line_
          .shell(
              "ls killed/checkpoints | sed -n 's/^round_0*\\([1-9][0-9]*\\)[.]pt$/\\1/p' | sort -n | tail -1")
          .output;
  const int end = std::stoi(newest) + 3;
  succeeds("simulate " + experiment(end, "--set optimizer.momentum=0.9") + " --out whole");
  succeeds("simulate --resume killed --out resumed --set stop.rounds=" + std::to_string(end));
  const int round = results("resumed").info.resumed.at("round").get<int>();
  EXPECT_GE(round, 4);
  expect_same_end("whole", "resumed", round);
}

TEST_F(ResumeJobs, IncompleteCheckpointsAreSkipped) {
  succeeds("simulate " + experiment(6) + " --out whole");
  succeeds("simulate " + experiment(4) + " --out first");
  const auto state = line_.folder() / "first/checkpoints/round_00000004.worker_2.state";
  std::filesystem::resize_file(state, std::filesystem::file_size(state) - 1);
  const std::string told = succeeds("simulate --resume first --out second --set stop.rounds=6");
  EXPECT_NE(told.find("the checkpoint of round 4 cannot be used: state '"), std::string::npos) << told;
  EXPECT_NE(told.find("resuming from round 2 of "), std::string::npos) << told;
  expect_same_end("whole", "second", 2);
  const auto refused =
      line_.tandem("simulate --resume first --resume-from 4 --out third --set stop.rounds=6");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.output.find("round_00000004.worker_2.state': incomplete: expected "), std::string::npos)
      << refused.output;
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "third"));
}

TEST_F(ResumeJobs, ATruncatedModelIsNamedAndAnEarlierOneIsTaken) {
  succeeds("simulate " + experiment(4) + " --out first");
  const auto model = line_.folder() / "first/checkpoints/round_00000004.pt";
  std::filesystem::resize_file(model, std::filesystem::file_size(model) / 2);
  const std::string told = succeeds("simulate --resume first --out second --set stop.rounds=6");
  EXPECT_NE(told.find("the checkpoint of round 4 cannot be used: checkpoint '"), std::string::npos) << told;
  EXPECT_NE(told.find("round_00000004.pt' is corrupt"), std::string::npos) << told;
  EXPECT_NE(told.find("resuming from round 2 of "), std::string::npos) << told;
}

TEST_F(LongResumeJobs, AResumedJobCanBeResumedAgain) {
  succeeds("simulate " + experiment(8, "--set optimizer.momentum=0.9") + " --out whole");
  succeeds("simulate " + experiment(2, "--set optimizer.momentum=0.9") + " --out first");
  succeeds("simulate --resume first --set stop.rounds=4 --out second");
  succeeds("simulate --resume second --set stop.rounds=8 --out third");
  expect_same_end("whole", "third", 4);
}

TEST_F(ResumeJobs, TheExperimentMayBeRepeated) {
  succeeds("simulate " + experiment(4) + " --out first");
  succeeds("simulate " + experiment(6) + " --resume first --out second");
  EXPECT_EQ(results("second").journal.evaluations.back().round, 6);
}

TEST_F(ResumeJobs, AnOptionUnknownToAnOlderVersionHasItsDefault) {
  const std::string esync = "--set sync.algorithm=esync";
  succeeds("simulate " + experiment(2, esync) + " --out first");
  const auto older =
      line_.shell("sed -i '/\"epsilon_share\"/d' first/job.json && grep -c epsilon_s first/job.json");
  ASSERT_EQ(older.output, "1\n") << "the line of epsilon_s itself remains";
  succeeds("simulate --resume first --set stop.rounds=4 --out second");
  EXPECT_EQ(results("second").journal.evaluations.back().round, 4);
}

// ---- Rejected requests ----

class ResumeRefuses : public ResumeJobs {
 protected:
  void refuses(const std::string& words, const std::string& expected) const {
    const auto result = line_.tandem("simulate " + words);
    EXPECT_EQ(result.exit_code, 2) << words;
    EXPECT_NE(result.output.find(expected), std::string::npos) << words << '\n' << result.output;
  }
};
using LongResumeRefuses = ResumeRefuses;

TEST_F(ResumeRefuses, AnotherJob) {
  succeeds("simulate " + experiment(2) + " --out first");
  const std::string more = " --resume first --out second --set stop.rounds=4";
  refuses("--set optimizer.learning_rate=0.5" + more,
          "expected the same job (only stop and placement may change), found optimizer.learning_rate 0.5 "
          "instead of 0.01");
  refuses("--set sync.algorithm=asp" + more, "found sync.algorithm \"asp\" instead of \"bsp\"");
  refuses(experiment(4, "--set workload.model=lenet") + " --resume first --out second",
          "workload.model \"lenet\" instead of \"mlp\"");
  refuses("--set sync.algorthm=asp" + more, "unknown key 'sync.algorthm'");
  refuses("--variant x" + more, "--variant: expected an experiment file");
  refuses(experiment(4) + " --resume nowhere", "expected the result directory of an earlier job, found none");
  refuses(experiment(4) + " --resume first/job.json/x",
          "expected the result directory of an earlier job, found");
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "second"));
}

TEST_F(LongResumeRefuses, AJobWithoutCheckpoints) {
  succeeds("simulate " + experiment(2, "--set workload.math=modelled") + " --out modelled");
  refuses("--resume modelled --set stop.rounds=4", "found workload.math modelled");
  succeeds("simulate " + experiment(2, "--set evaluate_every=0") + " --out unwatched");
  refuses("--resume unwatched --set stop.rounds=4", "found evaluate_every 0");
  succeeds("simulate " + experiment(2) + " --out first");
  refuses("--resume first", "already finished at round 2 with 64 samples");
  refuses("--resume first --resume-from 4 --set stop.rounds=6",
          "round_00000004.server_0.state': cannot be opened");
  refuses("--resume nowhere", "expected the result directory of an earlier job, found none; give the folder");
  refuses("--resume .", "expected job.json in it, found none");
  refuses("--out out", "expected an experiment file, or --resume DIR, found neither");
  refuses(experiment(2) + " --resume-from 2", "--resume");
}

TEST_F(LongResumeRefuses, InvalidCheckpoints) {
  succeeds("simulate " + experiment(2) + " --out first");
  succeeds("simulate " + experiment(2, "--set workload.model=lenet") + " --out other");
  const auto checkpoint = [this](const std::string& directory) {
    return line_.folder() / directory / "checkpoints/round_00000002.pt";
  };
  std::filesystem::copy_file(checkpoint("other"), checkpoint("first"),
                             std::filesystem::copy_options::overwrite_existing);
  refuses("--resume first --set stop.rounds=4",
          "expected a complete checkpoint in it, found none; the checkpoint of round 2 cannot be used: "
          "checkpoint of model "
          "'lenet'");
  std::filesystem::remove(checkpoint("first"));
  refuses("--resume first --set stop.rounds=4", "expected a complete checkpoint in it, found none");
}

/// If the policy of one server cannot be restored, no role starts.
TEST_F(LongResumeRefuses, PoliciesThatCannotBeRestored) {
  succeeds("simulate " + experiment(4, "--set placement.servers=[server,node-4]") + " --out first");
  const std::string name = "first/checkpoints/round_00000004.server_1.state";
  const std::string whole = contents(name);
  const auto replace = [&](const std::string& old, const std::string& text) {
    ASSERT_NE(whole.find(old), std::string::npos) << old;
    std::ofstream(line_.folder() / name, std::ios::binary)
        << std::string(whole).replace(whole.find(old), old.size(), text);
  };
  const std::string at_four = "--resume first --set stop.rounds=6 --resume-from 4 --out second";
  replace("active=1111", "active=11x1");
  refuses(at_four, "server_1.state': policy state: malformed value of 'active': '11x1'");
  replace("\"active=", "\"action=");
  refuses(at_four, "server_1.state': policy state: expected a value 'active', found none");
  replace("\"policy\"", "\"police\"");
  refuses(at_four, "server_1.state': expected a text 'policy', found none");
  std::filesystem::remove(line_.folder() / "first/checkpoints/round_00000002.server_1.state");
  refuses(
      "--resume first --set stop.rounds=6 --out second",
      "expected a complete checkpoint in it, found none; the checkpoint of round 4 cannot be used: state '");
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "second"));
}

/// As with a truncated state file.
TEST_F(LongResumeJobs, APolicyThatCannotBeRestoredFallsBackToAnOlderCheckpoint) {
  succeeds("simulate " + experiment(6) + " --out whole");
  succeeds("simulate " + experiment(4) + " --out first");
  const std::string name = "first/checkpoints/round_00000004.server_0.state";
  std::string state = contents(name);
  state.replace(state.find("active=1111"), 11, "active=11x1");
  std::ofstream(line_.folder() / name, std::ios::binary) << state;
  succeeds("simulate --resume first --out second --set stop.rounds=6");
  expect_same_end("whole", "second", 2);
}

/// Event logs are for audit only: a job resumes from the states of its policies.
TEST_F(LongResumeJobs, EventLogsAreNotNeeded) {
  succeeds("simulate " + experiment(6) + " --out whole");
  succeeds("simulate " + experiment(4) + " --out first");
  ASSERT_TRUE(std::filesystem::remove(line_.folder() / "first/checkpoints/server_0.events"));
  succeeds("simulate --resume first --out second --set stop.rounds=6");
  expect_same_end("whole", "second", 4);
}

TEST_F(ResumeRefuses, OverwritingItsInput) {
  succeeds("simulate " + experiment(2) + " --out first");
  for (const char* out : {"first", "./first/", "."})
    refuses(std::string("--resume first --set stop.rounds=4 --force --out ") + out,
            "found one that contains it");
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "first/checkpoints/round_00000002.pt"));
}

TEST_F(LongResumeRefuses, AChangedSchedule) {
  succeeds("simulate " + experiment(4, "--set optimizer.schedule=cosine") + " --out first");
  refuses("--resume first --set stop.rounds=8", "optimizer.cosine_rounds is 0");
  succeeds("simulate --resume first --resume-from 2 --out second");
  expect_same_end("first", "second", 2);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
