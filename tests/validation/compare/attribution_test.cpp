// Attribution of the error of step time to phases, ranks and links.
#include "validation/compare/attribution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "policies/vocabulary/rng.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/synthetic_results.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

constexpr auto phase_of(Phase phase) { return static_cast<std::size_t>(phase); }

/// Results with the given steps, all of which count.
Results world(std::vector<StepRecord> steps, std::vector<OperationRecord> operations = {}) {
  Results results;
  results.info.experiment.warmup_steps = 0;
  results.info.hosts = {"a", "b", "server"};
  results.journal.steps = std::move(steps);
  results.journal.operations = std::move(operations);
  return results;
}

StepRecord step(Rank rank, double start, double forward, double exchange) {
  StepRecord record{.rank = rank, .start = Seconds(start)};
  record.phases[phase_of(Phase::forward)] = Seconds(forward);
  record.phases[phase_of(Phase::exchange)] = Seconds(exchange);
  return record;
}

OperationRecord message(const char* kind, Rank rank, Rank peer, double start, double end) {
  return {.rank = rank, .kind = kind, .peer = peer, .start = Seconds(start), .end = Seconds(end)};
}

double sum(const std::vector<Contribution>& contributions) {
  double total = 0;
  for (const auto& contribution : contributions) total += contribution.share;
  return total;
}

const Contribution* find(const std::vector<Contribution>& all, const std::string& phase, Rank rank,
                         const std::string& kind = "", Rank peer = -1) {
  for (const auto& one : all)
    if (one.phase == phase && one.rank == rank && one.kind == kind && one.peer == peer) return &one;
  return nullptr;
}

TEST(Attribution, NamesThePhaseAndRankThatDiffer) {
  const auto simulated = world({step(0, 0, 1, 1), step(1, 0, 1, 1)});
  const auto measured = world({step(0, 0, 1, 1), step(1, 0, 3, 1)});
  const auto parts = attribution(simulated, {measured});
  ASSERT_EQ(parts.size(), 1U);
  // Mean steps of 2 and 3.
  EXPECT_EQ(parts.front(), (Contribution{"forward", 1, "", -1, -1.0 / 3}));
}

TEST(Attribution, TimeOfAnExchangeBelongsToTheOperationThatEndedIt) {
  // An exchange from 1 to 4: the send ends at 2, the receive at 4; in the measured run the send ends at 5.
  const auto simulated =
      world({step(0, 0, 1, 3)}, {message("send", 0, 2, 1, 2), message("receive", 0, 2, 1, 4)});
  const auto measured =
      world({step(0, 0, 1, 6)}, {message("send", 0, 2, 1, 5), message("receive", 0, 2, 1, 7)});
  const auto parts = attribution(simulated, {measured});
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts.front().kind, "send");
  EXPECT_EQ(parts.front().peer, 2);
  EXPECT_DOUBLE_EQ(parts.front().share, -3.0 / 7);
}

TEST(Attribution, OperationsOutsideThePhaseAreNotItsCause) {
  const auto simulated = world({step(0, 0, 2, 1)}, {message("receive", 0, 1, 0, 1)});
  const auto measured = world({step(0, 0, 2, 2)}, {message("receive", 0, 1, 0, 1)});
  const auto parts = attribution(simulated, {measured});
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts.front().kind, "");
  EXPECT_DOUBLE_EQ(parts.front().share, -0.25);
}

TEST(Attribution, DifferentSharesOfStepsAreASeparatePart) {
  // Rank 0 takes 1, rank 1 takes 3; in the measured run only one of three steps is rank 1's.
  const auto simulated = world({step(0, 0, 1, 0), step(1, 0, 3, 0)});
  const auto measured = world({step(0, 0, 1, 0), step(0, 1, 1, 0), step(1, 0, 3, 0)});
  const auto parts = attribution(simulated, {measured});
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts.front().phase, "share of steps");
  EXPECT_NEAR(parts.front().share, (2 - 5.0 / 3) / (5.0 / 3), 1e-12);
}

TEST(Attribution, ARankThatExistsInOnlyOneResultIsAccountedFor) {
  const auto parts = attribution(world({step(0, 0, 1, 0)}), {world({step(0, 0, 1, 0), step(1, 0, 3, 0)})});
  EXPECT_NEAR(sum(parts), (1 - 2) / 2.0, 1e-12);
  ASSERT_NE(find(parts, "forward", 1), nullptr);
}

TEST(Attribution, AlwaysAddsUpToTheError) {
  for (const auto seed : testing::seeds(30)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const char* const algorithms[] = {"bsp", "asp", "esync", "local-sgd"};
    const testing::SyntheticJob job{.algorithm = algorithms[seed % 4], .rounds = 8};
    const auto variant = testing::synthetic_variant(
        job, {.compute_bias = 0.3 * rng.normal(), .exchange_bias = 0.3 * rng.uniform()}, seed);
    const auto comparison = compare(variant.simulated, variant.measured, {.resampling = {.resamples = 10}});
    EXPECT_NEAR(sum(comparison.attribution), comparison.figure("step_time").error, 1e-12);
    for (std::size_t i = 1; i < comparison.attribution.size(); ++i)
      EXPECT_GE(std::abs(comparison.attribution[i - 1].share), std::abs(comparison.attribution[i].share));
  }
}

/// Each worker's seconds of loading, computing and exchange in a round; of the loading, seconds of decoding.
using RoundTimes = std::vector<std::array<double, 4>>;

Results rounds_of_bsp(const RoundTimes& workers, const std::string& algorithm) {
  std::vector<StepRecord> steps;
  for (int round = 0; round < 3; ++round)
    for (std::size_t rank = 0; rank < workers.size(); ++rank) {
      const auto& [load, forward, exchange, decoding] = workers[rank];
      auto& record = steps.emplace_back(
          step(static_cast<Rank>(rank), round * (load + forward + exchange), forward, exchange));
      record.phases[phase_of(Phase::load)] = Seconds(load);
      record.decoding = Seconds(decoding);
      record.step = record.round = round;
    }
  Results results = world(std::move(steps));
  results.info.experiment.sync.algorithm = algorithm;
  return results;
}

std::optional<Binding> binding_of(const Results& results) { return binding(results.info, results.journal); }

TEST(Binding, WaitsInExchangesBelongToWhatTheLastWorkerOfTheRoundDid) {
  struct Case {
    const char* what;
    const char* algorithm;
    RoundTimes workers;
    Binding expected;  ///< in seconds per round of all workers
  };
  for (const auto& [what, algorithm, workers, expected] :
       {Case{"a disk serves one worker late, so that two others wait 5 s for it",
             "bsp",
             {{0, 2, 6}, {0, 2, 6}, {5, 2, 1}},
             {.computing = 6, .data = 15, .exchange = 3, .later_samples = 10}},
        Case{"one worker is slow",
             "bsp",
             {{0, 2, 6}, {0, 7, 1}},
             {.computing = 14, .exchange = 2, .slower_workers = 5}},
        Case{"one worker is slow and its samples are late",
             "bsp",
             {{0, 2, 5}, {1, 5, 1}},
             {.computing = 10, .data = 2, .exchange = 2, .slower_workers = 3, .later_samples = 1}},
        Case{"one worker decodes longer, and its samples are late",
             "bsp",
             {{1, 2, 6, 1}, {6, 2, 1, 4}},
             {.computing = 4,
             .data = 4,
             .decoding = 8,
             .exchange = 2,
             .later_samples = 2,
             .slower_decoding = 3}},
        Case{"all are alike", "bsp", {{1, 2, 1}, {1, 2, 1}}, {.computing = 4, .data = 2, .exchange = 2}},
        Case{"nobody waits for the others",
             "asp",
             {{0, 2, 6}, {5, 2, 1, 2}},
             {.computing = 4, .data = 3, .decoding = 2, .exchange = 7}}}) {
    const auto found = binding_of(rounds_of_bsp(workers, algorithm));
    ASSERT_TRUE(found) << what;
    double all = 0;
    for (const auto& phases : workers) all += phases[0] + phases[1] + phases[2];
    EXPECT_NEAR(found->computing, expected.computing / all, 1e-12) << what;
    EXPECT_NEAR(found->data, expected.data / all, 1e-12) << what;
    EXPECT_NEAR(found->decoding, expected.decoding / all, 1e-12) << what;
    EXPECT_NEAR(found->slower_decoding, expected.slower_decoding / all, 1e-12) << what;
    EXPECT_NEAR(found->exchange, expected.exchange / all, 1e-12) << what;
    EXPECT_NEAR(found->slower_workers, expected.slower_workers / all, 1e-12) << what;
    EXPECT_NEAR(found->later_samples, expected.later_samples / all, 1e-12) << what;
    EXPECT_EQ(found->query, 0) << what;
  }
  EXPECT_FALSE(binding_of(world({})));
}

/// Two rounds. In the first exchange the server writes for 2 of 3 s; then worker 0 writes for 1 s and worker
/// 1 for 3 s, so that worker 0 waits for 2 s more in the next exchange, which takes 1 s.
TEST(Binding, WaitsForCommitsAreNoExchange) {
  std::vector<StepRecord> steps = {step(0, 0, 2, 3), step(1, 0, 2, 3), step(0, 6, 2, 3), step(1, 8, 2, 1)};
  steps[2].round = steps[3].round = steps[2].step = steps[3].step = 1;
  Results results = world(std::move(steps));
  results.journal.commits = {{.round = 1,
                              .started = Seconds(2.5),
                              .ended = Seconds(8),
                              .blocked = Seconds(5),
                              .by_servers = Seconds(2)}};
  const auto found = binding_of(results);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->computing, 8.0 / 22, 1e-12);
  EXPECT_NEAR(found->exchange, 4.0 / 22, 1e-12);
  EXPECT_NEAR(found->commits, (2 * 2 + 1 + 3 + 2) / 22.0, 1e-12);
  EXPECT_NEAR(found->slower_commits, 2.0 / 22, 1e-12);
  EXPECT_EQ(found->slower_workers, 0);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
