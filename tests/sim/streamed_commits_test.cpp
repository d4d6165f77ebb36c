// Commits without servers that one worker decides about, and announces in a stream of messages: when policies
// in seconds commit, in closed form, also where that worker departs, and that all parts are of the same
// round.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <tuple>

#include "policies/checkpointing/interval.hpp"
#include "policies/checkpointing/replay.hpp"
#include "tests/sim/member_commits.hpp"
#include "workloads/checkpoint/commit_members.hpp"
#include "workloads/checkpoint/state_files.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class StreamedCommits : public MemberCommits {
 protected:
  static void commit_after(Experiment& experiment, double seconds) {
    experiment.checkpoint.policy = "fixed";
    experiment.checkpoint.options = {{"interval", seconds}, {"unit", std::string("seconds")}};
  }
  /// Of 13 rounds of a second; commits take three.
  static Experiment in_seconds(double interval_s, const std::string& events) {
    Experiment experiment = large();
    commit_after(experiment, interval_s);
    if (!events.empty()) depart_at(experiment, events);
    return experiment;
  }
  /// Fresh policies decide the same on the recorded events of each rank. Each time a worker gets the duty,
  /// its policy first learns of its machines.
  void expect_replayed(const Journal& journal) const {
    const CommitPlan& plan = job_->checkpoints().commits;
    const auto make = [&] {
      return checkpointing::catalog().find(plan.policy).make({.options = plan.options});
    };
    std::map<Rank, std::pair<std::unique_ptr<checkpointing::Policy>, bool>> policies;
    int events = 0;
    for (const auto& record : journal.decisions) {
      if (record.side != "checkpointing") continue;
      auto& [policy, has_started] = policies[record.rank];
      if (policy == nullptr || (has_started && record.event.starts_with("ready"))) {
        policy = make();
        has_started = false;
      }
      has_started = has_started || record.event.starts_with("started");
      EXPECT_EQ(checkpointing::decide_in_words(*policy, record.event), record.decisions) << record.event;
      ++events;
    }
    EXPECT_GT(events, 0);
  }
};

// ---- While nobody departs ----

/// The commit of round k is decided after round k - 1.
TEST_F(StreamedCommits, InSecondsFollowTheWorkBetweenThem) {
  for (const char* events : {"", "1000 remove a"}) {
    SCOPED_TRACE(events);
    train_apart(in_seconds(3.6, events), std::string("events") + events, [this](const Journal& journal) {
      EXPECT_EQ(rounds_of(journal), (Rounds{4, 8, 12}));
      EXPECT_EQ(sizes_of(journal), (Sizes{9, 9, 9}));
      for (const auto& commit : journal.commits) EXPECT_NEAR(commit.blocked.count(), 3.0, 1e-3);
      expect_makespan(13 + 3 * 3);
      expect_replayed(journal);
    });
  }
}

using LongStreamedCommits = StreamedCommits;

/// A first commit shows that the cost is 3 s.
TEST_F(LongStreamedCommits, FollowTheClosedFormOfTheInterval) {
  const std::map<std::string, Seconds (*)(Seconds, Seconds)> intervals = {
      {"young", checkpointing::young_interval},
      {"daly", checkpointing::daly_interval},
      {"optimal", checkpointing::optimal_interval}};
  for (const auto& [policy, interval] : intervals)
    for (const char* events : {"", "1000 remove a"})
      for (const double mtbf_s : {40.0, 97.0, 300.0}) {
        SCOPED_TRACE(fmt::format("{} {} '{}'", policy, mtbf_s, events));
        Experiment experiment = in_seconds(1.0, events);
        experiment.checkpoint.policy = policy;
        experiment.stop.rounds = 60;
        // Where workers recover in place, the loss of the steward's machine alone stops the job.
        const int machines = *events == 0 ? 4 : 1;
        experiment.checkpoint.options = {{"mtbf_s", mtbf_s * machines}};
        const auto every =
            static_cast<std::int64_t>(std::ceil(interval(Seconds(3), Seconds(mtbf_s)).count() - 1e-3));
        train_apart(experiment, fmt::format("{}{}{}", policy, mtbf_s, events), [&](const Journal& journal) {
          Rounds expected;
          for (std::int64_t round = 2; round <= 60; round += every) expected.push_back(round);
          EXPECT_EQ(rounds_of(journal), expected);
          expect_makespan(60 + 3.0 * static_cast<double>(expected.size()));
          expect_replayed(journal);
        });
      }
}

/// Workers with models of their own learn of it four rounds in advance: after round 4 of the commit of round
/// 8, since four more rounds take four seconds.
TEST_F(StreamedCommits, BetweenPeersAreDecidedFourRoundsAhead) {
  Experiment experiment = large();
  experiment.sync.algorithm = "d-psgd";
  experiment.sync.over = sync::Route::peers;
  experiment.stop.rounds = 25;
  commit_after(experiment, 8.0);
  for (const char* events : {"", "1000 remove a"}) {
    SCOPED_TRACE(events);
    if (*events != 0) depart_at(experiment, events);
    train_apart(experiment, std::string("events") + events, [this](const Journal& journal) {
      EXPECT_EQ(rounds_of(journal), (Rounds{8, 16, 24}));
      expect_replayed(journal);
    });
  }
}

/// Messages about commits delay none of the workers, also where one is slower than its neighbours and some
/// are rounds ahead of the one that decides.
class NotifiedWorkers : public StreamedCommits {
 protected:
  void expect_no_delay(const std::string& algorithm, sync::Route over, Rank slow) {
    SCOPED_TRACE(fmt::format("{} rank {}", algorithm, slow));
    platform_ = TemporaryPlatform::star(9, 1e9, 1e-4);
    price_ = [slow](Rank rank, const Work& work) {
      return Seconds(work.kind == Work::Kind::forward ? (rank == slow ? 0.2 : 0.1) : 0.0);
    };
    Experiment experiment = job(algorithm);
    experiment.sync.over = over;
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.placement.workers.clear();
    for (int host = 1; host <= 8; ++host)
      experiment.placement.workers.push_back(fmt::format("host-{}", host));
    experiment.stop.rounds = 40;
    const std::string name = fmt::format("{}{}", algorithm, slow);
    const Seconds never = train_apart(experiment, name + "never");
    commit_after(experiment, 1e6);
    const Seconds streamed =
        train_apart(experiment, name, [this](const Journal& journal) { expect_replayed(journal); });
    EXPECT_NEAR(streamed / never, 1.0, 1e-3);
  }
};

using LongNotifiedWorkers = NotifiedWorkers;

TEST_F(NotifiedWorkers, AreNotDelayedBetweenCommits) {
  expect_no_delay("bsp", sync::Route::all_reduce, 0);
  expect_no_delay("d-psgd", sync::Route::peers, 5);
}

TEST_F(LongNotifiedWorkers, AreNotDelayedBetweenCommitsOfOthers) {
  expect_no_delay("bsp", sync::Route::all_reduce, 5);
  for (const Rank slow : {0, 5}) expect_no_delay("local-sgd", sync::Route::all_reduce, slow);
  expect_no_delay("d-psgd", sync::Route::peers, 0);
}

/// A single worker has nobody to tell, and peers without rounds commit the first worker's model.
TEST_F(StreamedCommits, OfOneWorkerAreDecidedAtOnce) {
  Experiment experiment = in_seconds(4.0, "");
  experiment.placement.workers = {"host-1"};
  train_apart(experiment, "one", [](const Journal& journal) {
    EXPECT_EQ(rounds_of(journal), (Rounds{4, 8, 12}));
  });
  experiment = large();
  commit_after(experiment, 4.0);
  experiment.sync.algorithm = "ad-psgd";
  experiment.sync.over = sync::Route::peers;
  train_apart(experiment, "peers", [this](const Journal& journal) {
    EXPECT_GE(journal.commits.size(), 2U);
    expect_replayed(journal);
  });
}

/// An empty slot has no part in them.
TEST_F(StreamedCommits, DoNotWaitForSpares) {
  for (const bool counts : {true, false}) {
    Experiment experiment = in_seconds(4.0, "1000 remove a");
    if (counts) commit_every(experiment, 4);
    experiment.placement.workers = {"host-1", "host-2", "host-3"};
    experiment.placement.spares = {"host-4"};
    experiment.recovery.policy = "spares";
    experiment.transience.options["events"] = "0 add a; 0 add b; 0 add c; 0 add d; 1000 remove a";
    train_apart(experiment, counts ? "rounds" : "seconds", [this](const Journal& journal) {
      EXPECT_EQ(rounds_of(journal), (Rounds{4, 8, 12}));
      EXPECT_EQ(sizes_of(journal), (Sizes{7, 7, 7}));
      expect_makespan(13 + 3 * 3);
    });
  }
}

// ---- Departures ----

/// Round 4 was decided to be committed after round 3, at 3 s. It is done again, with what the others have
/// computed, and the next worker commits the round that follows, about which it could tell the others.
TEST_F(StreamedCommits, FollowTheDepartureOfTheOneThatHasDecided) {
  const Journal journal = train(in_seconds(4.0, "3.5 remove a"));
  EXPECT_EQ(rounds_of(journal), (Rounds{5, 9, 13}));
  EXPECT_EQ(sizes_of(journal), (Sizes{7, 7, 7}));
  EXPECT_EQ(journal.failed_commits, 0);
  expect_makespan(13 + 3 * 3);
  expect_replayed(journal);
}

/// The same policy continues: it has not decided anew.
TEST_F(StreamedCommits, FollowTheDepartureOfAnother) {
  const Journal journal = train(in_seconds(4.0, "3.5 remove c"));
  EXPECT_EQ(rounds_of(journal), (Rounds{5, 9, 13}));
  EXPECT_EQ(journal.failed_commits, 0);
  EXPECT_EQ(std::ranges::count_if(journal.decisions,
                                  [](const auto& record) {
                                    return record.side == "checkpointing" &&
                                           record.event.starts_with("started");
                                  }),
            1);
  expect_replayed(journal);
}

/// Each worker writes from 4 s to 6 s, the first one to 7 s. Of what is not complete, nothing counts, and the
/// work before it is still at risk: the commit follows the second round after it.
TEST_F(StreamedCommits, DoNotCountIfOneDepartsWhileItWrites) {
  for (const char* who : {"5 remove c", "5 remove a", "6.5 remove a"}) {
    SCOPED_TRACE(who);
    train_apart(in_seconds(4.0, who), who, [&](const Journal& journal) {
      EXPECT_EQ(rounds_of(journal), (Rounds{6, 10}));
      EXPECT_EQ(sizes_of(journal), (Sizes{7, 7}));
      EXPECT_EQ(journal.failed_commits, std::string(who) == "5 remove c" ? 1 : 0);
      expect_replayed(journal);
    });
  }
}

/// It counts, and the next worker knows of it: four seconds pass before its first one.
TEST_F(StreamedCommits, CountIfTheOneThatHasDecidedDepartsAfterThem) {
  const Journal journal = train(in_seconds(4.0, "7.5 remove a"));
  EXPECT_EQ(rounds_of(journal), (Rounds{4, 8, 12}));
  EXPECT_EQ(sizes_of(journal), (Sizes{9, 7, 7}));
  expect_replayed(journal);
}

/// The newcomer in the first slot has the duty, and gets what it needs for that with the state of training.
TEST_F(StreamedCommits, AreDecidedByNewcomers) {
  Experiment experiment = in_seconds(4.0, "1.5 remove a; 9 add a; 17 remove b");
  experiment.recovery.policy = "replace";
  experiment.transience.start = Seconds(0);
  const Journal journal = train(experiment);
  EXPECT_EQ(rounds_of(journal), (Rounds{4, 8, 12}));
  const Rank first = job_->roster().workers().front();
  std::vector<std::int64_t> committed_by_first;
  for (const auto& record : journal.decisions)
    if (record.side == "checkpointing" && record.rank == first && record.event.starts_with("committed"))
      committed_by_first.push_back(
          std::get<checkpointing::Committed>(checkpointing::parse_event(record.event)).round);
  EXPECT_EQ(committed_by_first, (Rounds{4, 8, 12})) << "the first one is the one that others have announced";
  expect_replayed(journal);
}

/// Changes that come faster than commits are due do not put them off for ever: each worker that gets the duty
/// counts the work of all rounds since the last commit. A commit takes 0.3 s.
TEST_F(StreamedCommits, ComeAlsoIfEveryEpochIsShorterThanTheirInterval) {
  for (std::size_t at; (at = platform_.find("'50MBps'")) != std::string::npos;)
    platform_.replace(at, std::string("'50MBps'").size(), "'500MBps'");
  Experiment experiment =
      in_seconds(6.0, "1.5 remove a; 4.5 add a; 7.5 remove a; 10.5 add a; 13.5 remove a; 30 add a");
  experiment.recovery.policy = "replace";
  experiment.transience.start = Seconds(0);
  experiment.stop.rounds = 20;
  const Journal journal = train(experiment);
  ASSERT_FALSE(journal.commits.empty());
  EXPECT_EQ(journal.commits.front().round, 6);
  expect_replayed(journal);
}

// ---- Random departures ----

/// With every second seed, messages take a large part of a step.
class RandomStreamedCommits : public StreamedCommits,
                              public ::testing::WithParamInterface<std::tuple<std::string, std::uint64_t>> {};

TEST_P(RandomStreamedCommits, AreWholeAndOfOneRound) {
  const auto [algorithm, seed] = GetParam();
  platform_ = TemporaryPlatform::star(5, seed % 2 == 0 ? 3e6 : 1e12, seed % 2 == 0 ? 0.01 : 1e-7);
  // Writing takes half a step.
  for (std::size_t at; (at = platform_.find("50MBps")) != std::string::npos;)
    platform_.replace(at, std::string("50MBps").size(), "0.5MBps");
  // Peers are at different rounds.
  if (seed % 3 == 1)
    price_ = [](Rank rank, const Work& work) {
      return Seconds(work.kind == Work::Kind::forward ? 0.5 + 0.3 * rank : 0.0);
    };
  Experiment experiment = random_departures(algorithm, seed);
  experiment.stop.rounds = 25;
  experiment.checkpoint.policy = seed % 2 == 0 ? "optimal" : "daly";
  experiment.checkpoint.options = {{"mtbf_s", 60.0}};
  const Journal journal = train(experiment);
  EXPECT_EQ(journal.counted_rounds, 25);
  expect_replayed(journal);
  EXPECT_FALSE(journal.commits.empty());
  expect_whole_commits(journal);
}

const std::vector<Seeded> some = {{"bsp", 2}, {"d-psgd", 1}, {"esync", 4}};
INSTANTIATE_TEST_SUITE_P(Algorithms, RandomStreamedCommits, ::testing::ValuesIn(some), name_of_seeded);
INSTANTIATE_TEST_SUITE_P(LongAlgorithms, RandomStreamedCommits, ::testing::ValuesIn(all_seeded_but(some)),
                         name_of_seeded);

/// Workers that stay, at different speeds.
class StreamedCommitsOfPeers : public StreamedCommits, public ::testing::WithParamInterface<std::string> {};

TEST_P(StreamedCommitsOfPeers, AreOfOneRound) {
  price_ = [](Rank rank, const Work& work) {
    return Seconds(work.kind == Work::Kind::forward ? 0.05 + 0.03 * rank : 0.0);
  };
  Experiment experiment = small_steps(job(GetParam()));
  experiment.stop.rounds = 40;
  experiment.checkpoint.policy = "optimal";
  experiment.checkpoint.options = {{"mtbf_s", 20.0}};
  experiment.checkpoint.keep = 0;
  const Journal journal = train(experiment);
  EXPECT_GE(journal.commits.size(), 3U);
  expect_replayed(journal);
  for (const auto& commit : journal.commits) {
    for (const Rank rank : job_->roster().workers()) {
      const auto state =
          SavedState::load(state_path(directory_.string(), commit.round, job_->roster().assignment(rank)));
      EXPECT_EQ(state.integer("round"), commit.round) << "rank " << rank;
    }
    EXPECT_EQ(find_resume_point(*job_, directory_.string(), commit.round).round, commit.round);
  }
}

std::string name_of_algorithm(const ::testing::TestParamInfo<std::string>& test) { return named(test.param); }
INSTANTIATE_TEST_SUITE_P(Some, StreamedCommitsOfPeers, ::testing::Values("bsp", "d-psgd"), name_of_algorithm);
INSTANTIATE_TEST_SUITE_P(LongOthers, StreamedCommitsOfPeers,
                         ::testing::Values("slowmo", "easgd", "group-average"), name_of_algorithm);

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
