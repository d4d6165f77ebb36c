// The same job measured and simulated: real mpirun against the simulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "policies/collectives/schedule.hpp"
#include "policies/compression/codec.hpp"
#include "policies/sharding/policy.hpp"
#include "policies/sync/policy.hpp"
#include "tests/cli/rank_world.hpp"
#include "tests/cli/twins.hpp"
#include "tests/support/fair_service.hpp"
#include "tests/support/paths.hpp"
#include "validation/compare/compare.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using LongTwins = Twins;

TEST_F(LongTwins, ResultsRecordAndSayWhoseNetworkAndDevicesTheyUsed) {
  const std::string words = line_.experiment() + " --set stop.rounds=2 ";
  const auto simulated = line_.tandem("simulate " + words + " --out simulated");
  EXPECT_NE(
      simulated.output.find("network: simulated links of mixed_lab.xml; devices: as fast as the platform"),
      std::string::npos)
      << simulated.output;
  const auto emulated = line_.tandem("run " + words + " --out emulated");
  EXPECT_NE(emulated.output.find("network: this machine's own, not the links of mixed_lab.xml; devices: "
                                 "emulated, as fast as the platform"),
            std::string::npos)
      << emulated.output;
  const auto native = line_.tandem("run " + words + " --set run.devices=native --out native");
  EXPECT_NE(native.output.find("devices: real processors"), std::string::npos) << native.output;
  const auto info = [&](const char* out) { return read_results((line_.folder() / out).string()).info; };
  EXPECT_EQ(info("simulated").network.value().kind, "simulated");
  EXPECT_EQ(info("simulated").network.value().of, "platform");
  EXPECT_EQ(info("simulated").devices, "catalogue");
  EXPECT_EQ(info("emulated").network.value().kind, "this machine");
  EXPECT_EQ(info("emulated").network.value().machines.value().size(), 1U);
  EXPECT_EQ(info("emulated").devices, "emulated");
  EXPECT_EQ(info("native").devices, "cpu");
}

/// The coordinator decides, each worker, the first worker's model of many, and a server that does not write.
class LongStoppedTwins : public Twins {
 protected:
  void expect_same_stop(const std::string& settings);
};

void LongStoppedTwins::expect_same_stop(const std::string& settings) {
  play(settings + " --set stop.accuracy=0.6 --set stop.rounds=60 --set optimizer.learning_rate=0.05",
       Start::once_for_many_tests);
  if (HasFatalFailure()) return;
  const auto stop = to_json(simulated_.summary).at("accuracy_stop");
  ASSERT_TRUE(stop.is_object());
  EXPECT_GE(stop.at("accuracy").get<double>(), 0.6);
  const int evaluation = stop.at("evaluation");
  EXPECT_GT(evaluation, 1);
  for (int earlier = 0; earlier + 1 < evaluation; ++earlier)
    EXPECT_LT(simulated_.journal.evaluations.at(static_cast<std::size_t>(earlier)).accuracy, 0.6);
  // Where replies are sent before the evaluation, one more round follows.
  EXPECT_LE(simulated_.summary.rounds, stop.at("round").get<double>() + 1.0);
  for (const char* key : {"evaluation", "round", "accuracy"})
    EXPECT_EQ(to_json(measured_.summary).at("accuracy_stop").at(key), stop.at(key)) << key;
  EXPECT_EQ(measured_.summary.rounds, simulated_.summary.rounds);
  const auto operations = validation::compare(simulated_, {measured_}).operations;
  EXPECT_EQ(operations.state, validation::Gate::State::passed) << operations.detail;
}

TEST_F(LongStoppedTwins, StopAtTheSameEvaluation) {
  for (const char* settings :
       {"--set sync.algorithm=bsp", "--set sync.over=all-reduce", "--set sync.overlap=both",
        "--set placement.evaluator=first-worker --set sync.pull=requested",
        "--set placement.evaluator=first-worker --set sync.algorithm=d-psgd --set sync.over=peers"}) {
    SCOPED_TRACE(settings);
    remove_results();
    expect_same_stop(settings);
  }
}

TEST_F(LongTwins, TimingDrivenJobsStopAtAnAccuracyToo) {
  for (const std::string algorithm :
       {"asp", "ad-psgd --set sync.over=peers", "esync --set sync.over=all-reduce"}) {
    remove_results();
    play(
        "--set stop.accuracy=0.6 --set stop.rounds=200 --set optimizer.learning_rate=0.05 --set "
        "sync.algorithm=" +
            algorithm,
        Start::once_for_many_tests);
    if (HasFatalFailure()) return;
    for (const Results* results : {&simulated_, &measured_}) {
      EXPECT_TRUE(results->summary.accuracy_stop.value().has_value())
          << algorithm << ' ' << results->info.world;
      EXPECT_LT(results->summary.rounds.value, 200) << algorithm << ' ' << results->info.world;
    }
  }
}

class DeterministicTwins : public Twins {
 protected:
  void expect_twins(const std::string& settings);
};

TEST_P(DeterministicTwins, SameOperationsDecisionsLossesAndAccuracies) { expect_twins(GetParam()); }

void DeterministicTwins::expect_twins(const std::string& settings) {
  play(settings, Start::once_for_many_tests);
  if (HasFatalFailure()) return;
  const auto comparison = validation::compare(simulated_, {measured_});
  using State = validation::Gate::State;
  EXPECT_EQ(comparison.operations.state, State::passed) << comparison.operations.detail;
  EXPECT_EQ(comparison.decisions.state, State::passed) << comparison.decisions.detail;
  EXPECT_GT(comparison.operations.checked, 0);
  expect_all_replayed(comparison);
  ASSERT_EQ(simulated_.journal.steps.size(), measured_.journal.steps.size());
  const auto losses = [](const Results& results) {
    std::map<std::pair<Rank, int>, double> by_step;
    for (const auto& step : results.journal.steps) by_step[{step.rank, step.step}] = step.loss;
    return by_step;
  };
  EXPECT_EQ(losses(simulated_), losses(measured_));
  ASSERT_EQ(simulated_.journal.evaluations.size(), measured_.journal.evaluations.size());
  ASSERT_FALSE(simulated_.journal.evaluations.empty());
  for (std::size_t i = 0; i < simulated_.journal.evaluations.size(); ++i)
    EXPECT_EQ(simulated_.journal.evaluations[i].accuracy, measured_.journal.evaluations[i].accuracy);
  for (const char* key :
       {"samples", "applied_samples", "pending_samples", "staleness", "local_steps", "bytes", "sharding"})
    EXPECT_EQ(to_json(simulated_.summary).at(key), to_json(measured_.summary).at(key)) << key;
}

/// Respects the algorithm's maximum number of workers, and shortens rounds of hundreds of steps or seconds.
std::string settings_for(const Catalog<sync::Factory>::Entry& algorithm) {
  std::string settings = "--set sync.algorithm=" + algorithm.name;
  if (algorithm.make.most_workers == 1) settings += " --set placement.workers=[node-1]";
  if (algorithm.name == "adsp") settings += " --set sync.options.period_s=0.5";
  if (algorithm.make.steps_per_round(Options::resolve(algorithm.name, algorithm.options, {})) > 10)
    settings += " --set sync.options.h=5";
  return settings;
}

/// Batch normalisation: running statistics are exchanged with the model, or stay at each worker.
std::string normalised(const std::string& settings) {
  return "--set workload.model=resnet32 --set workload.batch=2 --set workload.test_samples=4"
         " --set optimizer.learning_rate=0.001 --set sync.algorithm=" +
         settings;
}

/// What a row of an algorithm over a route has in addition: each variant of an exchange is in one of them.
std::string variant_of(const std::string& algorithm, sync::Route route) {
  static const std::map<std::pair<std::string, sync::Route>, std::string> all = {
      {{"bsp", sync::Route::all_reduce}, "sync.overlap=none"},
      {{"slowmo", sync::Route::server}, "sync.overlap=none"},
      {{"local-sgd", sync::Route::server},
       "sync.exchange=by-key --set workload.bucket_bytes=100kB --set sync.options.h=2"},
      {{"fedavg", sync::Route::server}, "sync.exchange=by-key --set sync.options.fraction=0.5"},
      {{"fedavg", sync::Route::all_reduce}, "sync.options.fraction=0.5"},
      {{"easgd", sync::Route::server},
       "sync.compression=lossless --set sync.compress_replies=true --set workload.bucket_bytes=4KiB"}};
  const auto found = all.find({algorithm, route});
  return found == all.end() ? "" : " --set " + found->second;
}
std::string settings_over(const Catalog<sync::Factory>::Entry& algorithm, sync::Route route) {
  return settings_for(algorithm) + " --set sync.over=" + to_text(route) + variant_of(algorithm.name, route);
}

/// Every all-reduce, with a number of workers that is not a power of two, and every compression that workers
/// can share: of sums, and of gathered messages. Other pairs: `sim_test`, RepeatedCompression.
std::vector<std::string> all_reduces() {
  const std::string five = " --set placement.workers=[node-1,node-2,node-3,node-4,node-5]";
  std::vector<std::string> all = {"--set sync.over=all-reduce --set sync.collective=ring" + five};
  for (const char* settings :
       {"pipelined-ring --set sync.compression=bf16", "halving-doubling --set sync.compression=random-k",
        "binary-blocks --set sync.compression=top-k", "recursive-doubling --set sync.compression=sign",
        "tree --set sync.compression=qsgd --set sync.overlap=both",
        "double-tree --set sync.compression=terngrad --set sync.overlap=both",
        "hierarchical --set sync.compression=power-sgd --set sync.rings=3", "ring --set sync.rings=3"})
    all.push_back("--set sync.over=all-reduce --set workload.bucket_bytes=4KiB --set sync.collective=" +
                  (settings + five));
  return all;
}

/// Every other compression over servers, which shard the model in each way and compress their replies, too.
std::vector<std::string> over_servers() {
  std::vector<std::string> all;
  for (const char* settings :
       {"fp16 --set sync.sharding=even --set placement.servers=[server,server]",
        "dgc --set placement.servers=[server,server]",
        // Shards that hold no part of a bucket, or several stretches of one, are compressed alike by both.
        "power-sgd --set sync.sharding=round-robin --set placement.servers=[server,server,server]",
        "two-bit --set sync.sharding=balanced --set placement.workers=[node-1,node-2,node-3] --set "
        "placement.servers=own",
        "top-k --set sync.compress_replies=true --set sync.sharding=round-robin --set "
        "placement.servers=[server,server]",
        "top-k --set sync.compress_replies=true --set sync.overlap=both --set sync.pull=requested",
        "one-bit --set sync.compress_replies=true --set optimizer.update_at=workers",
        "power-sgd --set sync.compress_replies=true --set sync.algorithm=local-sgd --set sync.options.h=2"})
    all.push_back("--set workload.bucket_bytes=4KiB --set sync.compression=" + std::string(settings));
  all.emplace_back(
      "--set optimizer.update_at=workers --set placement.servers=co-located --set sync.sharding=split --set "
      "sync.compression=top-k");
  all.emplace_back(
      "--set optimizer.update_at=workers --set placement.servers=[server,server] --set sync.overlap=both "
      "--set optimizer.kind=adam");
  return all;
}

/// Requested pulls, keys, and evaluations by a worker, with several buckets.
std::vector<std::string> exchanged_in_parts() {
  std::vector<std::string> all;
  for (const char* settings :
       {"sync.pull=requested --set sync.overlap=both",
        "sync.exchange=by-key --set sync.pull=requested --set sync.compression=top-k"
        " --set placement.servers=[server,server]",
        "sync.exchange=by-key --set optimizer.update_at=workers",
        "placement.evaluator=first-worker --set sync.pull=requested",
        "placement.evaluator=first-worker --set sync.over=all-reduce",
        "placement.evaluator=first-worker --set sync.algorithm=d-psgd --set sync.over=peers --set "
        "sync.options.order=step-first --set sync.options.global_every=2"})
    all.push_back("--set workload.bucket_bytes=100kB --set " + std::string(settings));
  return all;
}
/// Every algorithm over every supported route, and each variant of an exchange at least once.
std::vector<std::string> deterministic() {
  std::vector<std::string> all;
  for (const auto& algorithm : sync::catalog().entries())
    for (const auto route : algorithm.make.routes)
      if (!algorithm.make.timing_driven) all.push_back(settings_over(algorithm, route));
  for (const auto& rows : {all_reduces(), over_servers(), exchanged_in_parts()})
    all.insert(all.end(), rows.begin(), rows.end());
  for (const char* settings :
       {"d-psgd --set sync.over=peers",
        "local-sgd --set sync.options.h=2 --set placement.servers=[server,server]",
        "local-sgd --set sync.options.h=2 --set sync.over=all-reduce --set sync.average_statistics=false"})
    all.push_back(normalised(settings));
  // Racks of three and two hosts, listed alternately: simulated and real ranks must both use the order chosen
  // from the network.
  const std::string racks =
      " --set sync.over=all-reduce --set platform=" + testing::source_folder() +
      "/platforms/two_racks.xml --set placement.workers=[node-1-1,node-2-1,node-1-2,node-2-2,node-1-3]";
  for (const char* collective : {"ring", "auto", "hierarchical --set sync.order=rank"})
    all.push_back("--set sync.collective=" + (collective + racks));
  return all;
}
/// Those that `./check` plays: one over each route.
const std::vector<std::string> few_deterministic = {
    "--set sync.algorithm=bsp --set sync.over=server",
    "--set sync.over=all-reduce --set sync.collective=ring "
    "--set placement.workers=[node-1,node-2,node-3,node-4,node-5]",
    "--set sync.algorithm=d-psgd --set sync.over=peers"};

std::vector<std::string> without(std::vector<std::string> all, const std::vector<std::string>& few) {
  std::erase_if(all, [&](const std::string& one) { return std::ranges::count(few, one) > 0; });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Few, DeterministicTwins, ::testing::ValuesIn(few_deterministic));
using LongDeterministicTwins = DeterministicTwins;

/// In one test: ranks are started once for all rows of as many ranks.
TEST_F(LongDeterministicTwins, SameOperationsDecisionsLossesAndAccuracies) {
  for (const std::string& settings : without(deterministic(), few_deterministic)) {
    SCOPED_TRACE(settings);
    remove_results();
    expect_twins(settings);
  }
}

class TensorTwins : public Twins {};

/// Models without TorchScript, from a file: both worlds send the same messages to each shard.
TEST_P(TensorTwins, SendTheSameMessages) {
  line_.write("net.tensors", "400kB conv 2Mflop 4Mflop\n4kB\n4kB\n# the rest\n8kB fc 1Mflop 2Mflop\n40B\n");
  play(
      "--set workload.model=synthetic --set workload.math=modelled --set workload.bucket_bytes=8kB --set "
      "workload.synthetic_tensors=net.tensors --set placement.servers=[server,node-4] --set sync.sharding=" +
      GetParam());
  const auto operations = validation::compare(simulated_, {measured_}).operations;
  EXPECT_EQ(operations.state, validation::Gate::State::passed) << operations.detail;
  for (const char* key : {"samples", "rounds", "bytes", "sharding"})
    EXPECT_EQ(to_json(simulated_.summary).at(key), to_json(measured_.summary).at(key)) << key;
  EXPECT_EQ(simulated_.info.sharding, measured_.info.sharding);
  EXPECT_EQ(simulated_.info.warnings, measured_.info.warnings);
  // Each worker pushes and receives the whole model in each of its rounds.
  const auto bytes = measured_.summary.bytes.sent;
  EXPECT_EQ(bytes, std::int64_t{4} * 6 * 416'040);
  const auto& sharding = measured_.info.sharding;
  std::vector<std::int64_t> held = {208'020, 208'020};
  if (GetParam() == "round-robin") held = {404'040, 12'000};  // 400 kB, 4 kB and 40 B; 4 kB and 8 kB
  if (GetParam() == "balanced") held = {400'000, 16'040};
  EXPECT_EQ(sharding.at("bytes").get<std::vector<std::int64_t>>(), held);
  EXPECT_DOUBLE_EQ(sharding.at("busiest").at("bytes").at("share").get<double>(),
                   static_cast<double>(held.front()) / 416'040);
  EXPECT_EQ(sharding.at("busiest").at("bytes").at("host"), "server");
  EXPECT_EQ(measured_.info.experiment.workload.synthetic_tensors.size(), 5U);
}
INSTANTIATE_TEST_SUITE_P(LongPolicies, TensorTwins, ::testing::Values("even", "round-robin", "balanced"));

class NativeTwins : public Twins {
 protected:
  /// `tolerance`: of losses, relative.
  void expect_twins(const std::string& settings, double tolerance) {
    play("--set sync.over=all-reduce --set sync.collective=native --set sync.algorithm=" + settings,
         Start::once_for_many_tests);
    const auto comparison = validation::compare(simulated_, {measured_});
    using State = validation::Gate::State;
    EXPECT_EQ(comparison.operations.state, State::passed) << comparison.operations.detail;
    EXPECT_EQ(comparison.decisions.state, State::passed) << comparison.decisions.detail;
    const auto sums = [](const Results& results) {
      return std::ranges::count(results.journal.operations, "all-reduce", &OperationRecord::kind);
    };
    EXPECT_GT(sums(measured_), 0);
    ASSERT_EQ(simulated_.journal.steps.size(), measured_.journal.steps.size());
    std::map<std::pair<Rank, int>, double> losses;
    for (const auto& step : simulated_.journal.steps) losses[{step.rank, step.step}] = step.loss;
    for (const auto& step : measured_.journal.steps) {
      const double simulated = losses.at({step.rank, step.step});
      EXPECT_NEAR(step.loss, simulated, tolerance * std::abs(simulated)) << step.rank << ' ' << step.step;
    }
    for (const char* key : {"samples", "local_steps", "bytes"})
      EXPECT_EQ(to_json(simulated_.summary).at(key), to_json(measured_.summary).at(key)) << key;
  }
};

/// MPI's order of additions differs, so the models differ by rounding errors.
TEST_P(NativeTwins, SameOperationsAndDecisionsAndAlmostTheSameLosses) { expect_twins(GetParam(), 1e-4); }

INSTANTIATE_TEST_SUITE_P(Bsp, NativeTwins, ::testing::Values("bsp"));

/// Also that both keys act in a measured run. An emulated step may be shorter only to make up for a late one.
TEST_F(NativeTwins, MeasuredStepsInBucketsOfDdp) {
  expect_twins(
      "bsp --set workload.model=lenet --set workload.bucket_bytes=100kB --set "
      "workload.first_bucket_bytes=1kB --set workload.measured_step=90ms --set stop.rounds=4",
      1e-4);
  for (const Results* results : {&simulated_, &measured_}) {
    std::vector<std::int64_t> sums;
    double computing_s = 0.0;
    const Rank worker = results->journal.steps.front().rank;
    for (const auto& operation : results->journal.operations) {
      if (operation.rank != worker) continue;
      if (operation.kind == "all-reduce") sums.push_back(operation.bytes);
      if (operation.work == "forward" || operation.work == "backward")
        computing_s += (operation.end - operation.start).count();
    }
    const auto buckets = static_cast<std::ptrdiff_t>(sums.size() / 4);
    ASSERT_GE(buckets, 2);
    EXPECT_LE(sums.front(), 25'000) << results->info.world;
    EXPECT_GT(*std::max_element(sums.begin(), sums.begin() + buckets), 50'000) << results->info.world;
    EXPECT_GE(computing_s, 4 * 0.06) << results->info.world;
  }
}

/// While sums are in flight, emulated devices are slower by the same factor as simulated ones: one bucket of
/// four is computed before the first sum begins. A busy machine makes measured work longer, never shorter.
TEST_F(NativeTwins, OverlapSlowsDevicesInBothWorlds) {
  const std::string settings = " --set platform=" + testing::source_folder() +
                               "/platforms/two_racks.xml --set "
                               "placement.workers=[node-1-1,node-1-2,node-2-1,node-2-2] --set "
                               "sync.over=all-reduce --set sync.collective=native --set "
                               "workload.math=modelled --set workload.model=synthetic --set "
                               "workload.synthetic_parameters=10000000 --set workload.synthetic_buckets=4 "
                               "--set workload.measured_step=60ms --set stop.rounds=2";
  const auto computing_s = [](const Results& results) {
    double sum = 0.0;
    for (const auto& operation : results.journal.operations)
      if (operation.work == "forward" || operation.work == "backward")
        sum += (operation.end - operation.start).count();
    return sum;
  };
  play(settings + " --set physics.overlap_slowdown=1.5", Start::once_for_many_tests);
  const auto alone = line_.tandem("simulate " + line_.experiment() + " --operations --out alone" + settings);
  ASSERT_EQ(alone.exit_code, 0) << alone.output;
  const double alone_s = computing_s(read_results((line_.folder() / "alone").string()));
  EXPECT_NEAR(computing_s(simulated_), 1.25 * alone_s, 1e-3 * alone_s);
  EXPECT_GT(computing_s(measured_), 1.15 * alone_s);
}

INSTANTIATE_TEST_SUITE_P(LongAlgorithms, NativeTwins,
                         ::testing::Values("fedavg --set sync.options.h=3",
                                           "local-sgd --set sync.options.h=2",
                                           "group-average --set sync.options.group_size=2"));

class NativeTwinsOfHalves : public NativeTwins {};

/// Sums of bf16 are rounded to 8 bits after each addition.
TEST_P(NativeTwinsOfHalves, SameOperationsAndDecisionsAndAboutTheSameLosses) {
  expect_twins("bsp --set sync.compression=" + GetParam(), 1e-2);
}

INSTANTIATE_TEST_SUITE_P(LongCompressions, NativeTwinsOfHalves, ::testing::Values("fp16", "bf16"));

class NativeTwinsOfGathers : public NativeTwins {};

/// Gathered messages are decoded in one order.
TEST_P(NativeTwinsOfGathers, SameOperationsDecisionsAndLosses) {
  expect_twins("bsp --set sync.compression=" + GetParam(), 0.0);
}

INSTANTIATE_TEST_SUITE_P(LongCompressions, NativeTwinsOfGathers, ::testing::Values("top-k", "sign", "qsgd"));

TEST_F(LongTwins, CalibrationMeasuresNativeForTheSimulation) {
  const std::string words =
      line_.experiment() +
      " --set workload.math=modelled --set sync.over=all-reduce --set sync.collective=native "
      "--set placement.workers=[node-1,node-2] ";
  const auto guessed = line_.tandem("simulate " + words + "--out guessed");
  ASSERT_EQ(guessed.exit_code, 0) << guessed.output;
  EXPECT_NE(guessed.output.find("library all-reduce timed as the cheapest schedule"), std::string::npos)
      << guessed.output;
  const auto calibrated = line_.tandem("calibrate " + words + "--out profile.json");
  ASSERT_EQ(calibrated.exit_code, 0) << calibrated.output;
  EXPECT_NE(calibrated.output.find("MPI's own all-reduce"), std::string::npos) << calibrated.output;
  const auto priced = line_.tandem(
      "simulate " + words + "--set physics.network=profile --set physics.profile=profile.json --out priced");
  ASSERT_EQ(priced.exit_code, 0) << priced.output;
  EXPECT_NE(priced.output.find("library all-reduce timed as calibrated"), std::string::npos) << priced.output;
  const auto unused = line_.tandem("simulate " + words + "--set physics.profile=profile.json --out unused");
  ASSERT_EQ(unused.exit_code, 0) << unused.output;
  EXPECT_NE(unused.output.find("the profile's times of all-reduces count with physics.network=profile only"),
            std::string::npos)
      << unused.output;
}

class TimingTwins : public Twins {
 protected:
  void expect_replay(const std::string& settings);
};

TEST_P(TimingTwins, ReplayedEventsGiveTheRecordedDecisions) { expect_replay(GetParam()); }

void TimingTwins::expect_replay(const std::string& settings) {
  play(settings + " --set workload.math=modelled", Start::once_for_many_tests);
  if (HasFatalFailure()) return;
  const auto comparison = validation::compare(simulated_, {measured_});
  expect_all_replayed(comparison);
  for (const Results* results : {&simulated_, &measured_}) {
    const auto& summary = results->summary;
    const sync::Route over = results->info.experiment.sync.over;
    EXPECT_EQ(summary.staleness.has_value(), over == sync::Route::server);
    EXPECT_EQ(summary.pending_samples.has_value(), over != sync::Route::peers);
    EXPECT_EQ(summary.exchange_shares.has_value(), over != sync::Route::peers);
    EXPECT_EQ(cancelled_steps(results->journal) > 0, settings.find("cancel=true") != std::string::npos);
  }
}

std::vector<std::string> timing_driven() {
  std::vector<std::string> all;
  for (const auto& algorithm : sync::catalog().entries())
    for (const auto route : algorithm.make.routes)
      if (algorithm.make.timing_driven)
        all.push_back(settings_for(algorithm) + " --set sync.over=" + to_text(route));
  all.emplace_back("--set sync.algorithm=esync --set sync.over=all-reduce --set sync.collective=native");
  all.emplace_back("--set sync.algorithm=lb-bsp --set optimizer.update_at=workers");
  all.emplace_back("--set sync.algorithm=ssp-cached --set sync.options.staleness=2");
  all.push_back(normalised("ad-psgd --set sync.over=peers"));
  for (const char* algorithm : {"asp", "easgd-async"})
    all.push_back(
        "--set sync.pull=requested --set placement.servers=[server,server] --set "
        "placement.evaluator=first-worker --set sync.algorithm=" +
        std::string(algorithm));
  for (const char* algorithm : {"lb-bsp", "esync"})
    all.push_back("--set workload.bucket_bytes=100kB --set sync.exchange=by-key --set sync.algorithm=" +
                  std::string(algorithm));
  const std::string cancelling =
      "--set workload.model=synthetic --set workload.synthetic_buckets=8 --set "
      "workload.synthetic_parameters=100000 --set sync.options.cancel=true --set sync.algorithm=";
  all.push_back(cancelling +
                "k-sync --set sync.options.k=2 --set sync.pull=requested --set "
                "placement.servers=[server,server]");
  all.push_back(cancelling + "k-batch-sync --set sync.overlap=none");
  all.push_back(cancelling + "ringmaster --set sync.options.r=2 --set sync.compression=top-k");
  // Native devices compute within the call, so the messages that a worker needs meanwhile have arrived before
  // it waits for them.
  for (const char* settings : {"esync --set sync.over=all-reduce", "ad-psgd --set sync.over=peers"})
    all.push_back(std::string("--set run.devices=native --set sync.algorithm=") + settings);
  return all;
}
const std::vector<std::string> few_timing_driven = {"--set sync.algorithm=asp --set sync.over=server"};
INSTANTIATE_TEST_SUITE_P(Few, TimingTwins, ::testing::ValuesIn(few_timing_driven));
using LongTimingTwins = TimingTwins;

TEST_F(LongTimingTwins, ReplayedEventsGiveTheRecordedDecisions) {
  for (const std::string& settings : without(timing_driven(), few_timing_driven)) {
    SCOPED_TRACE(settings);
    remove_results();
    expect_replay(settings);
  }
}

/// A server that needs three times as long for the pushes of its six equal workers as a worker for a step.
class LongFairTwins : public Twins {
 protected:
  static constexpr int workers = 6;

  void expect_equal_progress(const std::string& algorithm);
  static std::string platform() {
    std::string hosts, routes;
    const auto add = [&](const std::string& name, const std::string& speed, const std::string& inside) {
      hosts += "<host id=\"" + name + "\" speed=\"" + speed + "\">" + inside + "</host>\n";
      routes += "<route src=\"" + name + "\" dst=\"switch\"><link_ctn id=\"cable\"/></route>\n";
    };
    add("server", "1Gf", "<prop id=\"tandem:memory_rate\" value=\"250e6\"/>");
    for (int worker = 0; worker < workers; ++worker) add("worker-" + std::to_string(worker), "200Mf", "");
    return "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
           "<platform version=\"4.1\"><zone id=\"z\" routing=\"Floyd\">\n" +
           hosts +
           "<router id=\"switch\"/>\n<link id=\"cable\" bandwidth=\"1GBps\" latency=\"20us\" "
           "sharing_policy=\"FATPIPE\"/>\n" +
           routes + "</zone></platform>\n";
  }
};

void LongFairTwins::expect_equal_progress(const std::string& algorithm) {
  remove_results();
  line_.write("platform.xml", platform());
  line_.write("fair.yaml",
              "platform: platform.xml\n"
              "workload: {model: mlp, dataset: synthetic, math: modelled, train_samples: 400,"
              " test_samples: 100, batch: 8}\n"
              "placement: {workers: [worker-0, worker-1, worker-2, worker-3, worker-4, worker-5], servers: "
              "[server]}\n"
              "stop: {rounds: 10}\n");
  const std::string words = "fair.yaml --decisions --set sync.over=server --set sync.algorithm=" + algorithm;
  const auto simulated = line_.tandem("simulate " + words + " --out simulated");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  const auto measured =
      run_in_shared_world(line_, words + " --out measured", testing::build_folder() + "/bin/served_rank");
  ASSERT_EQ(measured.exit_code, 0) << measured.output;
  for (const char* folder : {"simulated", "measured"}) {
    const auto pushes = pushes_by_worker(read_results((line_.folder() / folder).string()).journal, workers);
    const auto [fewest, most] = std::ranges::minmax(pushes);
    EXPECT_GE(fewest, 4) << folder << ": " << ::testing::PrintToString(pushes);
    EXPECT_LE(most - fewest, fair_difference(algorithm, most))
        << folder << ": " << ::testing::PrintToString(pushes);
  }
}

/// One of each kind: a server serves whoever pushes next, waits for the slowest, counts pushes, or keeps a
/// centre. All algorithms: `sim_test`, FairService.
TEST_F(LongFairTwins, EqualWorkersMakeEqualProgress) {
  for (const char* algorithm : {"asp", "ssp", "k-batch-sync", "easgd-async"}) {
    SCOPED_TRACE(algorithm);
    expect_equal_progress(algorithm);
  }
}

TEST(TwinsOfTheCatalogue, PlayEveryAllReduceCompressionAndSharding) {
  const auto is_played = [rows = deterministic()](const std::string& setting) {
    return std::ranges::any_of(
        rows, [&](const std::string& row) { return (row + ' ').find(setting + ' ') != std::string::npos; });
  };
  for (const auto& name : collectives::catalog().names())
    EXPECT_TRUE(is_played("sync.collective=" + name)) << name;
  for (const auto& name : sharding::catalog().names())
    EXPECT_TRUE(is_played("sync.sharding=" + name)) << name;
  for (const auto& method : compression::catalog().entries())
    EXPECT_TRUE(method.make.make == nullptr || is_played("sync.compression=" + method.name)) << method.name;
}

/// With at least four ranks including the evaluator, unless the algorithm does not allow that many.
TEST(TwinsOfTheCatalogue, PlayEveryAlgorithmOverEveryRoute) {
  for (const auto& algorithm : sync::catalog().entries()) {
    EXPECT_FALSE(algorithm.make.routes.empty()) << algorithm.name;
    for (const auto route : algorithm.make.routes) {
      const std::string settings = algorithm.make.timing_driven
                                       ? settings_for(algorithm) + " --set sync.over=" + to_text(route)
                                       : settings_over(algorithm, route);
      const auto played = algorithm.make.timing_driven ? timing_driven() : deterministic();
      EXPECT_EQ(std::ranges::count(played, settings), 1) << settings;
      const bool names_workers = settings.find("placement.workers") != std::string::npos;
      EXPECT_EQ(names_workers, algorithm.make.most_workers == 1) << settings;
    }
  }
  for (const auto& settings : few_deterministic)
    EXPECT_EQ(std::ranges::count(deterministic(), settings), 1) << settings;
  for (const auto& settings : few_timing_driven)
    EXPECT_EQ(std::ranges::count(timing_driven(), settings), 1) << settings;
}

/// In both worlds a worker's question lasts at least as long as its answer, and the answers follow each
/// other.
TEST_F(LongTwins, TheCoordinatorTakesItsTimeToAnswer) {
  constexpr double answer_s = 0.02;
  const std::string lab = edited_lab(line_, {property_of("server", "tandem:answer", "20ms")});
  for (const char* over : {"server", "all-reduce"}) {
    play("--force --set platform=" + lab +
         " --set sync.algorithm=esync-published --set sync.over=" + std::string(over));
    expect_all_replayed(validation::compare(simulated_, {measured_}));
    for (const Results* results : {&simulated_, &measured_}) {
      double least_s = 1.0;
      for (const auto& step : results->journal.steps)
        least_s = std::min(least_s, step.phases[static_cast<std::size_t>(Phase::query)].count());
      EXPECT_GE(least_s, answer_s) << over << ' ' << results->info.world;
      std::vector<const OperationRecord*> answers;
      for (const auto& operation : results->journal.operations)
        if (operation.kind == "sleep" && operation.rank == 4) answers.push_back(&operation);
      ASSERT_GT(answers.size(), 8U);
      for (std::size_t i = 1; i < answers.size(); ++i)
        EXPECT_GE(answers[i]->start.count(), answers[i - 1]->start.count() + answer_s - 1e-6);
    }
  }
  const auto refused = line_.tandem("run " + line_.experiment() + " --force --out measured --set platform=" +
                                    edited_lab(line_, {property_of("server", "tandem:answer", "20kB")}));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.output.find("lab.xml: host 'server': property 'tandem:answer': expected a "
                                "time >= 0 (like 2ms; ns us ms s min h d), found '20kB'"),
            std::string::npos)
      << refused.output;
}

/// An emulated device never finishes early, so slow steps are slow in both results; the other steps are not.
TEST_F(LongTwins, TheSameStepsAreSlowed) {
  play("--set workload.batch=50 --set run.slowdown_probability=0.3 --set run.slowdown_factor=100");
  const auto forward_s = [](const Results& results) {
    std::map<std::pair<Rank, int>, double> by_step;
    for (const auto& step : results.journal.steps)
      by_step[{step.rank, step.step}] = step.phases[static_cast<std::size_t>(Phase::forward)].count();
    return by_step;
  };
  const auto simulated = forward_s(simulated_), measured = forward_s(measured_);
  ASSERT_EQ(simulated.size(), 24U);
  ASSERT_EQ(measured.size(), 24U);
  std::map<Rank, double> quick;
  for (const auto& [place, seconds] : simulated)
    quick[place.first] = std::min(quick.try_emplace(place.first, seconds).first->second, seconds);
  double all_slow = 0.0, sum = 0.0;
  int slow_steps = 0;
  for (const auto& [place, seconds] : simulated) {
    all_slow += 100 * quick.at(place.first);
    sum += measured.at(place);
    if (seconds < 50 * quick.at(place.first)) continue;
    ++slow_steps;
    EXPECT_GE(measured.at(place), 0.99 * seconds) << "rank " << place.first << " step " << place.second;
  }
  EXPECT_GT(slow_steps, 0);
  EXPECT_LT(sum, 0.8 * all_slow);
}

TEST_F(LongTwins, TimeStartsWhenTheLearnerIsReady) {
  play("");
  ASSERT_EQ(measured_.journal.steps.size(), 4U * 6U);
  for (const auto& step : measured_.journal.steps) {
    if (step.step > 0) continue;
    EXPECT_LT(step.start.count(), 0.5) << "loading libtorch alone takes longer than that";
  }
}

TEST_F(LongTwins, ResultsOfDifferentJobsAreNotCompared) {
  play("");
  ASSERT_EQ(line_
                .tandem("simulate " + line_.experiment("evaluate_every: 3\n") +
                        " --set workload.batch=4 --out other")
                .exit_code,
            0);
  const auto result = line_.tandem("compare other measured");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.output.find("batch"), std::string::npos) << result.output;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
