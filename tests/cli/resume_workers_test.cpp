// `tandem simulate --resume` with another number of workers or other hosts: what is kept, dropped and
// counted.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "policies/sync/policy.hpp"
#include "tests/cli/resume_jobs.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

const std::string two = " --set placement.worker_count=2 ";

class ResumeWorkers : public ResumeJobs {
 protected:
  /// Writes the states of `from` at one round into those of `to` at another: their vectors, not their
  /// counters.
  void copy_states(const std::string& from, int round, const std::string& to, int to_round) const {
    const auto path = [this](const std::string& directory, int number, const std::string& rest) {
      return line_.folder() / directory / "checkpoints" / fmt::format("round_{:08}{}", number, rest);
    };
    std::filesystem::copy_file(path(from, round, ".pt"), path(to, to_round, ".pt"),
                               std::filesystem::copy_options::overwrite_existing);
    for (const std::string rank : {".server_0.state", ".worker_0.state", ".worker_1.state"}) {
      if (!std::filesystem::exists(path(to, to_round, rank))) continue;
      const std::string vectors = text_of(path(from, round, rank)),
                        counters = text_of(path(to, to_round, rank));
      std::ofstream(path(to, to_round, rank), std::ios::binary)
          << counters.substr(0, counters.find('\n')) << vectors.substr(vectors.find('\n'));
    }
  }
  static std::vector<double> losses_of(const Results& results, Rank rank) {
    std::vector<double> losses;
    for (const auto& step : results.journal.steps)
      if (step.rank == rank) losses.push_back(step.loss);
    return losses;
  }
  /// The samples that a worker took, in order.
  static std::vector<std::int64_t> samples_of(const Results& results, Rank rank) {
    std::vector<std::int64_t> ids;
    for (const auto& row : results.journal.losses)
      if (row.rank == rank) ids.push_back(row.id);
    return ids;
  }
};

using LongResumeWorkers = ResumeWorkers;

class SameStates : public ResumeWorkers, public ::testing::WithParamInterface<std::string> {};

/// Two workers that trained by themselves get, at the end of the same epoch, the states of four: from there
/// on both jobs are the same, but for the numbers of their rounds.
TEST_P(SameStates, TrainAsThoughTheirWorkersHadWrittenThem) {
  const std::string settings = "--set workload.train_samples=64 " + GetParam();
  succeeds("simulate " + experiment(4, settings) + " --out four");
  succeeds("simulate " + experiment(8, settings) + two + "--out two");
  copy_states("four", 4, "two", 8);
  succeeds("simulate --resume two --set stop.rounds=14 --out reference");
  expect_in("note: 2 workers instead of 4: ",
            succeeds("simulate --resume four" + two + "--set stop.rounds=10 --out changed"));
  const Results reference = results("reference"), changed = results("changed");
  for (const Rank rank : {0, 1}) {
    EXPECT_GE(losses_of(changed, rank).size(), 6U);
    EXPECT_EQ(losses_of(changed, rank), losses_of(reference, rank));
  }
  ASSERT_EQ(changed.journal.evaluations.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& found = changed.journal.evaluations[i];
    const auto& expected = reference.journal.evaluations.at(i);
    EXPECT_EQ(found.loss, expected.loss);
    EXPECT_EQ(found.round, expected.round - 4);
    // Both had trained on two epochs.
    EXPECT_EQ(found.samples, expected.samples);
  }
}

INSTANTIATE_TEST_SUITE_P(LocalSgd, SameStates,
                         ::testing::Values("--set optimizer.momentum=0.9 --set sync.algorithm=local-sgd"));
INSTANTIATE_TEST_SUITE_P(
    LongOthers, SameStates,
    ::testing::Values("--set optimizer.momentum=0.9",
                      "--set optimizer.momentum=0.9 --set sync.over=all-reduce",
                      "--set optimizer.momentum=0.9 --set optimizer.update_at=workers",
                      "--set sync.algorithm=slowmo --set sync.over=all-reduce --set sync.options.h=2",
                      "--set sync.compression=top-k --set optimizer.momentum=0.9",
                      "--set sync.compression=top-k --set sync.over=all-reduce",
                      "--set data.sampling=shuffled --set optimizer.momentum=0.9"));

class ContinuesWithOthers : public ResumeWorkers, public ::testing::WithParamInterface<std::string> {};

/// With fewer workers, with more, and again with as many as at first.
TEST_P(ContinuesWithOthers, ToItsEnd) {
  succeeds("simulate " + experiment(5, GetParam()) + " --out four");
  std::string last = "four";
  for (const auto& [workers, rounds] : {std::pair<std::string, int>{"[node-1,node-2]", 8},
                                        {"[node-1,node-2,node-3,node-6,node-4]", 11},
                                        {"[node-6,node-3,node-2,node-1]", 14}}) {
    const std::string next = last + "-" + std::to_string(rounds);
    succeeds("simulate --resume " + last + " --set placement.workers=" + workers +
             " --set stop.rounds=" + std::to_string(rounds) + " --out " + next);
    const Results before = results(last), after = results(next);
    const auto round = static_cast<int>(after.info.resumed.value().round);
    const auto known = std::ranges::find(before.journal.evaluations, round, &EvaluationRecord::round);
    ASSERT_NE(known, before.journal.evaluations.end()) << next;
    ASSERT_FALSE(after.journal.evaluations.empty()) << next;
    EXPECT_GT(after.journal.evaluations.front().round, round);
    EXPECT_GT(after.journal.evaluations.front().samples, known->samples);
    EXPECT_GE(after.journal.evaluations.back().round, rounds - 1);
    std::set<Rank> ranks;
    for (const auto& step : after.journal.steps) {
      EXPECT_TRUE(std::isfinite(step.loss));
      ranks.insert(step.rank);
    }
    EXPECT_EQ(ranks.size(), 1U + static_cast<std::size_t>(std::ranges::count(workers, ',')));
    last = next;
  }
}

/// Every algorithm whose workers have a common model, in one row: the first ones with more that has a state.
std::vector<std::string> of_common_models() {
  std::vector<std::string> all = {
      "--set sync.algorithm=ssp --set placement.servers=[server,node-5]",
      "--set sync.algorithm=bsp --set placement.servers=[server,node-5] --set optimizer.kind=adam",
      "--set sync.algorithm=local-sgd --set data.source=storage --set placement.cache_nodes=[server] --set "
      "data.prefetch=3 --set sync.compression=power-sgd --set optimizer.momentum=0.9",
      "--set sync.compression=random-k --set sync.over=all-reduce",
      "--set sync.algorithm=esync --set sync.over=all-reduce",
      "--set sync.algorithm=slowmo --set sync.over=all-reduce --set sync.options.h=5"};
  const auto has_row = [&](const std::string& algorithm) {
    return std::ranges::any_of(all, [&](const std::string& row) {
      return (row + ' ').find("sync.algorithm=" + algorithm + ' ') != std::string::npos;
    });
  };
  for (const auto& algorithm : sync::catalog().entries())
    if (algorithm.make.payload != sync::Payload::model && algorithm.make.most_workers == 0 &&
        !algorithm.name.starts_with("easgd") && !has_row(algorithm.name))
      all.push_back(settings_for(algorithm, algorithm.make.routes.front()));
  return all;
}
INSTANTIATE_TEST_SUITE_P(LongAll, ContinuesWithOthers, ::testing::ValuesIn(of_common_models()));

/// From commits, too.
TEST_F(LongResumeWorkers, ACommitIsEnough) {
  const std::string commits =
      "--set checkpoint.policy=fixed --set checkpoint.options.interval=3 --set evaluate_every=0 ";
  for (const std::string more : {"", "--set sync.algorithm=asp", "--set sync.over=all-reduce"}) {
    const std::string name = "a" + std::to_string(more.size());
    succeeds("simulate " + experiment(5, commits + more) + " --out " + name);
    expect_in("resuming from round ",
              succeeds("simulate --resume " + name + two + "--set stop.rounds=8 --out " + name + "-two"));
    EXPECT_GE(results(name + "-two").journal.commits.size(), 1U);
  }
}

// ---- Samples ----

/// 96 samples by four workers, 80 by two, 64 by the same two in another run, the rest of the epoch by four.
TEST_F(ResumeWorkers, NoSampleIsTakenTwiceInAnEpoch) {
  for (const std::string sampling : {"shard", "shuffled"}) {
    const std::string name = sampling + "-";
    const std::string settings =
        "--set evaluate_every=1 --set placement.evaluator=server --losses --set data.sampling=" + sampling;
    succeeds("simulate " + experiment(3, settings) + " --out " + name + "a");
    const auto on = [&](const std::string& from, const std::string& to, const std::string& more) {
      return succeeds("simulate --losses --resume " + name + from + " --out " + name + to + more);
    };
    const std::string told = on("a", "b", two + "--set stop.rounds=8");
    expect_in("the 304 samples that are left of epoch 0 are dealt again", told);
    on("b", "c", " --set stop.rounds=12");
    on("c", "d", " --set placement.workers=[node-1,node-2,node-3,node-6] --set stop.rounds=19");
    std::vector<std::int64_t> taken;
    for (const auto& [run, workers, each] :
         {std::tuple<const char*, int, int>{"a", 4, 24}, {"b", 2, 40}, {"c", 2, 32}, {"d", 4, 40}}) {
      const Results all = results(name + run);
      for (Rank rank = 0; rank < workers; ++rank) {
        const auto ids = samples_of(all, rank);
        ASSERT_GE(ids.size(), static_cast<std::size_t>(each)) << run;
        taken.insert(taken.end(), ids.begin(), ids.begin() + each);
      }
    }
    std::ranges::sort(taken);
    ASSERT_EQ(taken.size(), 400U);
    for (std::size_t id = 0; id < 400; ++id) EXPECT_EQ(taken[id], static_cast<std::int64_t>(id)) << sampling;
    // Then the next epoch begins.
    const auto later = results(name + "d").journal.losses;
    EXPECT_TRUE(std::ranges::any_of(later, [](const auto& row) { return row.epoch == 1; }));
  }
}

TEST_F(LongResumeWorkers, EpochsEndWithTheSamplesThatAreLeft) {
  const std::string settings =
      " --set stop.rounds=0 --set stop.epochs=2 --set data.sampling=shuffled --set evaluate_every=1";
  succeeds("simulate " + experiment(3, "--set data.sampling=shuffled --set evaluate_every=1") + " --out a");
  succeeds("simulate --resume a" + two + "--out b --set stop.rounds=0 --set stop.epochs=2");
  std::int64_t samples = 96;
  for (const auto& step : results("b").journal.steps) samples += step.samples;
  EXPECT_EQ(samples, 800);
}

// ---- Hosts, messages ----

TEST_F(LongResumeWorkers, OtherHostsChangeOnlyTimes) {
  succeeds("simulate " + experiment(8, "--set optimizer.momentum=0.9") + " --out whole");
  succeeds("simulate " + experiment(4, "--set optimizer.momentum=0.9") + " --out first");
  expect_not_in("workers instead of",
                succeeds("simulate --resume first --set stop.rounds=8 --out second --set "
                         "placement.servers=[node-5] --set placement.workers=[node-6,node-4,node-2,node-1]"));
  expect_same_end("whole", "second", 4);
}

/// A job that starts again needs all of its workers, which are others now.
TEST_F(ResumeWorkers, AJobThatStartsAgainContinuesWithOthers) {
  const std::string restarts =
      "--set recovery.mode=restart --set recovery.policy=restart " + lifetimes("1e6;1e6");
  succeeds("simulate " + experiment(4, restarts) + " --out four");
  succeeds("simulate --resume four" + two + "--set stop.rounds=8 --out changed");
  const Results changed = results("changed");
  EXPECT_EQ(changed.info.experiment.recovery.least, 2);
  EXPECT_EQ(changed.journal.evaluations.back().round, 8);
}

TEST_F(LongResumeWorkers, WhatIsDroppedIsTold) {
  const auto told = [&](const std::string& name, const std::string& settings, const std::string& more = "") {
    succeeds("simulate " + experiment(4, settings) + " --out " + name);
    return succeeds("simulate --resume " + name + two + "--set stop.rounds=6 --out " + name + "-two" + more);
  };
  expect_in("dropped: what bsp has learnt of its workers\n", told("plain", "--set optimizer.momentum=0.9"));
  expect_in("the error feedback of 2 workers", told("top-k", "--set sync.compression=top-k"));
  expect_in("the optimiser's moments of 2 workers",
            told("local", "--set sync.algorithm=local-sgd --set optimizer.momentum=0.9"));
  expect_in("steps that were in progress, which take their samples again",
            told("asp", "--set sync.algorithm=asp"));
}

// ---- Rejected requests ----

TEST_F(LongResumeWorkers, OthersAreRefused) {
  const auto refused = [&](const std::string& name, const std::string& settings, const std::string& more,
                           const std::string& why) {
    succeeds("simulate " + experiment(4, settings) + " --out " + name);
    refuses("simulate --resume " + name + " --out no " + more, why);
    EXPECT_FALSE(std::filesystem::exists(line_.folder() / "no"));
  };
  const std::string on = two + "--set stop.rounds=8";
  refused("d-psgd", "--set sync.algorithm=d-psgd --set sync.over=peers", on,
          "expected 4 workers, as before, found 2: each worker of d-psgd has a model of its own");
  refused("easgd", "--set sync.algorithm=easgd", on, "each worker of easgd has a model of its own");
  refused("importance", "--set data.sampling=importance", on,
          "with data.sampling importance, each worker alone knows the losses of its samples");
  refused("cosine", "--set optimizer.schedule=cosine --set stop.epochs=2", two,
          "expected the same number of workers, found another: the cosine schedule");
  refused("servers", "--set placement.servers=[server,node-5]", "--set placement.servers=[server] " + on,
          "expected 2 hosts in placement.servers, as before, found 1");
  refused("host", "", "--set placement.workers=[node-1,node-9] --set stop.rounds=8",
          "--set: key 'placement.workers': expected a host of ");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
