// Metrics of a run: closed forms on small journals, and identities that hold for any journal.
#include "workloads/records/metrics.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "policies/vocabulary/rng.hpp"
#include "tests/support/seeds.hpp"
#include "workloads/records/summary.hpp"

namespace tandem {
namespace TANDEM_FILE {

RunInfo info_of(std::vector<std::string> roles, sync::Route over = sync::Route::server) {
  RunInfo info;
  info.world = "simulated";
  info.experiment.sync.over = over;
  info.experiment.warmup_steps = 0;
  info.roles = std::move(roles);
  info.hosts.assign(info.roles.size(), "host");
  return info;
}

const std::vector<std::string> two_and_a_server = {"worker", "worker", "server"};

Seconds& phase(StepRecord& step, Phase which) { return step.phases[static_cast<std::size_t>(which)]; }

StepRecord step_of(Rank rank, int step, int round, double start = 0, double backward = 0,
                   double exchange = 0) {
  StepRecord record{
      .rank = rank, .step = step, .round = round, .start = Seconds(start), .samples = 8, .bytes_sent = 100};
  record.bytes_received = 70;
  phase(record, Phase::backward) = Seconds(backward);
  phase(record, Phase::exchange) = Seconds(exchange);
  return record;
}

OperationRecord operation(Rank rank, const char* kind, Rank peer, double start, double end,
                          std::int64_t bytes = 64) {
  return {.rank = rank,
          .kind = kind,
          .peer = peer,
          .channel = kind == std::string("compute") ? "" : "1",
          .work = kind == std::string("compute") ? "update" : "",
          .bytes = bytes,
          .start = Seconds(start),
          .end = Seconds(end)};
}

TEST(Distributions, FollowFromTheirCounts) {
  Distribution distribution;
  EXPECT_TRUE(distribution.empty());
  distribution.add(4);
  distribution.add(1, 3);
  distribution.add(4);
  EXPECT_EQ(distribution.counts(), (std::map<std::int64_t, std::int64_t>{{1, 3}, {4, 2}}));
  EXPECT_EQ(distribution.total(), 5);
  EXPECT_EQ(distribution.min(), 1);
  EXPECT_EQ(distribution.max(), 4);
  EXPECT_DOUBLE_EQ(distribution.mean(), 11.0 / 5);
}

TEST(Staleness, IsCountedByWorker) {
  Journal journal;
  journal.note_applied(1, 2, 10);
  journal.note_applied(0, 0, 8);
  journal.note_applied(1, 0, 10);
  journal.note_applied(1, 2, 6);
  ASSERT_EQ(journal.staleness.size(), 3U);
  EXPECT_EQ(journal.staleness.front().rank, 0);
  EXPECT_EQ(journal.staleness.back().pushes, 2);
  EXPECT_EQ(journal.staleness.back().samples, 16);
  const auto ranks = staleness(journal);
  EXPECT_EQ(ranks.at(0).max(), 0);
  EXPECT_DOUBLE_EQ(ranks.at(1).mean(), 4.0 / 3);
  EXPECT_EQ(merged(ranks).total(), 4);
  EXPECT_TRUE(staleness(Journal()).empty());
}

TEST(LocalSteps, AreCountedPerWorkerAndRound) {
  Journal journal;
  journal.steps = {step_of(0, 0, 0), step_of(1, 0, 0), step_of(1, 1, 0),
                   step_of(0, 1, 1), step_of(1, 2, 1), step_of(0, 2, 2)};
  const auto ranks = local_steps(journal);
  EXPECT_EQ(ranks.at(0).counts(), (std::map<std::int64_t, std::int64_t>{{1, 3}}));
  EXPECT_EQ(ranks.at(1).counts(), (std::map<std::int64_t, std::int64_t>{{1, 1}, {2, 1}}));
  EXPECT_DOUBLE_EQ(merged(ranks).mean(), 6.0 / 5);
}

TEST(Samples, AreAppliedDroppedOrPending) {
  Journal journal;
  journal.steps = {step_of(0, 0, 0), step_of(1, 0, 0), step_of(0, 1, 1), step_of(1, 1, 1)};
  journal.note_applied(0, 0, 8);
  journal.dropped_samples = 16;
  const SampleCounts samples = sample_counts(info_of(two_and_a_server), journal);
  EXPECT_EQ(samples.processed, 32);
  EXPECT_EQ(samples.applied, 8);
  EXPECT_EQ(samples.pending, 8);
}

TEST(Samples, AnAllReduceAppliesAll) {
  Journal journal;
  journal.steps = {step_of(0, 0, 0), step_of(1, 0, 0)};
  EXPECT_EQ(sample_counts(info_of({"worker", "worker"}, sync::Route::all_reduce), journal).applied, 16);
  EXPECT_EQ(sample_counts(info_of({"worker", "worker"}, sync::Route::all_reduce), journal).pending, 0);
  EXPECT_FALSE(sample_counts(info_of({"worker", "worker"}, sync::Route::peers), journal).applied);
}

/// Two ranks; one has departed. `lost_samples` of the generation that ended; none: not known.
RunInfo started_again_in_place(sync::Route over, std::optional<std::int64_t> lost_samples) {
  RunInfo info = info_of(two_and_a_server, over);
  info.experiment.transience.lifetime = "exponential";
  info.experiment.recovery.mode = RecoveryMode::in_place;
  info.generations = {{.ended = "a rank died", .lost_samples = lost_samples}, {}};
  return info;
}

TEST(Samples, OfGenerationsInPlaceAreDoneAgainAndNotLost) {
  Journal journal;
  journal.membership.emplace_back();
  journal.steps = {step_of(0, 0, 0), step_of(1, 0, 0)};
  for (const auto over : {sync::Route::peers, sync::Route::all_reduce, sync::Route::server}) {
    if (over == sync::Route::server) journal.note_applied(0, 0, 16);
    const SampleCounts samples = sample_counts(started_again_in_place(over, 24), journal);
    EXPECT_EQ(samples.done_again, 24);
    EXPECT_EQ(samples.lost, 0);
    EXPECT_TRUE(samples.lost_is_known);
    const SampleCounts unknown = sample_counts(started_again_in_place(over, std::nullopt), journal);
    EXPECT_FALSE(unknown.done_again);
    EXPECT_EQ(unknown.lost, 0);
  }
}

/// A rank was killed before it had recorded steps that the restart point has.
TEST(Samples, ThatWereLostInPlaceAreNotKnownWithoutTheRecordsOfSomeSteps) {
  Journal journal;
  journal.membership.emplace_back();
  journal.steps = {step_of(0, 0, 0), step_of(0, 1, 1), step_of(0, 2, 2), step_of(1, 0, 0), step_of(1, 1, 1)};
  journal.note_applied(0, 0, 32);
  const RunInfo info = started_again_in_place(sync::Route::server, std::nullopt);
  EXPECT_TRUE(sample_counts(info, journal).lost_is_known);
  EXPECT_EQ(sample_counts(info, journal).lost, 8);
  journal.steps.erase(journal.steps.begin() + 1);
  EXPECT_FALSE(sample_counts(info, journal).lost_is_known);
  EXPECT_EQ(sample_counts(info, journal).lost, 0);
  // Or all later ones.
  journal.steps = {step_of(0, 0, 0)};
  EXPECT_FALSE(sample_counts(info, journal).lost_is_known);
}

TEST(Shares, AreRelativeToTheWholeRun) {
  Journal journal;
  journal.steps = {step_of(0, 0, 0, 1, 2, 3)};
  phase(journal.steps[0], Phase::load) = Seconds(0.5);
  phase(journal.steps[0], Phase::forward) = Seconds(1);
  phase(journal.steps[0], Phase::update) = Seconds(0.25);
  phase(journal.steps[0], Phase::query) = Seconds(0.25);
  const TimeShares shares = time_shares(info_of({"worker"}), journal, Seconds(10)).at(0);
  EXPECT_DOUBLE_EQ(shares.computing, 0.325);
  EXPECT_DOUBLE_EQ(shares.data, 0.05);
  EXPECT_DOUBLE_EQ(shares.query, 0.025);
  EXPECT_DOUBLE_EQ(shares.exchange, 0.3);
  EXPECT_DOUBLE_EQ(shares.other, 0.3);
}

/// Two rounds of two workers over a server, in seconds. In the first exchange, from 2 to 5, the server writes
/// for 2 s. Then worker 0 writes for 1 s and worker 1 for 3 s.
Journal two_rounds_with_a_commit() {
  Journal journal;
  journal.steps = {step_of(0, 0, 0, 0, 2, 3), step_of(1, 0, 0, 0, 2, 3), step_of(0, 1, 1, 6, 2, 3),
                   step_of(1, 1, 1, 8, 2, 1)};
  journal.commits = {{.round = 1,
                      .started = Seconds(2.5),
                      .ended = Seconds(8),
                      .blocked = Seconds(5),
                      .by_servers = Seconds(2)}};
  return journal;
}

TEST(Shares, WaitingForCommitsIsNoExchange) {
  Journal journal = two_rounds_with_a_commit();
  const RunInfo info = info_of(two_and_a_server);
  const auto shares = time_shares(info, journal, Seconds(11));
  EXPECT_DOUBLE_EQ(shares.at(0).computing, 4.0 / 11);
  EXPECT_DOUBLE_EQ(shares.at(0).exchange, (1.0 + 3) / 11);
  EXPECT_DOUBLE_EQ(shares.at(0).commits, (2.0 + 1) / 11);
  EXPECT_NEAR(shares.at(0).other, 0, 1e-12);
  EXPECT_DOUBLE_EQ(shares.at(1).exchange, (1.0 + 1) / 11);
  EXPECT_DOUBLE_EQ(shares.at(1).commits, (2.0 + 3) / 11);
  EXPECT_NEAR(shares.at(1).other, 0, 1e-12);
  EXPECT_DOUBLE_EQ(mean_of(shares).commits, 4.0 / 11);
  // A receive from 4.5 to 5: of the first exchange, half a second is left.
  journal.operations = {operation(0, "receive", 2, 2, 5), operation(2, "send", 0, 4.5, 5),
                        operation(0, "receive", 2, 8, 11), operation(2, "send", 0, 8, 11)};
  const ExchangeShares parts = exchange_shares(info, journal, Seconds(11)).at(0);
  EXPECT_DOUBLE_EQ(parts.communicating, 3.5 / 11);
  EXPECT_DOUBLE_EQ(parts.waiting, 0.5 / 11);
}

TEST(Shares, CommitsAreWaitedForAfterTheLastStepAndUntilTheMachineDeparts) {
  Journal journal;
  journal.steps = {step_of(0, 0, 0, 0, 2, 0), step_of(1, 0, 0, 0, 2, 0), step_of(1, 1, 1, 9, 1, 0)};
  journal.commits = {{.round = 1, .started = Seconds(2), .ended = Seconds(4), .blocked = Seconds(2)}};
  const RunInfo info = info_of({"worker", "worker"}, sync::Route::all_reduce);
  auto shares = time_shares(info, journal, Seconds(10));
  EXPECT_DOUBLE_EQ(shares.at(0).commits, 0.2) << "after the last step";
  EXPECT_DOUBLE_EQ(shares.at(1).commits, 0.2);
  EXPECT_DOUBLE_EQ(shares.at(1).other, 0.5);
  journal.membership = {{.time = Seconds(3), .slot = 1, .event = "departed"}};
  shares = time_shares(info, journal, Seconds(10));
  EXPECT_DOUBLE_EQ(shares.at(1).commits, 0.1);
  EXPECT_DOUBLE_EQ(shares.at(0).commits, 0.2);
}

/// Copies of 1 s, stored in 5 s while one worker passes rounds and the other one has ended, and in 3 s after
/// the job's last step.
TEST(Shares, CommitsInTheBackgroundAreWaitedForAtTheEndOnly) {
  Journal journal;
  journal.steps = {step_of(0, 0, 0, 0, 2, 0), step_of(1, 0, 0, 0, 2, 0), step_of(0, 1, 4, 8, 1, 0)};
  journal.commits = {{.round = 1, .started = Seconds(2), .ended = Seconds(7), .blocked = Seconds(1)},
                     {.round = 5, .started = Seconds(9), .ended = Seconds(12), .blocked = Seconds(1)}};
  RunInfo info = info_of({"worker", "worker"}, sync::Route::all_reduce);
  info.experiment.checkpoint.mode = CommitMode::background;
  for (const auto& [rank, shares] : time_shares(info, journal, Seconds(12)))
    EXPECT_DOUBLE_EQ(shares.commits, (1.0 + 3) / 12) << rank;
}

TEST(Shares, AddUpToOneExactly) {
  for (const auto seed : testing::seeds(200)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    Journal journal;
    double now = rng.uniform();
    for (int step = 0; step < 40; ++step) {
      StepRecord record{.rank = step % 3, .step = step / 3, .start = Seconds(now)};
      for (auto& time : record.phases) time = Seconds(rng.uniform() * 1e-2);
      now += record.duration().count();
      journal.steps.push_back(record);
    }
    const auto ranks = time_shares(info_of({}), journal, Seconds(now * (1 + rng.uniform())));
    ASSERT_EQ(ranks.size(), 3U);
    for (const auto& [rank, s] : ranks)
      EXPECT_EQ(s.computing + s.data + s.query + s.exchange + s.other, 1.0) << rank;
    const TimeShares mean = mean_of(ranks);
    EXPECT_EQ(mean.computing + mean.data + mean.query + mean.exchange + mean.other, 1.0);
  }
}

/// Gradient from 0 to 2; the send lasts until 3, the server replies from 6 to 8.
TEST(ExchangeShares, SeparateWaitingFromTransfers) {
  Journal journal;
  journal.steps = {step_of(0, 0, 0, 0, 2, 6)};
  journal.operations = {operation(0, "compute", -1, 0, 2), operation(0, "send", 2, 1, 3),
                        operation(0, "receive", 2, 2, 8), operation(2, "receive", 0, 0, 3),
                        operation(2, "send", 0, 6, 9)};
  const RunInfo info = info_of(two_and_a_server);
  const ExchangeShares shares = exchange_shares(info, journal, Seconds(10)).at(0);
  EXPECT_DOUBLE_EQ(shares.communicating, 0.3);
  EXPECT_DOUBLE_EQ(shares.waiting, 0.3);
  // Clocks of several machines may move the end of the send by 2.9 s, but not by 3.1 s.
  RunInfo on_machines = info;
  on_machines.physics["clocks"] = {{"uncertainty_s", 2.9}};
  EXPECT_EQ(exchange_shares(on_machines, journal, Seconds(10)).size(), 1U);
  on_machines.physics["clocks"]["uncertainty_s"] = 3.1;
  EXPECT_TRUE(exchange_shares(on_machines, journal, Seconds(10)).empty());
  journal.operations.clear();
  EXPECT_TRUE(exchange_shares(info, journal, Seconds(10)).empty());
}

/// The next batch, decoded during the exchange; its end is noticed when the next step needs it.
TEST(ExchangeShares, DecodingTheNextBatchIsNoCommunication) {
  Journal journal;
  journal.steps = {step_of(0, 0, 0, 0, 2, 6)};
  OperationRecord decode = operation(0, "compute", -1, 1, 8);
  decode.work = "decode";
  journal.operations = {operation(0, "compute", -1, 0, 2), decode, operation(0, "receive", 2, 2, 8),
                        operation(2, "send", 0, 6, 9)};
  const ExchangeShares shares = exchange_shares(info_of(two_and_a_server), journal, Seconds(10)).at(0);
  EXPECT_DOUBLE_EQ(shares.communicating, 0.2);
  EXPECT_DOUBLE_EQ(shares.waiting, 0.4);
}

OperationRecord all_reduce(Rank rank, const char* members, double start, double end) {
  OperationRecord record = operation(rank, "all-reduce", -1, start, end);
  record.work = members;
  return record;
}

/// The first all-reduce of ranks 0 and 1 waits for rank 1 until 5, the second for rank 0; that of other ranks
/// does not count.
TEST(ExchangeShares, AnAllReduceStartsWithItsLastMember) {
  Journal journal;
  journal.steps = {step_of(0, 0, 0, 0, 2, 6), step_of(0, 1, 1, 8, 1, 1)};
  journal.operations = {operation(0, "compute", -1, 0, 2), all_reduce(0, "0-1", 1, 8),
                        all_reduce(2, "2-3", 0, 9),        all_reduce(0, "0-1", 9, 10),
                        all_reduce(1, "0-1", 5, 8.5),      all_reduce(1, "0-1", 8.5, 10)};
  const ExchangeShares shares = exchange_shares(info_of({"worker", "worker"}), journal, Seconds(10)).at(0);
  EXPECT_DOUBLE_EQ(shares.communicating, 0.4);
  EXPECT_DOUBLE_EQ(shares.waiting, 0.3);
}

/// The exchange does not end its step: the received update is applied from 8 to 9.
TEST(ExchangeShares, AnUpdateAfterTheExchangeDoesNotCount) {
  Journal journal;
  journal.steps = {step_of(0, 0, 0, 0, 2, 6), step_of(0, 1, 1, 9, 1, 2)};
  phase(journal.steps[0], Phase::update) = Seconds(1);
  journal.operations = {operation(0, "compute", -1, 0, 2),  operation(0, "receive", 1, 2, 8),
                        operation(1, "send", 0, 7, 8),      operation(0, "compute", -1, 8, 9),
                        operation(0, "compute", -1, 9, 10), operation(0, "receive", 1, 10, 12),
                        operation(1, "send", 0, 10.5, 11.5)};
  const ExchangeShares shares = exchange_shares(info_of({"worker", "worker"}), journal, Seconds(12)).at(0);
  EXPECT_DOUBLE_EQ(shares.communicating, 2.5 / 12);
  EXPECT_DOUBLE_EQ(shares.waiting, 5.5 / 12);
}

/// Sent at 2, answered at once; the worker notices only at 8 that its send has completed.
TEST(ExchangeShares, MessagesToTheCoordinatorDoNotCount) {
  Journal journal;
  journal.steps = {step_of(0, 0, 0, 0, 2, 6)};
  journal.operations = {operation(0, "compute", -1, 0, 2), operation(0, "send", 2, 1, 8, 0),
                        operation(2, "receive", 0, 0, 2, 0), operation(0, "send", 2, 2, 8),
                        operation(2, "receive", 0, 2, 5)};
  const RunInfo info = info_of(two_and_a_server);
  EXPECT_DOUBLE_EQ(exchange_shares(info, journal, Seconds(10)).at(0).communicating, 0.3);
  EXPECT_TRUE(
      exchange_shares(info_of({"worker", "worker"}, sync::Route::peers), journal, Seconds(10)).empty());
}

/// Prefetched batches are in flight while the worker waits for its exchange.
TEST(ExchangeShares, PrefetchedDataDoesNotCount) {
  Journal journal;
  journal.steps = {step_of(0, 0, 0, 0, 2, 6)};
  journal.operations = {operation(0, "compute", -1, 0, 2), operation(0, "receive", 3, 0, 8),
                        operation(3, "send", 0, 0, 8)};
  const RunInfo info = info_of({"worker", "worker", "server", "cache-node"});
  EXPECT_DOUBLE_EQ(exchange_shares(info, journal, Seconds(10)).at(0).communicating, 0);
  EXPECT_DOUBLE_EQ(exchange_shares(info, journal, Seconds(10)).at(0).waiting, 0.6);
}

TEST(Servers, ASingleServerReceivesWhatWorkersSend) {
  Journal journal;
  journal.steps = {step_of(0, 0, 0), step_of(1, 0, 0), step_of(1, 1, 1)};
  const auto servers = server_figures(info_of(two_and_a_server), journal, Seconds(1));
  ASSERT_EQ(servers.size(), 1U);
  EXPECT_EQ(servers.at(2).bytes_received, 300);
  EXPECT_EQ(servers.at(2).bytes_sent, 210);
  EXPECT_FALSE(servers.at(2).computing) << "its operations were not recorded";
}

TEST(Servers, TrafficOfSeveralServersNeedsOperations) {
  const RunInfo info = info_of({"worker", "server", "server", "evaluator"});
  Journal journal;
  journal.steps = {step_of(0, 0, 0)};
  EXPECT_FALSE(server_figures(info, journal, Seconds(1)).at(1).bytes_sent);
  journal.operations = {operation(0, "send", 1, 0, 1, 60),  operation(0, "send", 2, 0, 1, 40),
                        operation(1, "send", 0, 2, 3, 50),  operation(1, "receive", 0, 0, 1, 999),
                        operation(2, "send", 1, 2, 3, 777), operation(1, "compute", -1, 1, 2),
                        operation(1, "send", 3, 2, 3, 5)};
  const auto servers = server_figures(info, journal, Seconds(4));
  EXPECT_EQ(servers.at(1).bytes_received, 60);
  EXPECT_EQ(servers.at(1).bytes_sent, 50) << "checkpoints do not count";
  EXPECT_EQ(servers.at(2).bytes_received, 40);
  EXPECT_EQ(servers.at(2).bytes_sent, 0);
  EXPECT_DOUBLE_EQ(*servers.at(1).computing, 0.25);
}

TEST(Servers, UseBothDirectionsOfTheirLinkWhileMessagesTravelBothWays) {
  const RunInfo info = info_of({"worker", "worker", "server", "evaluator"});
  Journal journal;
  // In from 0 to 4, of which 2 to 3 is common to two workers; out from 3 to 6.
  journal.operations = {operation(0, "send", 2, 0, 2),    operation(2, "receive", 0, 0, 3),
                        operation(1, "send", 2, 2, 4),    operation(2, "receive", 1, 0, 4),
                        operation(2, "send", 0, 3, 5),    operation(0, "receive", 2, 0, 6),
                        operation(0, "send", 2, 8, 9, 0), operation(2, "receive", 0, 4, 10, 0),
                        operation(2, "send", 3, 7, 8),    operation(3, "receive", 2, 0, 8)};
  const LinkUse link = server_figures(info, journal, Seconds(10)).at(2).link.value();
  EXPECT_DOUBLE_EQ(link.in, 0.4) << "an empty message is no payload";
  EXPECT_DOUBLE_EQ(link.out, 0.3) << "checkpoints do not count";
  EXPECT_DOUBLE_EQ(link.both, 0.1);
  journal.operations.clear();
  EXPECT_FALSE(server_figures(info, journal, Seconds(10)).at(2).link);
}

TEST(Target, IsReachedByTheFirstEvaluationThatIsGoodEnough) {
  RunInfo info = info_of(two_and_a_server);
  Journal journal;
  journal.evaluations = {{1, 100, Seconds(1), Seconds(1.5), 0.3, 0},
                         {2, 200, Seconds(2), Seconds(2.5), 0.8, 0},
                         {3, 300, Seconds(3), Seconds(3.5), 0.7, 0},
                         {4, 400, Seconds(4), Seconds(4.5), 0.9, 0}};
  EXPECT_FALSE(time_to_target(info, journal)) << "there is no target";
  info.experiment.target_accuracy = 0.8;
  const auto reached = time_to_target(info, journal);
  ASSERT_TRUE(reached && reached->reached);
  EXPECT_EQ(reached->reached->round, 2);
  EXPECT_EQ(reached->reached->checkpoint_time, Seconds(2));
  EXPECT_EQ(reached->evaluations, 4);
  info.experiment.target_accuracy = 0.95;
  EXPECT_FALSE(time_to_target(info, journal)->reached);
  EXPECT_DOUBLE_EQ(*time_to_target(info, journal)->best, 0.9);
}

TEST(Target, OfModelledMathematicsIsNotEvaluated) {
  RunInfo info = info_of(two_and_a_server);
  info.experiment.target_accuracy = 0.5;
  Journal journal;
  journal.evaluations = {{1, 100, Seconds(1), Seconds(1.5), std::numeric_limits<double>::quiet_NaN(), 0}};
  const auto result = time_to_target(info, journal);
  EXPECT_EQ(result->evaluations, 0);
  EXPECT_FALSE(result->best);
  EXPECT_FALSE(result->reached);
}

TEST(SummaryOfMetrics, ContainsAllMetrics) {
  RunInfo info = info_of(two_and_a_server);
  info.experiment.target_accuracy = 0.5;
  Journal journal;
  journal.steps = {step_of(0, 0, 0, 0, 1, 1), step_of(1, 0, 0, 0, 1, 0), step_of(1, 1, 0, 1, 1, 2)};
  journal.note_applied(0, 0, 8);
  journal.note_applied(1, 1, 16);
  journal.evaluations = {{1, 24, Seconds(2), Seconds(3), 0.6, 0}};
  const auto summary = to_json(summarise(info, journal, Seconds(4)));
  EXPECT_EQ(summary["applied_samples"], 24);
  EXPECT_EQ(summary["pending_samples"], 0);
  EXPECT_DOUBLE_EQ(summary["applied_throughput"], 6);
  EXPECT_DOUBLE_EQ(summary["shares"]["computing"], 0.375);
  EXPECT_DOUBLE_EQ(summary["ranks"][1]["shares"]["exchange"], 0.5);
  EXPECT_TRUE(summary["exchange_shares"].is_null());
  EXPECT_EQ(summary["staleness"]["counts"].dump(), "[[0,1],[1,1]]");
  EXPECT_EQ(summary["ranks"][1]["staleness"]["mean"], 1);
  EXPECT_EQ(summary["local_steps"]["max"], 2);
  EXPECT_EQ(summary["ranks"][0]["local_steps"]["count"], 1);
  EXPECT_EQ(summary["servers"][0]["bytes_received"], 300);
  EXPECT_EQ(summary["time_to_target"]["samples"], 24);
  EXPECT_EQ(summary["time_to_target"]["time_s"], 3.0);
}

TEST(SummaryOfMetrics, ReportsTheLoadOfShards) {
  RunInfo info = info_of({"worker", "server", "server"});
  info.sharding = {{"bytes", {300, 100}}, {"largest_over_mean", 1.5}};
  Journal journal;
  journal.steps = {step_of(0, 0, 0, 0, 1, 1)};
  const auto summary = to_json(summarise(info, journal, Seconds(4)));
  EXPECT_EQ(summary["sharding"]["shards"], 2);
  EXPECT_EQ(summary["sharding"]["mean_bytes"], 200);
  EXPECT_EQ(summary["sharding"]["max_bytes"], 300);
  EXPECT_EQ(summary["sharding"]["largest_over_mean"], 1.5);
  EXPECT_EQ(summary["servers"][1]["shard_bytes"], 100);
}

TEST(SummaryOfMetrics, UnknownMetricsAreNull) {
  Journal journal;
  journal.steps = {step_of(0, 0, 0, 0, 1, 1)};
  const auto summary = to_json(summarise(info_of({"worker"}, sync::Route::all_reduce), journal, Seconds(4)));
  for (const char* key : {"staleness", "exchange_shares", "time_to_target", "sharding"})
    EXPECT_TRUE(summary[key].is_null()) << key;
  EXPECT_TRUE(summary["servers"].empty());
}

}  // namespace TANDEM_FILE
}  // namespace tandem
