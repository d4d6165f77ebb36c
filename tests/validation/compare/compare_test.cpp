// The parity gates: records that agree pass; each kind of falsified record fails with a message that names
// it. And the error figures.
#include "validation/compare/compare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "policies/vocabulary/check.hpp"
#include "tests/support/synthetic_results.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

using ::testing::HasSubstr;
using testing::synthetic_variant;
using State = Gate::State;

const CompareOptions quick{.resampling = {.resamples = 200}};

OperationRecord& nth_operation(Results& results, Rank rank, const std::string& kind, int n) {
  auto& operations = results.journal.operations;
  const auto found = std::find_if(operations.begin(), operations.end(), [&](const auto& record) {
    return record.rank == rank && record.kind == kind && n-- == 0;
  });
  EXPECT_NE(found, operations.end());
  return *found;
}

std::string error_of(const VariantResults& variant) {
  try {
    compare(variant.simulated, variant.measured, quick);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Compatibility, ResultsOfDifferentExperimentsAreRefused) {
  auto variant = synthetic_variant({});
  variant.measured[1].info.experiment.optimizer.momentum = 0.9;
  EXPECT_THAT(error_of(variant), HasSubstr("'optimizer.momentum' is 0.0 in the first and 0.9 in the second"));
  EXPECT_THAT(error_of(variant), HasSubstr(variant.measured[1].path));
}

TEST(Witness, ItsValuesAreReportedWithBothResults) {
  auto variant = synthetic_variant({});
  variant.witness = variant.simulated;
  variant.witness->info.world = "smpi";
  for (auto& step : variant.witness->journal.steps) step.phases[0] += Seconds(0.001);
  const auto compared = validation::compared(variant, quick);
  const Figure& step_time = compared.comparison->figure("step_time");
  ASSERT_TRUE(step_time.witness);
  EXPECT_NEAR(*step_time.witness, step_time.simulated + 0.001, 1e-12);
  const auto set = summarise_set("all", {&compared}, {.resamples = 200});
  const ErrorSummary& errors = *set.find("step_time");
  EXPECT_EQ(errors.witnessed, 1);
  EXPECT_NEAR(*errors.code_path, 0.001 / step_time.measured, 1e-9);
  EXPECT_NEAR(*errors.model, std::abs(*step_time.witness - step_time.measured) / step_time.measured, 1e-9);
}

TEST(Witness, OfAnotherJobIsRefused) {
  auto variant = synthetic_variant({});
  variant.witness = variant.simulated;
  variant.witness->info.experiment.optimizer.momentum = 0.9;
  EXPECT_THROW(compared(variant, quick), ConfigError);
}

TEST(Compatibility, SettingsOfTheSimulatorMayDiffer) {
  auto variant = synthetic_variant({});
  variant.simulated.info.experiment.physics.profile = "profile.json";
  variant.simulated.info.experiment.physics.network = NetworkSource::profile;
  EXPECT_EQ(error_of(variant), "no error");
}

TEST(Compatibility, WorldsAndRolesMustMatch) {
  auto variant = synthetic_variant({});
  variant.measured[0].info.roles.emplace_back("evaluator");
  EXPECT_THAT(error_of(variant), HasSubstr("have different roles"));
  variant = synthetic_variant({});
  std::swap(variant.simulated, variant.measured[0]);
  EXPECT_THAT(error_of(variant), HasSubstr("expected a simulated result, found a measured one"));
  variant.measured.clear();
  EXPECT_THAT(error_of(variant), HasSubstr("nothing to compare"));
}

TEST(Compatibility, StepsAfterTheWarmUpAreRequired) {
  auto variant = synthetic_variant({.rounds = 2});
  EXPECT_THAT(error_of(variant), HasSubstr("no step beyond the 2 warm-up steps"));
}

TEST(Parity, IdenticalRunsPass) {
  for (const sync::Route over : {sync::Route::server, sync::Route::all_reduce}) {
    const auto variant = synthetic_variant({.over = over});
    const auto comparison = compare(variant.simulated, variant.measured, quick);
    EXPECT_EQ(comparison.operations.state, State::passed) << comparison.operations.detail;
    EXPECT_GT(comparison.operations.checked, 500);
    EXPECT_TRUE(comparison.gates_hold());
    EXPECT_EQ(comparison.unmatched_steps, 0);
  }
}

TEST(Parity, ADifferentSizeIsFoundAndShown) {
  auto variant = synthetic_variant({});
  nth_operation(variant.measured[2], 1, "send", 5).bytes = 42;
  const auto gate = operations_parity(variant.simulated, variant.measured);
  EXPECT_EQ(gate.state, State::failed);
  EXPECT_THAT(gate.detail,
              HasSubstr("1 stream of operations differs; the first: rank 1 (worker on lab-2), send "
                        "to rank 4, channel 1, operation #5 of 60 simulated and 60 measured: "
                        "simulated 178000 bytes, measured 42 bytes (" +
                        variant.measured[2].path));
  EXPECT_THAT(gate.detail, HasSubstr("> #5: 42 bytes at "));
}

TEST(Parity, AMissingOperationIsFound) {
  auto variant = synthetic_variant({});
  variant.measured[0].journal.operations.erase(variant.measured[0].journal.operations.begin() +
                                               (&nth_operation(variant.measured[0], 3, "receive", 59) -
                                                variant.measured[0].journal.operations.data()));
  const auto gate = operations_parity(variant.simulated, variant.measured);
  EXPECT_EQ(gate.state, State::failed);
  EXPECT_THAT(gate.detail, HasSubstr("operation #59 of 60 simulated and 59 measured: simulated 178000 bytes, "
                                     "measured no such operation"));
}

TEST(Parity, ADifferentPeerIsFoundInBothStreams) {
  auto variant = synthetic_variant({});
  nth_operation(variant.measured[0], 0, "send", 0).peer = 2;
  const auto gate = operations_parity(variant.simulated, variant.measured);
  EXPECT_THAT(gate.detail, HasSubstr("2 streams of operations differ"));
}

TEST(Parity, TheFirstDivergenceInTimeIsShown) {
  auto variant = synthetic_variant({});
  nth_operation(variant.measured[0], 0, "send", 30).bytes = 1;
  nth_operation(variant.measured[0], 3, "send", 4).bytes = 2;
  EXPECT_THAT(operations_parity(variant.simulated, variant.measured).detail,
              HasSubstr("the first: rank 3 (worker on lab-4)"));
}

TEST(Parity, DeviceCopiesAreNotOperationsOfARank) {
  auto variant = synthetic_variant({});
  for (auto& run : variant.measured)
    run.journal.operations.push_back(record_of_copy(0, true, 178000, Seconds(0.1), Seconds(0.2)));
  EXPECT_EQ(operations_parity(variant.simulated, variant.measured).state, State::passed);
}

TEST(Parity, TheOrderBetweenPeersMayDiffer) {
  auto variant = synthetic_variant({});
  auto& operations = variant.measured[0].journal.operations;
  std::stable_sort(operations.begin(), operations.end(),
                   [](const auto& a, const auto& b) { return a.kind < b.kind; });
  EXPECT_EQ(operations_parity(variant.simulated, variant.measured).state, State::passed);
}

TEST(Parity, IsNotCheckedForTimingDrivenPoliciesOrWithoutRecords) {
  auto variant = synthetic_variant({.algorithm = "asp"});
  EXPECT_EQ(operations_parity(variant.simulated, variant.measured).state, State::not_checked);
  EXPECT_THAT(decisions_parity(variant.simulated, variant.measured).detail, HasSubstr("order of arrival"));
  variant = synthetic_variant({});
  variant.measured[0].info.generations.resize(2);
  const auto again = operations_parity(variant.simulated, variant.measured);
  EXPECT_EQ(again.state, State::not_checked);
  EXPECT_THAT(again.detail, HasSubstr("started again after a rank had died"));
  variant = synthetic_variant({});
  variant.measured[0].journal.operations.clear();
  EXPECT_THAT(operations_parity(variant.simulated, variant.measured).detail,
              HasSubstr("not recorded in both"));
}

TEST(Parity, SharedCacheNodesMayDependOnTheOrderOfArrival) {
  auto variant = synthetic_variant({});
  for (auto* results : {&variant.simulated, &variant.measured[0]}) {
    results->info.roles.emplace_back("cache-node");
    results->info.hosts.emplace_back("store");
    results->journal.operations.push_back({.rank = 5, .kind = "read", .peer = 0, .bytes = 100});
    results->journal.decisions.push_back({5, "cache", "request 1", "storage; keep"});
  }
  variant.measured.resize(1);
  variant.measured[0].journal.operations.back().bytes = 50;
  variant.measured[0].journal.decisions.back().decisions = "local";
  EXPECT_EQ(operations_parity(variant.simulated, variant.measured).state, State::passed);
  EXPECT_EQ(decisions_parity(variant.simulated, variant.measured).state, State::passed);
}

/// One worker, and a cache node for it that serves batches of 3000 bytes; measured, it reads once more.
State parity_of_one_more_read(const Experiment::Data& data, const std::string& kind = "read",
                              const std::string& channel = {}) {
  auto variant = synthetic_variant({.step_s = {0.02}});
  variant.measured.resize(1);
  for (auto* results : {&variant.simulated, &variant.measured[0]}) {
    results->info.experiment.data = data;
    results->info.roles.emplace_back("cache-node");
    results->info.hosts.emplace_back("store");
    results->journal.operations.push_back(
        {.rank = 2, .kind = "send", .peer = 0, .channel = "batches", .bytes = 3000});
  }
  variant.measured[0].journal.operations.push_back(
      {.rank = 2, .kind = kind, .peer = 0, .channel = channel, .bytes = 100});
  return operations_parity(variant.simulated, variant.measured).state;
}

/// It may be wanted again at the border of an epoch, while it is in flight or when it has arrived.
TEST(Parity, ReadsOfBatchesThatAreRequestedInAdvanceMayDependOnArrival) {
  Experiment::Data data;
  data.cache = "lru";
  data.cache_capacity = Bytes(5999);
  data.prefetch = 1;
  EXPECT_EQ(parity_of_one_more_read(data), State::passed);
  EXPECT_EQ(parity_of_one_more_read(data, "send", "reads"), State::passed);
  EXPECT_EQ(parity_of_one_more_read(data, "send", "batches"), State::failed);
  // The cache keeps what has arrived for both batches.
  data.cache_capacity = Bytes(6000);
  EXPECT_EQ(parity_of_one_more_read(data), State::failed);
  EXPECT_EQ(parity_of_one_more_read(data, "send", "reads"), State::failed);
  data.cache = "minio";
  EXPECT_EQ(parity_of_one_more_read(data), State::passed);
  data.cache = "fifo";
  data.prefetch = 2;
  EXPECT_EQ(parity_of_one_more_read(data), State::passed);
  data.cache_capacity = Bytes(9000);
  EXPECT_EQ(parity_of_one_more_read(data), State::failed);
  // No batch is in flight when the next one is requested.
  data.cache_capacity = Bytes(0);
  data.prefetch = 0;
  EXPECT_EQ(parity_of_one_more_read(data), State::failed);
}

/// A policy that plans with the whole run reads ahead, and what is in flight then is not read again.
TEST(Parity, ReadsOfAPlanMayDependOnArrival) {
  Experiment::Data data;
  data.source = DataSource::storage;
  data.cache = "nopfs";
  data.prefetch = 0;
  EXPECT_EQ(parity_of_one_more_read(data), State::passed);
  EXPECT_EQ(parity_of_one_more_read(data, "send", "reads"), State::passed);
  EXPECT_EQ(parity_of_one_more_read(data, "send", "batches"), State::failed);
  data.cache = "minio";
  EXPECT_EQ(parity_of_one_more_read(data), State::failed);
}

/// A list of shade repeats what is cached, and that depends on who asked first.
TEST(Parity, ListsThatKnowSharedCachesDependOnArrival) {
  RunInfo info;
  info.experiment.data.source = DataSource::storage;
  info.experiment.data.sampling = "shade";
  info.roles = {"worker", "worker", "cache-node", "cache-node"};
  EXPECT_EQ(timing_reason(info), "");
  info.roles.insert(info.roles.begin(), "worker");
  EXPECT_THAT(timing_reason(info), HasSubstr("sampler shade lists what is cached"));
  info.experiment.data.sampling = "shuffled";
  EXPECT_EQ(timing_reason(info), "");
}

TEST(Figures, OfStalenessAndLocalStepsExistIfTheyVary) {
  const auto of = [](const testing::SyntheticJob& job) {
    const auto variant = synthetic_variant(job);
    return compare(variant.simulated, variant.measured, quick);
  };
  const auto bsp = of({});
  EXPECT_GT(bsp.figure("computing_share").simulated, 0.3);
  for (const char* key : {"staleness", "local_steps", "applied_throughput", "time_to_target"})
    EXPECT_EQ(bsp.find(key), nullptr) << key;
  EXPECT_FALSE(bsp.target);
  const auto asp = of({.algorithm = "asp"});
  EXPECT_NEAR(asp.figure("staleness").simulated, 3, 0.1);
  EXPECT_NEAR(asp.figure("staleness").measured, 3, 0.1);
  EXPECT_DOUBLE_EQ(of({.algorithm = "local-sgd", .rounds = 20}).figure("local_steps").simulated, 4);
}

TEST(Figures, OfAnEnsembleHaveAnIntervalAndCountTheRunsInIt) {
  auto variant = synthetic_variant({.algorithm = "asp"});
  EXPECT_FALSE(compare(variant.simulated, variant.measured, quick).figure("step_time").ensemble);
  const auto value_of = [](const Results& run) { return run.summary.step_time.mean; };
  const double first = value_of(variant.measured[0]);
  const auto spread = [&](double low, double high) {
    return EnsembleFigure{.median = first, .low = low, .high = high};
  };
  variant.simulated.summary.ensemble =
      EnsembleSummary{.figures = {.step_time = spread(first * 0.999999, first * 1.000001),
                                  .throughput = spread(0, 1e9),
                                  .makespan = spread(0, 1e-9)}};
  const auto comparison = compare(variant.simulated, variant.measured, quick);
  const auto runs = static_cast<int>(variant.measured.size());
  const auto held = comparison.figure("step_time").ensemble.value();
  EXPECT_EQ(held.runs, runs);
  EXPECT_EQ(held.inside, 1);
  EXPECT_EQ(comparison.figure("throughput").ensemble->inside, runs);
  EXPECT_EQ(comparison.figure("makespan").ensemble->inside, 0);
}

TEST(Figures, OfATargetRequireBothResultsToReachIt) {
  auto variant = synthetic_variant({.target_accuracy = 0.6});
  auto comparison = compare(variant.simulated, variant.measured, quick);
  const Figure& time = comparison.figure("time_to_target");
  EXPECT_EQ(time.simulated, comparison.target->simulated);
  EXPECT_NEAR(time.measured, *comparison.target->measured, 1e-12);
  EXPECT_GT(comparison.figure("samples_to_target").simulated, 0);
  variant = synthetic_variant({.target_accuracy = 0.99});
  comparison = compare(variant.simulated, variant.measured, quick);
  EXPECT_EQ(comparison.find("time_to_target"), nullptr);
  EXPECT_EQ(comparison.target->target, 0.99);
  EXPECT_FALSE(comparison.target->simulated);
}

TEST(Decisions, TheOrderOfArrivalAtABarrierMayDiffer) {
  // With 30 % noise, workers of almost equal speed reach the barrier in any order.
  const auto variant =
      synthetic_variant({.step_s = {0.02, 0.0201, 0.0202, 0.0203}}, {.noise = 0.3, .repetitions = 3});
  const auto gate = decisions_parity(variant.simulated, variant.measured);
  EXPECT_EQ(gate.state, State::passed) << gate.detail;
}

TEST(Decisions, ADifferentServerDecisionIsFound) {
  auto variant = synthetic_variant({});
  auto& decisions = variant.measured[1].journal.decisions;
  const auto record = std::find_if(decisions.begin(), decisions.end(), [](const auto& r) {
    return r.event.starts_with("push worker=2 version=3");
  });
  record->decisions = "discard 2";
  const auto gate = decisions_parity(variant.simulated, variant.measured);
  EXPECT_EQ(gate.state, State::failed);
  EXPECT_THAT(gate.detail, HasSubstr("rank 4 (server on lab-head), decisions on model version #3"));
  EXPECT_THAT(gate.detail, HasSubstr("discard 2"));
}

TEST(Decisions, ADifferentWorkerDecisionIsFound) {
  auto variant = synthetic_variant({.algorithm = "local-sgd"});
  for (auto& record : variant.measured[0].journal.decisions)
    if (record.side == "worker" && record.rank == 1) {
      record.decisions = "exchange gradient";
      break;
    }
  const auto gate = decisions_parity(variant.simulated, variant.measured);
  EXPECT_EQ(gate.state, State::failed);
  EXPECT_THAT(gate.detail, HasSubstr("rank 1 (worker on lab-2), worker decision #0"));
}

TEST(Errors, FollowTheBiasOfTheMeasuredResult) {
  // Without noise, and with computations that take 25 % longer, every compute phase is 1 / 1.25 - 1 = 20 %
  // too short.
  const auto variant =
      synthetic_variant({}, {.compute_bias = 0.25, .exchange_bias = 0, .noise = 0, .repetitions = 2});
  const auto comparison = compare(variant.simulated, variant.measured, quick);
  for (const char* phase : {"phase.load", "phase.forward", "phase.backward"}) {
    const auto& figure = comparison.figure(phase);
    EXPECT_NEAR(figure.error, -0.2, 1e-9) << phase;
    EXPECT_NEAR(figure.interval->low, -0.2, 1e-9);
    EXPECT_NEAR(figure.interval->high, -0.2, 1e-9);
    EXPECT_NEAR(*figure.noise_floor, 0, 1e-9);
    EXPECT_EQ(figure.verdict, Equivalence::different);
  }
  EXPECT_EQ(comparison.figure("phase.query").error, 0);
  EXPECT_EQ(comparison.figure("bytes_sent").error, 0);
  EXPECT_NEAR(comparison.figure("makespan").error, -0.2, 0.05);
  EXPECT_LT(comparison.figure("step_time", 3).error, -0.15);
  EXPECT_GT(comparison.figure("throughput").error, 0.15);
}

TEST(Errors, TheStepTimeEqualsThatOfTheSummary) {
  const auto variant = synthetic_variant({}, {.repetitions = 1});
  const auto comparison = compare(variant.simulated, variant.measured, quick);
  const auto& figure = comparison.figure("step_time");
  EXPECT_NEAR(figure.simulated, variant.simulated.summary.step_time.mean, 1e-12);
  EXPECT_NEAR(figure.measured, variant.measured[0].summary.step_time.mean, 1e-12);
  EXPECT_FALSE(figure.noise_floor);
  EXPECT_TRUE(figure.interval);
}

TEST(Errors, ContributionsOfPhasesAddUpToTheErrorOfStepTime) {
  const auto variant = synthetic_variant({.algorithm = "esync"});
  const auto comparison = compare(variant.simulated, variant.measured, quick);
  double sum = 0;
  for (const auto& figure : comparison.figures) sum += figure.contribution.value_or(0);
  EXPECT_NEAR(sum, comparison.figure("step_time").error, 1e-3);
}

TEST(Errors, CachesAreComparedByClass) {
  const auto variant = synthetic_variant({.cache = true});
  const auto comparison = compare(variant.simulated, variant.measured, quick);
  EXPECT_NEAR(comparison.figure("cache.local").error, 900.0 / 907 - 1, 1e-12);
  EXPECT_NEAR(comparison.figure("cache.storage").error, 100.0 / 93 - 1, 1e-12);
  EXPECT_EQ(
      compare(synthetic_variant({}).simulated, synthetic_variant({}).measured, quick).find("cache.local"),
      nullptr);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
