// Commits under the simulated clock: how much time they take, in closed form, how large they are, and when
// policies make them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "policies/checkpointing/interval.hpp"
#include "policies/checkpointing/replay.hpp"
#include "tests/sim/training.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/job/plan/commit_plan.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::Change;
using testing::small_experiment;
using testing::Training;

/// Of the star's disks.
constexpr double write_rate = 50e6;

class CommitTraining : public Training {
 protected:
  static Experiment modelled(int workers) {
    Experiment experiment = small_experiment(workers);
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.physics.ensemble = 0;
    experiment.stop.rounds = 13;
    experiment.checkpoint.at_end = false;
    return experiment;
  }
  static Experiment with_policy(Experiment experiment, const std::string& policy,
                                const std::map<std::string, OptionValue>& options) {
    experiment.checkpoint.policy = policy;
    experiment.checkpoint.options = options;
    return experiment;
  }
  /// A commit after every `rounds` rounds.
  static Experiment every(double rounds, Experiment experiment) {
    return with_policy(std::move(experiment), "fixed", {{"interval", rounds}});
  }
  static std::vector<std::int64_t> rounds_of(const Journal& journal) {
    std::vector<std::int64_t> rounds;
    for (const auto& commit : journal.commits) rounds.push_back(commit.round);
    return rounds;
  }
  /// In a process of its own.
  void expect_one_at_a_time(const Experiment& experiment, bool every_round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const Journal journal = train(experiment, true);
      const auto rounds = static_cast<std::size_t>(experiment.stop.rounds);
      EXPECT_GE(journal.commits.size(), every_round ? rounds : 3U);
      EXPECT_LE(journal.commits.size(), every_round ? rounds : rounds / 2) << "training is faster";
      for (std::size_t i = 1; i < journal.commits.size(); ++i)
        EXPECT_GE(journal.commits[i].started + journal.commits[i].blocked, journal.commits[i - 1].ended);
      std::map<Rank, Seconds> ends;
      for (const auto& operation : journal.operations) {
        if (operation.kind != "write") continue;
        EXPECT_GE(operation.start, ends[operation.rank]) << "rank " << operation.rank;
        ends[operation.rank] = operation.end;
      }
      _exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  double model_bytes() const { return static_cast<double>(job_->model().bytes().count()); }
};

using Rounds = std::vector<std::int64_t>;

TEST_F(CommitTraining, TheMakespanGrowsByTheTimeOfWriting) {
  const Seconds without = train_apart(modelled(3), "without");
  const Journal journal = train(every(4, modelled(3)));
  EXPECT_EQ(rounds_of(journal), (Rounds{4, 8, 12}));
  // Momentum is as large as the model, and the server writes both; workers have nothing.
  const double write_s = 2 * model_bytes() / write_rate;
  EXPECT_NEAR((makespan_ - without).count(), 3 * write_s, 1e-12);
  for (const auto& commit : journal.commits) {
    EXPECT_NEAR(commit.blocked.count(), write_s, 1e-12);
    EXPECT_GE((commit.ended - commit.started).count(), write_s - 1e-12);
    EXPECT_EQ(static_cast<double>(commit.bytes), 2 * model_bytes());
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "checkpoints"));
}

TEST_F(CommitTraining, WithoutADiskCommitsTakeNoTime) {
  std::string body = testing::TemporaryPlatform::star(10, 1e8, 1e-4);
  for (std::size_t at; (at = body.find("<disk")) != std::string::npos;)
    body.erase(at, body.find("/>", at) + 2 - at);
  platform_ = body;
  const Seconds without = train_apart(modelled(3), "without");
  const Journal journal = train(every(4, modelled(3)));
  EXPECT_EQ(rounds_of(journal), (Rounds{4, 8, 12}));
  EXPECT_EQ(makespan_, without);
  for (const auto& commit : journal.commits) EXPECT_EQ(commit.blocked, Seconds(0));
}

/// Workers write after the servers, and all workers at the same time, each on its own disk.
TEST_F(CommitTraining, WorkersWithAStateOfTheirOwnWriteItToo) {
  Experiment experiment = modelled(3);
  experiment.optimizer.update_at = UpdateSide::workers;
  const Seconds without = train_apart(experiment, "without");
  const Journal journal = train(every(4, experiment));
  EXPECT_EQ(rounds_of(journal), (Rounds{4, 8, 12}));
  // Each has the model and momentum; the first one also writes the model's file.
  const double first_s = 3 * model_bytes() / write_rate;
  // Pushes of the others arrive while the first worker still writes, so the server has less to receive then.
  EXPECT_GE((makespan_ - without).count(), 3 * first_s * 2 / 3);
  EXPECT_LE((makespan_ - without).count(), 3 * first_s + 1e-12);
  for (const auto& commit : journal.commits) {
    EXPECT_NEAR(commit.blocked.count(), first_s, 1e-12);
    EXPECT_EQ(static_cast<double>(commit.bytes), (2 * 3 + 1) * model_bytes());
  }
}

TEST_F(CommitTraining, OverAllReduceEveryWorkerCounts) {
  Experiment experiment = modelled(3);
  experiment.sync.over = sync::Route::all_reduce;
  experiment.placement.servers = {};
  const Seconds without = train_apart(experiment, "without");
  const Journal journal = train(every(4, experiment));
  EXPECT_EQ(rounds_of(journal), (Rounds{4, 8, 12}));
  const double first_s = 3 * model_bytes() / write_rate;
  EXPECT_NEAR((makespan_ - without).count(), 3 * first_s, 0.02 * first_s);
  for (const auto& commit : journal.commits) EXPECT_NEAR(commit.blocked.count(), first_s, 1e-12);
}

/// The copy alone blocks; the disk works while training continues.
TEST_F(CommitTraining, InTheBackgroundOnlyTheCopyBlocks) {
  Experiment experiment = every(6, modelled(3));
  const Seconds blocking = train_apart(experiment, "blocking");
  experiment.checkpoint.mode = CommitMode::background;
  const Journal journal = train(experiment);
  EXPECT_EQ(rounds_of(journal), (Rounds{6, 12}));
  EXPECT_LT(makespan_, blocking);
  const Rank server = job_->roster().servers().front();
  const Seconds copy = job_->devices().cost_model(server).price(
      {.kind = Work::Kind::reduce, .bytes = commit_size(*job_, server)});
  const double write_s = 2 * model_bytes() / write_rate;
  for (const auto& commit : journal.commits) {
    EXPECT_NEAR(commit.blocked.count(), copy.count(), 1e-12);
    EXPECT_GE((commit.ended - commit.started).count(), copy.count() + write_s - 1e-12);
  }
}

/// A disk that is slower than training: where replies announce commits, the next one comes when the last one
/// is complete; where every worker counts, it waits for that.
TEST_F(CommitTraining, OneCommitIsUnderWayAtATime) {
  for (const bool counts : {true, false}) {
    platform_ = testing::TemporaryPlatform::star(10, 1e10, 1e-5);
    Experiment experiment = every(1, modelled(2));
    experiment.checkpoint.mode = CommitMode::background;
    experiment.stop.rounds = 100;
    experiment.workload.batch = 1;
    if (counts) {
      experiment.sync.over = sync::Route::all_reduce;
      experiment.placement.servers = {};
    }
    expect_one_at_a_time(experiment, counts);
  }
}

using LongCommitTraining = CommitTraining;

/// Workers that wait for a reply do not notice that their slow disks have written their parts.
TEST_F(LongCommitTraining, SlowDisksOfWorkersDelayTheNextCommit) {
  platform_ = testing::TemporaryPlatform::star(10, 1e10, 1e-5);
  using Hosts = std::vector<std::string>;
  for (const Hosts& servers : {Hosts{"host-0"}, Hosts{"host-0", "host-9"}}) {
    Experiment experiment = every(2, modelled(3));
    experiment.optimizer.update_at = UpdateSide::workers;
    experiment.placement.servers = servers;
    experiment.checkpoint.mode = CommitMode::background;
    experiment.stop.rounds = 400;
    const auto check = [this](const Journal& journal) {
      ASSERT_GE(journal.commits.size(), 3U);
      // With faster disks, one after every second round.
      EXPECT_LT(journal.commits.size(), 200U);
      // The first worker writes its model, its momentum and the model's file.
      const double write_s = 3 * model_bytes() / write_rate;
      for (const auto& commit : journal.commits)
        EXPECT_GE((commit.ended - commit.started).count(), write_s - 1e-12);
      for (std::size_t i = 1; i < journal.commits.size(); ++i)
        EXPECT_GE(journal.commits[i].started, journal.commits[i - 1].ended);
    };
    train_apart(experiment, "servers-" + std::to_string(servers.size()), check);
  }
}

/// The cost that the first commit shows, the mean time between failures of all machines of the job, and the
/// duration of rounds give the interval.
class CommitIntervals : public CommitTraining, public ::testing::WithParamInterface<std::string> {};

TEST_P(CommitIntervals, FollowTheSimulatedCost) {
  constexpr double mtbf_s = 200.0;
  Experiment experiment = with_policy(modelled(3), GetParam(), {{"mtbf_s", mtbf_s}});
  experiment.stop.rounds = 200;
  const Journal journal = train(experiment);
  std::map<std::int64_t, Seconds> work;  // until the end of each round
  Seconds sum;
  for (const auto& record : journal.decisions) {
    if (record.side != "checkpointing" || !record.event.starts_with("round_done")) continue;
    const auto event = std::get<checkpointing::RoundDone>(checkpointing::parse_event(record.event));
    work[event.round] = sum += event.duration;
  }
  ASSERT_EQ(work.size(), 200U);
  ASSERT_GE(journal.commits.size(), 4U);
  EXPECT_EQ(journal.commits.front().round, 1);
  const Seconds cost = journal.commits.front().blocked, mtbf = Seconds(mtbf_s / 4);
  const std::map<std::string, Seconds> intervals = {{"young", checkpointing::young_interval(cost, mtbf)},
                                                    {"daly", checkpointing::daly_interval(cost, mtbf)},
                                                    {"optimal", checkpointing::optimal_interval(cost, mtbf)}};
  const double interval = intervals.at(GetParam()).count();
  for (std::size_t i = 1; i < journal.commits.size(); ++i) {
    const std::int64_t from = journal.commits[i - 1].round, to = journal.commits[i].round;
    EXPECT_GE((work[to] - work[from]).count(), interval * (1 - 1e-6)) << to;
    EXPECT_LT((work[to - 1] - work[from]).count(), interval) << to;
  }
}

/// Durations of rounds are those without commits.
TEST_P(CommitIntervals, DurationsOfRoundsLeaveCommitsOut) {
  Experiment experiment = with_policy(modelled(3), GetParam(), {{"mtbf_s", 2.0}});
  experiment.stop.rounds = 40;
  const Journal journal = train(experiment);
  EXPECT_GE(journal.commits.size(), 5U);
  std::vector<double> durations;
  for (const auto& record : journal.decisions)
    if (record.side == "checkpointing" && record.event.starts_with("round_done"))
      durations.push_back(
          std::get<checkpointing::RoundDone>(checkpointing::parse_event(record.event)).duration.count());
  ASSERT_EQ(durations.size(), 40U);
  for (std::size_t round = 2; round < durations.size(); ++round)
    EXPECT_NEAR(durations[round], durations[1], 1e-9) << round;
}

INSTANTIATE_TEST_SUITE_P(Optimal, CommitIntervals, ::testing::Values("optimal"));
INSTANTIATE_TEST_SUITE_P(LongOthers, CommitIntervals, ::testing::Values("young", "daly"));

/// Every part of a commit is of the same round, also of servers that are ahead of the one that decides.
class CommitsOfShards : public CommitTraining, public ::testing::WithParamInterface<Change> {};

TEST_P(CommitsOfShards, AreOfTheSameRound) {
  Experiment experiment = with_policy(small_experiment(3), "optimal", {{"mtbf_s", 1.0}});
  experiment.placement.servers = {"host-0", "host-8", "host-9"};
  experiment.stop.rounds = 40;
  experiment.checkpoint.keep = 0;
  experiment.optimizer.learning_rate = 0.001;
  GetParam().make(experiment);
  const Journal journal = train(experiment);
  ASSERT_GE(journal.commits.size(), 4U);
  EXPECT_EQ(journal.commits.front().round, 2) << "announced a round in advance";
  const std::string directory = directory_.string();
  for (const auto& commit : journal.commits) {
    for (const Rank rank : job_->checkpoints().commits.parts) {
      const auto& assignment = job_->roster().assignment(rank);
      const auto state = SavedState::load(state_path(directory, commit.round, assignment));
      if (assignment.role == Roster::Role::server) {
        EXPECT_EQ(state.integer("pushes"), commit.round * 3);
      } else {
        EXPECT_EQ(state.integer("round"), commit.round);
      }
    }
    EXPECT_EQ(find_resume_point(*job_, directory, commit.round).round, commit.round);
  }
  EXPECT_EQ(find_resume_point(*job_, directory, {}).round, journal.commits.back().round);
}

std::string name_of_change(const ::testing::TestParamInfo<Change>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(
    Some, CommitsOfShards,
    ::testing::Values(
        Change{"background",
               [](Experiment& experiment) { experiment.checkpoint.mode = CommitMode::background; }},
        Change{"asp", [](Experiment& experiment) { experiment.sync.algorithm = "asp"; }},
        Change{"first_server",
               [](Experiment& experiment) {
                 experiment.sync.algorithm = "asp";
                 experiment.sync.decides = PushOrder::first_server;
               }},
        Change{"workers",
               [](Experiment& experiment) { experiment.optimizer.update_at = UpdateSide::workers; }}),
    name_of_change);
INSTANTIATE_TEST_SUITE_P(
    LongOthers, CommitsOfShards,
    ::testing::Values(
        Change{"bsp", [](Experiment&) {}},
        Change{"ssp", [](Experiment& experiment) { experiment.sync.algorithm = "ssp"; }},
        Change{"requested", [](Experiment& experiment) { experiment.sync.pull = ServerPull::requested; }},
        Change{"by_key", [](Experiment& experiment) { experiment.sync.exchange = ExchangeUnit::by_key; }}),
    name_of_change);

/// What is priced is what is written.
class CommitSizes : public CommitTraining, public ::testing::WithParamInterface<Change> {
 protected:
  /// Of the vectors of a state file, without the sum of contributions that wait for the next update.
  static std::int64_t vectors_in(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string line;
    std::getline(file, line);
    const auto header = nlohmann::json::parse(line);
    std::int64_t bytes = static_cast<std::int64_t>(std::filesystem::file_size(path) - line.size() - 1);
    for (const auto& vector : header.at("vectors"))
      if (vector.at(0) == "sum") bytes -= 4 * vector.at(1).get<std::int64_t>();
    return bytes;
  }
};

TEST_P(CommitSizes, AreThoseOfTheFiles) {
  Experiment experiment = every(2, small_experiment(3));
  experiment.stop.rounds = 4;
  GetParam().make(experiment);
  const Journal journal = train(experiment);
  ASSERT_EQ(rounds_of(journal), (Rounds{2, 4}));
  std::int64_t all = 0;
  for (const Rank rank : job_->checkpoints().commits.parts) {
    std::int64_t written = vectors_in(state_path(directory_.string(), 4, job_->roster().assignment(rank)));
    if (rank == job_->checkpoints().writer) written += job_->model().bytes().count();
    EXPECT_EQ(commit_size(*job_, rank).count(), written) << "rank " << rank;
    EXPECT_TRUE(has_part_in_commits(*job_, rank)) << "rank " << rank;
    all += written;
  }
  EXPECT_EQ(journal.commits.back().bytes, all);
}

std::vector<Change> changes_of_size() {
  std::vector<Change> all = {
      {"plain", [](Experiment& experiment) { experiment.optimizer.momentum = 0.0; }},
      {"shards",
       [](Experiment& experiment) {
         experiment.placement.servers = {"host-0", "host-9"};
       }},
      {"workers", [](Experiment& experiment) { experiment.optimizer.update_at = UpdateSide::workers; }},
      {"adam",
       [](Experiment& experiment) {
         experiment.optimizer.kind = OptimizerKind::adam;
         experiment.optimizer.momentum = 0.0;
       }},
      {"one_bit", [](Experiment& experiment) { experiment.sync.compression = "one-bit"; }},
      {"one_bit_ring",
       [](Experiment& experiment) {
         experiment.sync.compression = "one-bit";
         experiment.sync.over = sync::Route::all_reduce;
         experiment.placement.servers = {};
       }},
      {"top_k_ring",
       [](Experiment& experiment) {
         experiment.sync.compression = "top-k";
         experiment.sync.over = sync::Route::all_reduce;
         experiment.placement.servers = {};
       }},
      {"dgc", [](Experiment& experiment) { experiment.sync.compression = "dgc"; }},
      {"dgc_replies",
       [](Experiment& experiment) {
         experiment.sync.compression = "dgc";
         experiment.sync.compress_replies = true;
         experiment.optimizer.update_at = UpdateSide::workers;
       }},
      {"own_statistics", [](Experiment& experiment) {
         experiment.workload.model = "mobilenet-v2";
         experiment.workload.image_size = 32;
         experiment.workload.batch = 2;
         experiment.optimizer.learning_rate = 1e-4;
         experiment.sync.average_statistics = false;
         experiment.optimizer.update_at = UpdateSide::workers;
       }}};
  for (const auto& algorithm : sync::catalog().entries())
    for (const auto route : algorithm.make.routes) {
      if (algorithm.make.timing_driven && route == sync::Route::peers) continue;
      std::string name = algorithm.name + '_' + to_text(route);
      std::ranges::replace(name, '-', '_');
      all.push_back(
          {name, [&algorithm, route](Experiment& experiment) {
             experiment.sync.algorithm = algorithm.name;
             experiment.sync.over = route;
             if (algorithm.make.most_workers == 1) experiment.placement.workers.resize(1);
             if (algorithm.name == "group-average") experiment.sync.options["group_size"] = std::int64_t{3};
             if (algorithm.name == "adsp") experiment.sync.options["period_s"] = 0.5;
             if (algorithm.make.steps_per_round(Options::resolve(algorithm.name, algorithm.options, {})) > 10)
               experiment.sync.options["h"] = std::int64_t{5};
           }});
    }
  return all;
}
/// Each kind of state, and algorithms whose servers or workers have more of it.
std::vector<Change> sizes(bool in_every_check) {
  const std::set<std::string> some = {
      "workers",          "adam",         "one_bit_ring", "dgc_replies",
      "own_statistics",   "easgd_server", "d_psgd_peers", "dc_asgd_adaptive_server",
      "slowmo_all_reduce"};
  std::vector<Change> all = changes_of_size();
  std::erase_if(all, [&](const Change& change) { return some.contains(change.name) != in_every_check; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Some, CommitSizes, ::testing::ValuesIn(sizes(true)), name_of_change);
INSTANTIATE_TEST_SUITE_P(LongOthers, CommitSizes, ::testing::ValuesIn(sizes(false)), name_of_change);

// ---- Files ----

class CommitFiles : public CommitTraining {
 protected:
  /// The rounds of which a file with this ending exists.
  std::set<std::int64_t> files(const std::string& ending) const {
    std::set<std::int64_t> rounds;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ / "checkpoints")) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("round_") && name.substr(name.find('.')) == ending)
        rounds.insert(std::stoll(name.substr(6)));
    }
    return rounds;
  }
};

TEST_F(CommitFiles, OfTheLastCommitsRemainAndThoseOfEvaluations) {
  Experiment experiment = every(2, small_experiment(2));
  experiment.stop.rounds = 13;
  experiment.evaluate_every = 3;
  experiment.placement.evaluator = "host-9";
  experiment.checkpoint.keep = 2;
  const Journal journal = train(experiment);
  EXPECT_EQ(rounds_of(journal), (Rounds{2, 4, 6, 8, 10, 12}));
  for (const char* rank : {".server_0.state", ".worker_0.state", ".worker_1.state"})
    EXPECT_EQ(files(rank), (std::set<std::int64_t>{10, 12})) << rank;
  EXPECT_EQ(files(".pt"), (std::set<std::int64_t>{3, 6, 9, 10, 12}));
  EXPECT_EQ(journal.evaluations.size(), 4U);
  EXPECT_EQ(find_resume_point(*job_, directory_.string(), {}).round, 12);
}

TEST_F(CommitFiles, OfTheFirstCommitInEachSpanOfRoundsRemain) {
  Experiment experiment = every(2, small_experiment(2));
  experiment.stop.rounds = 15;
  experiment.checkpoint.keep = 1;
  experiment.checkpoint.keep_every = 5;
  const Journal journal = train(experiment);
  EXPECT_EQ(rounds_of(journal), (Rounds{2, 4, 6, 8, 10, 12, 14}));
  for (const char* rank : {".server_0.state", ".worker_0.state", ".worker_1.state", ".pt"})
    EXPECT_EQ(files(rank), (std::set<std::int64_t>{6, 10, 14})) << rank;
}

/// Where workers run at different speeds, no state of theirs is of use.
TEST_F(CommitFiles, OfAsynchronousWorkersDoNotExist) {
  Experiment experiment = every(2, small_experiment(3));
  experiment.sync.algorithm = "asp";
  experiment.optimizer.learning_rate = 0.001;
  experiment.stop.rounds = 12;
  const Journal journal = train(experiment);
  EXPECT_EQ(rounds_of(journal), (Rounds{2, 4, 6, 8, 10, 12}));
  for (const char* rank : {".worker_0.state", ".worker_1.state", ".worker_2.state"})
    EXPECT_TRUE(files(rank).empty()) << rank;
  EXPECT_EQ(files(".server_0.state"), (std::set<std::int64_t>{10, 12}));
  EXPECT_EQ(files(".pt"), (std::set<std::int64_t>{10, 12}));
}

/// A worker cannot write its part of the first commit of a span: the next one stays.
TEST_F(CommitFiles, OfAnIncompleteCommitAreNotThoseOfASpan) {
  Experiment experiment = every(2, small_experiment(2));
  experiment.sync.over = sync::Route::all_reduce;
  experiment.placement.servers = {};
  experiment.stop.rounds = 15;
  experiment.checkpoint.keep = 1;
  experiment.checkpoint.keep_every = 5;
  std::filesystem::create_directories(directory_ / "checkpoints" / "round_00000006.worker_1.state.partial" /
                                      "full");
  EXPECT_EQ(rounds_of(train(experiment)), (Rounds{2, 4, 8, 10, 12, 14}));
  for (const char* rank : {".worker_0.state", ".worker_1.state", ".pt"})
    EXPECT_EQ(files(rank), (std::set<std::int64_t>{8, 10, 14})) << rank;
}

using LongCommitFiles = CommitFiles;

TEST_F(LongCommitFiles, OfOneCommitRemainWithKeepOne) {
  Experiment experiment = every(2, small_experiment(2));
  experiment.sync.over = sync::Route::all_reduce;
  experiment.placement.servers = {};
  experiment.stop.rounds = 9;
  experiment.checkpoint.keep = 1;
  train(experiment);
  for (const char* rank : {".worker_0.state", ".worker_1.state", ".pt"})
    EXPECT_EQ(files(rank), (std::set<std::int64_t>{8})) << rank;
}

/// Ranks that do not see the parts of others learn which commits are complete: here 2 and 4. One of them
/// cannot write that of 6; where a server decides, it tries again after one more round.
class CommitsOutOfSight : public CommitFiles, public ::testing::WithParamInterface<sync::Route> {};

TEST_P(CommitsOutOfSight, LeaveTheLastCompleteOneWithKeepOne) {
  const bool has_server = GetParam() == sync::Route::server;
  Experiment experiment = every(2, small_experiment(2));
  experiment.sync.over = GetParam();
  if (!has_server) experiment.placement.servers = {};
  experiment.stop.rounds = 7;
  experiment.checkpoint.keep = 1;
  files_apart_ = true;
  for (const char* round : {"6", "7"})
    std::filesystem::create_directories(directory_ / "checkpoints" /
                                        (std::string("round_0000000") + round + ".worker_1.state.partial") /
                                        "full");
  const Journal journal = train(experiment);
  EXPECT_EQ(rounds_of(journal), (Rounds{2, 4}));
  EXPECT_EQ(journal.failed_commits, has_server ? 2 : 1);
  const std::set<std::int64_t> expected = {4, has_server ? 7 : 6};
  EXPECT_EQ(files(".worker_0.state"), expected);
  EXPECT_EQ(files(".worker_1.state"), (std::set<std::int64_t>{4}));
  EXPECT_EQ(files(".pt"), expected);
  EXPECT_EQ(find_resume_point(*job_, directory_.string(), {}).round, 4);
}

INSTANTIATE_TEST_SUITE_P(Routes, CommitsOutOfSight,
                         ::testing::Values(sync::Route::server, sync::Route::all_reduce));

/// A keeper that cannot keep copies of one rank's part, from the third commit on: the last complete commit
/// and the last ones stay, at this rank and at all others, and with their keepers.
TEST_F(CommitFiles, DoNotGrowInNumberWhileAKeeperFails) {
  Experiment experiment = every(2, small_experiment(3));
  experiment.sync.over = sync::Route::all_reduce;
  experiment.placement.servers = {};
  experiment.stop.rounds = 20;
  experiment.checkpoint.keep = 1;
  experiment.checkpoint.to = CommitPlace::buddy;
  const auto host = [&](int number) {
    return directory_ / "memory" / ("host-" + std::to_string(number)) / "checkpoints";
  };
  // The buddy of host-1 is host-2.
  for (int round = 5; round <= 20; ++round)
    std::filesystem::create_directories(host(2) / (fmt::format("round_{:08}.worker_0.state.partial", round)) /
                                        "full");
  const Journal journal = train(experiment);
  EXPECT_EQ(rounds_of(journal), (Rounds{2, 4}));
  EXPECT_EQ(journal.failed_commits, 8);
  const auto rounds = [&](int on, const std::string& ending) {
    std::set<std::int64_t> found;
    for (const auto& entry : std::filesystem::directory_iterator(host(on)))
      if (const std::string name = entry.path().filename().string(); name.ends_with(ending))
        found.insert(std::stoll(name.substr(6)));
    return found;
  };
  for (const auto& [worker, keeper] : {std::pair{1, 2}, std::pair{2, 3}, std::pair{3, 1}}) {
    const std::string part = fmt::format(".worker_{}.state", worker - 1);
    const auto own = rounds(worker, part);
    EXPECT_EQ(own, (std::set<std::int64_t>{4, 20})) << worker;
    EXPECT_EQ(rounds(keeper, part), worker == 1 ? std::set<std::int64_t>{4} : own) << worker;
  }
  // The last one has a copy of each part, until that of the first is lost.
  EXPECT_EQ(find_resume_point(*job_, directory_.string(), {}).round, 20);
  std::filesystem::remove_all(host(1));
  EXPECT_EQ(find_resume_point(*job_, directory_.string(), {}).round, 4);
}

/// Nor where the rank that decides alone knows that they fail, before the first is complete.
TEST_F(CommitFiles, OfCommitsThatFailedDoNotGrowInNumberOutOfSight) {
  Experiment experiment = every(2, small_experiment(2));
  experiment.stop.rounds = 20;
  experiment.checkpoint.keep = 1;
  files_apart_ = true;
  for (int round = 1; round <= 20; ++round)
    std::filesystem::create_directories(directory_ / "checkpoints" /
                                        fmt::format("round_{:08}.worker_1.state.partial", round) / "full");
  const Journal journal = train(experiment);
  EXPECT_TRUE(journal.commits.empty());
  EXPECT_GE(journal.failed_commits, 4);
  for (const char* rank : {".worker_0.state", ".server_0.state", ".pt"})
    EXPECT_LE(files(rank).size(), 2U) << rank;
}

TEST_F(LongCommitFiles, AllRemainWithKeepZero) {
  Experiment experiment = every(3, small_experiment(2));
  experiment.stop.rounds = 10;
  experiment.checkpoint.keep = 0;
  train(experiment);
  for (const char* rank : {".server_0.state", ".worker_0.state", ".worker_1.state", ".pt"})
    EXPECT_EQ(files(rank), (std::set<std::int64_t>{3, 6, 9})) << rank;
}

/// Commits change neither the model nor what is evaluated.
TEST_F(CommitFiles, TrainingIsTheSame) {
  Experiment experiment = small_experiment(3);
  experiment.stop.rounds = 9;
  experiment.evaluate_every = 4;
  experiment.placement.evaluator = "host-9";
  train_apart(experiment, "without");
  train(every(2, experiment));
  EXPECT_EQ(model_in("without"), final_model());
  EXPECT_EQ(model_in("without", "checkpoints/round_00000008.pt"),
            model_in("", "checkpoints/round_00000008.pt"));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
