// How the ranks of a job learn of its commits, and what the rank that decides does with the rounds and
// commits of the job: without messages, files or a simulation.
#include "workloads/checkpoint/commit_decider.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policies/checkpointing/interval.hpp"
#include "tests/support/cached_job.hpp"
#include "workloads/checkpoint/commit_protocol.hpp"

namespace tandem {
namespace TANDEM_FILE {

using By = CommitAnnouncement::By;
using Change = std::function<void(Experiment&)>;
using Rounds = std::vector<std::int64_t>;

/// Four workers over an all-reduce that commit every 4 rounds.
Job job_with(const Change& change) {
  Experiment experiment;
  experiment.workload.model = "synthetic";
  experiment.workload.dataset = "synthetic";
  experiment.workload.train_samples = 96;
  experiment.sync.over = sync::Route::all_reduce;
  experiment.placement.workers = {"a", "b", "c", "d"};
  experiment.stop.rounds = 100;
  experiment.checkpoint.policy = "fixed";
  experiment.checkpoint.options = {{"interval", 4.0}};
  change(experiment);
  return Job(experiment, testing::hosts_with_disks("five.xml", {"a", "b", "c", "d", "e"}), "");
}

void commit_after(Experiment& experiment, double seconds) {
  experiment.checkpoint.options = {{"interval", seconds}, {"unit", std::string("seconds")}};
}
void over_servers(Experiment& experiment, std::vector<std::string> servers) {
  experiment.sync.over = sync::Route::server;
  experiment.placement.servers = std::move(servers);
}
void between_peers(Experiment& experiment, const std::string& algorithm) {
  experiment.sync.algorithm = algorithm;
  experiment.sync.over = sync::Route::peers;
}

struct Announced {
  std::string name;
  Change change;
  By by;
  std::int64_t every;
  int ahead;
};

TEST(CommitAnnouncement, FollowsFromThePolicyAndTheRoute) {
  const std::vector<Announced> rows = {
      {"rounds, all-reduce", [](Experiment&) {}, By::counting, 4, 0},
      {"rounds, peers", [](Experiment& e) { between_peers(e, "ad-psgd"); }, By::counting, 4, 0},
      {"rounds, one server", [](Experiment& e) { over_servers(e, {"a"}); }, By::replies, 0, 0},
      {"rounds, two servers",
       [](Experiment& e) {
         over_servers(e, {"a", "b"});
       },
       By::replies, 4, 0},
      {"rounds, two servers, background",
       [](Experiment& e) {
         over_servers(e, {"a", "b"});
         e.checkpoint.mode = CommitMode::background;
       },
       By::replies, 0, 1},
      {"seconds, all-reduce", [](Experiment& e) { commit_after(e, 4.0); }, By::stream, 0, 1},
      {"seconds, peers with models of their own",
       [](Experiment& e) {
         between_peers(e, "d-psgd");
         commit_after(e, 4.0);
       },
       By::stream, 0, 4},
      {"seconds, peers without rounds",
       [](Experiment& e) {
         between_peers(e, "ad-psgd");
         commit_after(e, 4.0);
       },
       By::stream, 0, 0},
      {"seconds, one server",
       [](Experiment& e) {
         over_servers(e, {"a"});
         commit_after(e, 4.0);
       },
       By::replies, 0, 0},
      {"seconds, two servers",
       [](Experiment& e) {
         over_servers(e, {"a", "b"});
         commit_after(e, 4.0);
       },
       By::replies, 0, 1},
      {"rounds or a warning, all-reduce", [](Experiment& e) { e.checkpoint.options["on_warning"] = true; },
       By::stream, 0, 1}};
  for (const Announced& row : rows) {
    const Job job = job_with(row.change);
    const CommitPlan& plan = job.checkpoints().commits;
    EXPECT_EQ(static_cast<int>(plan.announced.by), static_cast<int>(row.by)) << row.name;
    EXPECT_EQ(plan.announced.every, row.every) << row.name;
    EXPECT_EQ(plan.announced.ahead, row.ahead) << row.name;
    EXPECT_EQ(plan.may_be_requested(), row.every == 0) << row.name;
  }
}

/// One rank that may decide, in a job whose rounds take a second each.
struct Decider {
  Decider(const Job& job, Rank rank) : group(job, rank), decider(job, group, journal) {}

  /// Rounds until `last`, with commits that take so long. Returns those that were committed.
  Rounds train(std::int64_t last, Seconds cost) {
    Rounds rounds;
    while (decider.last_round() < last) {
      now += Seconds(1);
      decider.round_done(now, decider.last_round() + 1, 4, false);
      if (decider.is_due(decider.last_round())) rounds.push_back(commit(cost));
    }
    return rounds;
  }
  std::int64_t commit(Seconds cost) {
    const CommitRecord record{
        .round = decider.last_round(), .started = now, .ended = now + cost, .blocked = cost};
    now += cost;
    decider.add_blocked(cost);
    decider.complete(now, record);
    return record.round;
  }

  Journal journal;
  CommitGroup group;
  CommitDecider decider;
  Seconds now{};
};

/// A first commit shows that the cost is 3 s.
TEST(CommitDecider, FollowsTheClosedFormOfTheInterval) {
  const std::map<std::string, Seconds (*)(Seconds, Seconds)> intervals = {
      {"young", checkpointing::young_interval},
      {"daly", checkpointing::daly_interval},
      {"optimal", checkpointing::optimal_interval}};
  for (const auto& [policy, interval] : intervals)
    for (const double mtbf_s : {40.0, 97.0, 300.0}) {
      SCOPED_TRACE(policy + " " + std::to_string(mtbf_s));
      const Job job = job_with([&](Experiment& experiment) {
        experiment.checkpoint.policy = policy;
        experiment.checkpoint.options = {{"mtbf_s", mtbf_s * 4}};
      });
      Decider rank(job, 0);
      rank.decider.begin(rank.now, 0);
      const auto every =
          static_cast<std::int64_t>(std::ceil(interval(Seconds(3), Seconds(mtbf_s)).count() - 1e-3));
      Rounds expected;
      for (std::int64_t round = 2; round <= 60; round += every) expected.push_back(round);
      EXPECT_EQ(rank.train(60, Seconds(3)), expected);
    }
}

/// After round 4, the commit of round 8: four more rounds take four seconds.
TEST(CommitDecider, DecidesAsManyRoundsAheadAsTheOthersNeed) {
  const Job job = job_with([](Experiment& experiment) {
    between_peers(experiment, "d-psgd");
    commit_after(experiment, 8.0);
  });
  Decider rank(job, 0);
  rank.decider.begin(rank.now, 0);
  Rounds planned;
  for (std::int64_t round = 1; round <= 4; ++round) {
    EXPECT_TRUE(rank.train(round, Seconds(1)).empty());
    if (rank.decider.planned().commits) planned.push_back(rank.decider.planned().round);
  }
  EXPECT_EQ(planned, Rounds{8});
  EXPECT_EQ(rank.train(25, Seconds(1)), (Rounds{8, 16, 24}));
}

/// Another worker decides with what the first one has sent to all: two seconds of work since the last commit
/// count, and what was decided and has not begun is decided again.
TEST(CommitDecider, ContinuesWhereAnotherOneHasEnded) {
  const Job job = job_with([](Experiment& experiment) { commit_after(experiment, 4.0); });
  Decider first(job, 0), second(job, 1);
  first.decider.begin(first.now, 0);
  EXPECT_EQ(first.train(6, Seconds(3)), Rounds{4});
  const auto last = first.decider.planned();
  ASSERT_FALSE(last.commits);
  EXPECT_FALSE(second.decider.resign().has_value());
  second.now = first.now;
  second.decider.begin_rounds(second.now, 6);
  second.decider.take_over({last.last_round, last.blocked, last.work});
  EXPECT_EQ(second.train(14, Seconds(3)), (Rounds{8, 12}));
  first.train(7, Seconds(3));
  ASSERT_TRUE(first.decider.planned().commits);
  first.decider.postpone();
  EXPECT_EQ(first.decider.planned().commits, false);
  EXPECT_EQ(first.train(10, Seconds(3)), Rounds{9}) << "the round that follows";
}

/// At once with replies; with a stream, when the others have learnt of it.
TEST(CommitDecider, EndsTheJobWithACommitWhenAsked) {
  const Job by_reply = job_with([](Experiment& experiment) { over_servers(experiment, {"a"}); });
  const Job by_stream = job_with([](Experiment& experiment) { commit_after(experiment, 1e6); });
  const Job by_counting = job_with([](Experiment&) {});
  for (const auto& [job, end] :
       {std::pair(&by_reply, 3), std::pair(&by_stream, 4), std::pair(&by_counting, 0)}) {
    Decider rank(*job, job->checkpoints().commits.decider);
    rank.decider.begin(rank.now, 0);
    rank.train(2, Seconds(1));
    rank.decider.request_end();
    std::int64_t ends = 0;
    for (std::int64_t round = 3; round <= 6; ++round) {
      rank.now += Seconds(1);
      rank.decider.round_done(rank.now, round, 4, false);
      if (rank.group.plans_on_stream()) {
        EXPECT_EQ(rank.decider.planned().ends, round + 1 == end);
      }
      if (rank.decider.ends_after(round)) ends = round;
      if (rank.decider.is_due(round)) rank.commit(Seconds(1));
    }
    EXPECT_EQ(ends, end);
  }
}

// ---- The ranks that commit together ----

TEST(CommitGroup, OfAnAsynchronousServerHasWorkersThatConfirmTheirRecords) {
  Job job = job_with([](Experiment& experiment) {
    over_servers(experiment, {"a"});
    experiment.sync.algorithm = "asp";
  });
  const Rank server = job.roster().servers().front(), worker = job.roster().first_worker();
  EXPECT_FALSE(CommitGroup(job, worker).listens()) << "a job that does not start again keeps no records";
  job.set_generation({});
  const CommitGroup of_server(job, server), of_worker(job, worker);
  EXPECT_TRUE(of_server.decides() && of_server.confirms_records() && !of_server.listens());
  EXPECT_EQ(of_server.recorders().size(), 4u);
  EXPECT_TRUE(of_server.listeners().empty());
  EXPECT_TRUE(of_worker.listens() && !of_worker.has_part());
}

/// The first of those that are present decides and writes the model; the others listen to it.
TEST(CommitGroup, FollowsTheMembers) {
  const Job job = job_with([](Experiment& experiment) {
    commit_after(experiment, 4.0);
    experiment.placement.servers = {"e"};  // of the steward
    experiment.transience.lifetime = "exponential";
    experiment.transience.options = {{"mean", 100.0}};
    experiment.recovery.policy = "shrink";
  });
  const auto workers = job.roster().workers();
  CommitGroup group(job, workers[1]);
  ASSERT_TRUE(group.changes());
  ASSERT_TRUE(group.is_awaited());
  EXPECT_EQ(group.decider(), workers[0]);
  EXPECT_TRUE(group.listens() && !group.writes_model());
  const Bytes before = group.size_of(workers[1]);
  group.begin_view(std::vector{1, 3}, 5);
  EXPECT_EQ(group.view(), 5);
  EXPECT_EQ(std::vector<Rank>(group.parts().begin(), group.parts().end()),
            (std::vector<Rank>{workers[1], workers[3]}));
  EXPECT_TRUE(group.decides() && group.writes_model() && !group.listens());
  EXPECT_EQ(group.listeners(), std::vector<Rank>{workers[3]});
  EXPECT_EQ(group.size_of(workers[1]) - before, job.model().bytes());
}

}  // namespace TANDEM_FILE
}  // namespace tandem
