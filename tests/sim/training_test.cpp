// Real mathematics under the simulated clock: the roles together compute the same model as one learner alone.
#include "tests/sim/training.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "tests/support/algorithms.hpp"
#include "tests/support/cache_counts.hpp"
#include "tests/support/server_log.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::small_experiment;
using testing::Training;

/// A variant of training that ends, up to rounding, with the model of one worker that takes `steps` steps on
/// the union of all batches.
struct Sequential {
  const char* name;
  int workers;
  std::function<void(Experiment&)> change;
  int steps = 5;
  std::optional<double> momentum = {};  ///< of the one worker, if it differs from the experiment's
};
void PrintTo(const Sequential& value, std::ostream* out) { *out << value.name; }

class EqualsOneWorker : public Training, public ::testing::WithParamInterface<Sequential> {};

TEST_P(EqualsOneWorker, OnTheUnionOfTheBatches) {
  Experiment experiment = small_experiment(GetParam().workers);
  GetParam().change(experiment);
  train(experiment);
  expect_close(final_model(), sequential_model(GetParam().steps, GetParam().momentum), 1e-5F);
}

void use_local_sgd(Experiment& experiment, std::int64_t steps_per_round) {
  experiment.sync.algorithm = "local-sgd";
  experiment.sync.options = {{"h", steps_per_round}};
}

Sequential alone(const char* name, const char* algorithm) {
  return {name, 1, [=](Experiment& experiment) { experiment.sync.algorithm = algorithm; }};
}

std::string name_of_way(const ::testing::TestParamInfo<Sequential>& instance) { return instance.param.name; }

/// Each algorithm that can be equal, and each route.
INSTANTIATE_TEST_SUITE_P(
    Ways, EqualsOneWorker,
    ::testing::Values(
        Sequential{"BspOnThreeShards", 4,
                   [](Experiment& e) {
                     e.placement.servers = {"host-0", "host-5", "host-6"};
                   }},
        Sequential{"HalvingDoubling", 6,
                   [](Experiment& e) {
                     e.sync.over = sync::Route::all_reduce;
                     e.sync.collective = "halving-doubling";
                   }},
        Sequential{"Native", 3,
                   [](Experiment& e) {
                     e.sync.over = sync::Route::all_reduce;
                     e.sync.collective = "native";
                   }},
        alone("Sequential", "sequential"), alone("KBatchSyncOfOneWorker", "k-batch-sync"),
        alone("DsspOfOneWorker", "dssp"), alone("DynSgdOfOneWorker", "dynsgd"),
        alone("RingmasterOfOneWorker", "ringmaster"),
        Sequential{"LbBspOfEqualDevices", 4, [](Experiment& e) { e.sync.algorithm = "lb-bsp"; }},
        Sequential{"SyncSwitchNeverSwitched", 4,
                   [](Experiment& e) {
                     e.sync.algorithm = "sync-switch";
                     e.sync.options = {{"fraction", 1.0}};
                   }},
        Sequential{"KSyncOfAllWorkers", 4, [](Experiment& e) { e.sync.algorithm = "k-sync"; }},
        // The mean of two equal gradients; the server keeps the first until the second arrives.
        Sequential{"RennalaOfTwoGradients", 1,
                   [](Experiment& e) {
                     e.stop.rounds = 10;
                     e.sync.algorithm = "rennala";
                     e.sync.options = {{"b", std::int64_t{2}}};
                   }},
        // Each push is an update, so momentum would be applied four times.
        Sequential{"SspOfNoneAheadOnAverage", 4,
                   [](Experiment& e) {
                     e.optimizer.momentum = 0.0;
                     e.sync.algorithm = "ssp";
                     e.sync.options = {{"average", true}};
                   }},
        Sequential{"LocalSgdOfOneWorkerForAnyH", 1, [](Experiment& e) { use_local_sgd(e, 3); }, 15},
        Sequential{"AdspOfOneStepOfOneWorker", 1,
                   [](Experiment& e) {
                     e.optimizer.momentum = 0.0;
                     e.sync.algorithm = "adsp";
                     e.sync.options = {{"commits", std::int64_t{1'000'000}}};
                   }}),
    name_of_way);

INSTANTIATE_TEST_SUITE_P(
    LongWays, EqualsOneWorker,
    ::testing::Values(
        Sequential{"Bsp", 4, [](Experiment&) {}},
        Sequential{"Ring", 3, [](Experiment& e) { e.sync.over = sync::Route::all_reduce; }},
        alone("AspOfOneWorker", "asp"), alone("KSyncOfOneWorker", "k-sync"), alone("SspOfOneWorker", "ssp"),
        alone("RennalaOfOneWorker", "rennala"), alone("LbBspOfOneWorker", "lb-bsp"),
        alone("SyncSwitchOfOneWorker", "sync-switch"), alone("DcAsgdOfOneWorker", "dc-asgd"),
        alone("DcAsgdAdaptiveOfOneWorker", "dc-asgd-adaptive"),
        // Each worker has its own momentum, so equality needs plain SGD.
        Sequential{"LocalSgdOfOneStep", 4,
                   [](Experiment& e) {
                     e.optimizer.momentum = 0.0;
                     use_local_sgd(e, 1);
                   }},
        Sequential{"LocalSgdOfOneStepOverAllReduce", 4,
                   [](Experiment& e) {
                     e.optimizer.momentum = 0.0;
                     use_local_sgd(e, 1);
                     e.sync.over = sync::Route::all_reduce;
                   }},
        Sequential{"AdaCommOfOneStep", 4,
                   [](Experiment& e) {
                     e.optimizer.momentum = 0.0;
                     e.sync.algorithm = "adacomm";
                     e.sync.options = {{"tau", std::int64_t{1}}, {"period_s", 0.0}};
                   }},
        // With rounds of one plain step, momentum over rounds is momentum over steps.
        Sequential{"SlowMoOfOneStep", 4,
                   [](Experiment& e) {
                     e.sync.algorithm = "slowmo";
                     e.sync.options = {{"h", std::int64_t{1}}, {"outer_momentum", e.optimizer.momentum}};
                     e.optimizer.momentum = 0.0;
                   },
                   5, 0.9},
        Sequential{"PostLocalSgdNeverSwitched", 4,
                   [](Experiment& e) {
                     e.optimizer.momentum = 0.0;
                     e.sync.algorithm = "post-local-sgd";
                   }},
        Sequential{"EsyncOfEqualDevices", 4,
                   [](Experiment& e) {
                     e.optimizer.momentum = 0.0;
                     e.sync.algorithm = "esync";
                   }},
        Sequential{"EsyncOfEqualDevicesOverAllReduce", 4,
                   [](Experiment& e) {
                     e.optimizer.momentum = 0.0;
                     e.sync.algorithm = "esync";
                     e.sync.over = sync::Route::all_reduce;
                     e.sync.options = {{"weights", std::string("samples")}};
                   }}),
    name_of_way);

/// An algorithm with options, and a name for the test.
struct Served {
  std::string name;
  std::string algorithm;
  std::map<std::string, OptionValue> options = {};
};
void PrintTo(const Served& value, std::ostream* out) { *out << value.name; }

/// Every algorithm with its defaults.
std::vector<Served> every_algorithm() {
  std::vector<Served> all;
  for (const std::string& name : testing::algorithms_over(sync::Route::server)) all.push_back({name, name});
  const auto set = [&](const std::string& name, const std::map<std::string, OptionValue>& options) {
    std::ranges::find(all, name, &Served::name)->options = options;
  };
  // Their default rounds or periods are long.
  set("diloco", {{"h", std::int64_t{20}}});
  set("adsp", {{"period_s", 0.5}});
  return all;
}

/// Those that block, drop or weigh pushes with options that make them do so often.
std::vector<Served> tight_algorithms() {
  std::vector<Served> all;
  const auto add = [&](const std::string& algorithm, const std::map<std::string, OptionValue>& options) {
    all.push_back({algorithm + "-tight", algorithm, options});
  };
  add("k-sync", {{"k", std::int64_t{2}}});
  add("k-batch-sync", {{"k", std::int64_t{7}}});
  add("rennala", {{"b", std::int64_t{3}}});
  add("ringmaster", {{"r", std::int64_t{1}}});
  add("ssp", {{"staleness", std::int64_t{2}}});
  add("dssp", {{"lower", std::int64_t{1}}, {"upper", std::int64_t{4}}});
  add("dynsgd", {{"staleness", std::int64_t{1}}});
  add("adacomm", {{"tau", std::int64_t{6}}, {"period_s", 0.0}});
  add("adsp", {{"period_s", 0.1}, {"search_every", std::int64_t{1}}});
  add("lb-bsp", {{"every", std::int64_t{2}}, {"smoothing", 0.3}});
  add("sync-switch", {{"fraction", 0.6}});
  add("post-local-sgd", {{"switch_round", std::int64_t{2}}, {"h", std::int64_t{3}}});
  return all;
}

/// Every algorithm with its defaults; `also_tight`: those that are among `tight_algorithms`, or the others.
std::vector<Served> with_defaults(bool also_tight) {
  std::vector<Served> all = every_algorithm();
  const std::vector<Served> tight = tight_algorithms();
  std::erase_if(all, [&](const Served& served) {
    const bool is_tight = std::ranges::find(tight, served.algorithm, &Served::algorithm) != tight.end();
    return is_tight != also_tight;
  });
  return all;
}

class EveryAlgorithm : public Training, public ::testing::WithParamInterface<Served> {
 protected:
  /// Five workers; three of them share a host and so are slower.
  Experiment uneven_experiment() const {
    Experiment experiment = small_experiment(1);
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.workload.batch = 16;
    experiment.stop.rounds = 12;
    experiment.placement.workers = {"host-1", "host-1", "host-2", "host-1", "host-3"};
    if (const int most = sync::catalog().find(GetParam().algorithm).make.most_workers; most > 0)
      experiment.placement.workers.resize(static_cast<std::size_t>(most));
    experiment.sync.algorithm = GetParam().algorithm;
    experiment.sync.options = GetParam().options;
    return experiment;
  }
  std::map<Rank, testing::ServerLog> server_logs(const Journal& journal) const {
    std::map<Rank, testing::ServerLog> logs;
    for (const auto& record : journal.decisions)
      if (record.side == "server") logs[record.rank].push_back({record.event, record.decisions});
    return logs;
  }
  void expect_sound(const Journal& journal, std::size_t shards) const {
    const auto logs = server_logs(journal);
    const int workers = job_->exchange().sync_setting().workers;
    EXPECT_EQ(logs.size(), shards);
    for (const auto& [rank, log] : logs) {
      SCOPED_TRACE("server of rank " + std::to_string(rank));
      testing::ServerLaws::expect_kept(log, workers, true);
      testing::expect_replays(GetParam().algorithm, job_->exchange().sync_setting(), log);
      const auto pushes = std::count_if(log.begin(), log.end(),
                                        [](const auto& line) { return line.event.starts_with("push"); });
      EXPECT_GE(pushes, workers * 12);
    }
  }
};

using LongEveryAlgorithm = EveryAlgorithm;

TEST_P(LongEveryAlgorithm, EndsWithEveryPushAnswered) { expect_sound(train(uneven_experiment()), 1); }

/// Pushes reach the shards in different orders, so the shards decide differently; but they write checkpoints
/// together.
TEST_P(EveryAlgorithm, EndsWithEveryPushAnsweredOnEachShard) {
  Experiment experiment = uneven_experiment();
  experiment.evaluate_every = 3;
  experiment.placement.evaluator = "host-0";
  experiment.placement.servers = {"host-0", "host-1", "host-2"};
  const Journal journal = train(experiment);
  expect_sound(journal, 3);
  EXPECT_GE(journal.evaluations.size(), 4U);
}

class Coordinated : public EveryAlgorithm {};

/// Over an all-reduce, a coordinator decides, and the first worker writes the checkpoints.
TEST_P(Coordinated, EndsWithEveryExchangeAnswered) {
  Experiment experiment = uneven_experiment();
  experiment.sync.over = sync::Route::all_reduce;
  experiment.evaluate_every = 3;
  experiment.placement.workers = {"host-1", "host-1", "host-1", "host-1", "host-1", "host-2"};
  experiment.placement.evaluator = "host-0";
  const Journal journal = train(experiment);
  expect_sound(journal, 1);
  EXPECT_EQ(journal.evaluations.size(), 4U);
  std::map<Rank, int> steps;
  for (const auto& step : journal.steps) ++steps[step.rank];
  EXPECT_GT(steps[5], steps[0]) << "a fast worker takes more steps";
}

INSTANTIATE_TEST_SUITE_P(
    Catalogue, Coordinated,
    ::testing::Values(Served{"esync", "esync"},
                      Served{"esync_published", "esync-published", {{"epsilon_s", 0.0}}},
                      Served{"esync_by_steps", "esync", {{"weights", std::string("steps")}}}),
    [](const auto& instance) { return instance.param.name; });

std::string name_of_served(const ::testing::TestParamInfo<Served>& instance) {
  std::string name = instance.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Catalogue, EveryAlgorithm, ::testing::ValuesIn(with_defaults(false)),
                         name_of_served);
INSTANTIATE_TEST_SUITE_P(Tight, EveryAlgorithm, ::testing::ValuesIn(tight_algorithms()), name_of_served);
INSTANTIATE_TEST_SUITE_P(LongCatalogue, EveryAlgorithm, ::testing::ValuesIn(with_defaults(true)),
                         name_of_served);
INSTANTIATE_TEST_SUITE_P(LongCatalogue, LongEveryAlgorithm, ::testing::ValuesIn(every_algorithm()),
                         name_of_served);
INSTANTIATE_TEST_SUITE_P(LongTight, LongEveryAlgorithm, ::testing::ValuesIn(tight_algorithms()),
                         name_of_served);

TEST_F(Training, TheEvaluatorSeesTheModelLearn) {
  Experiment experiment = small_experiment(2);
  experiment.evaluate_every = 5;
  experiment.stop.rounds = 20;
  experiment.placement.evaluator = "host-0";
  const Journal journal = train(experiment);
  ASSERT_EQ(journal.evaluations.size(), 4U);
  EXPECT_GT(journal.evaluations.back().accuracy, 0.5);
  EXPECT_LT(journal.evaluations.back().loss, journal.evaluations.front().loss);
  for (const auto& evaluation : journal.evaluations) EXPECT_LT(evaluation.checkpoint_time, evaluation.time);
}

/// Over an all-reduce, the first worker writes the checkpoints; the last round has one as well.
TEST_F(Training, OverAllReduceTheEvaluatorSeesEveryDueRound) {
  Experiment experiment = small_experiment(2);
  experiment.evaluate_every = 2;
  experiment.stop.rounds = 6;
  experiment.sync.over = sync::Route::all_reduce;
  experiment.placement.servers.clear();
  experiment.placement.evaluator = "host-0";
  const Journal journal = train(experiment);
  ASSERT_EQ(journal.evaluations.size(), 3U);
  EXPECT_EQ(journal.evaluations.back().round, 6);
}

TEST_F(Training, StorageThroughACacheNodeTrainsOnTheSameData) {
  Experiment experiment = small_experiment(4);
  experiment.data.source = DataSource::storage;
  experiment.data.cache_capacity = Bytes(20 * 785);
  experiment.placement.cache_nodes = {"host-0"};
  const Journal journal = train(experiment);
  expect_close(final_model(), sequential_model(5), 1e-5F);
  EXPECT_EQ(testing::cache_sum(journal, "").samples,
            96 * 6);  // five rounds, and one prefetched batch per worker
}

/// Prefetched batches keep the size that was requested, and the step counts these samples.
TEST_F(Training, AStepCountsTheSamplesReceivedFromStorage) {
  Experiment experiment = small_experiment(3);
  experiment.sync.algorithm = "lb-bsp";
  experiment.data.source = DataSource::storage;
  experiment.data.cache_capacity = Bytes(20 * 785);
  experiment.placement.cache_nodes = {"host-0"};
  experiment.stop.rounds = 8;
  price_ = [](Rank rank, const Work& work) { return Seconds(1e-4 * (1 + rank) * work.samples); };
  const Journal journal = train(experiment, true);
  std::map<Rank, std::vector<std::int64_t>> came;
  for (const auto& operation : journal.operations)
    if (operation.kind == "receive" && operation.channel == "batches")
      came[operation.rank].push_back(operation.bytes / 785);
  std::map<Rank, std::size_t> taken;
  std::set<int> sizes;
  for (const auto& step : journal.steps) {
    EXPECT_EQ(step.samples, came[step.rank].at(taken[step.rank]++)) << step.rank << ' ' << step.step;
    sizes.insert(step.samples);
  }
  EXPECT_GT(sizes.size(), 2U);
}

TEST_F(Training, MinioHitsAreItsCapacityInEveryWarmEpoch) {
  Experiment experiment = small_experiment(2);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.data.source = DataSource::storage;
  experiment.data.cache = "minio";
  experiment.data.cache_capacity = Bytes(20 * 785);
  experiment.data.prefetch = 0;
  experiment.placement.cache_nodes = {"host-0"};
  const Journal journal = train(experiment);
  EXPECT_EQ(testing::cache_sum(journal, "tier0", 0).samples, 0);
  for (std::int64_t epoch = 1; epoch < 5; ++epoch)
    EXPECT_EQ(testing::cache_sum(journal, "tier0", epoch).samples, 20);
}

TEST_F(Training, PhasesOfAStepAddUpToItsDuration) {
  Experiment experiment = small_experiment(3);
  experiment.sync.algorithm = "esync";
  const Journal journal = train(experiment);
  for (std::size_t i = 1; i < journal.steps.size(); ++i) {
    const auto& before = journal.steps[i - 1];
    if (before.rank != journal.steps[i].rank) continue;
    EXPECT_NEAR((before.start + before.duration()).count(), journal.steps[i].start.count(), 1e-9);
  }
}

TEST_F(Training, EverySampleIsCountedOnce) {
  const Journal journal = train(small_experiment(4));
  std::int64_t samples = 0;
  for (const auto& step : journal.steps) samples += step.samples;
  EXPECT_EQ(samples, 96 * 5);
}

/// Half of the workers are so slow that all of their pushes are too late.
TEST_F(Training, SamplesOfDroppedPushesAreCounted) {
  Experiment experiment = small_experiment(4);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.placement.workers = {"host-1", "host-2", "host-3", "host-3"};
  experiment.placement.servers = {"host-0", "host-5"};
  experiment.sync.algorithm = "k-sync";
  experiment.sync.options = {{"k", std::int64_t{2}}};
  const Journal journal = train(experiment);
  std::int64_t processed = 0, of_slow_host = 0;
  for (const auto& step : journal.steps) {
    processed += step.samples;
    if (step.rank >= 2) of_slow_host += step.samples;
  }
  EXPECT_GE(processed, 96 * 5);
  EXPECT_GT(of_slow_host, 0);
  EXPECT_EQ(journal.dropped_samples, of_slow_host);
}

/// Each of the two servers is on the host of another worker, whose push reaches it first.
TEST_F(Training, APushCountsAtAllServersWhereTheFirstDecides) {
  Experiment experiment = small_experiment(2);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.placement.servers = {"host-1", "host-2"};
  experiment.sync.algorithm = "k-sync";
  experiment.sync.options = {{"k", std::int64_t{1}}};
  train_apart(experiment, "each", [](const Journal& journal) {
    EXPECT_GT(journal.split_samples, 0);
    EXPECT_GT(journal.dropped_samples, 0);
  });
  experiment.sync.decides = PushOrder::first_server;
  train_apart(experiment, "first", [](const Journal& journal) {
    EXPECT_EQ(journal.split_samples, 0);
    EXPECT_GT(journal.dropped_samples, 0);
  });
}

/// Each of two servers is on the host of a worker. Both take the share of 20 s that the first one has
/// counted, so that both end the same rounds, and then answer each push at once.
TEST_F(Training, ServersInOneOrderSwitchAtTheSameTime) {
  price_ = [](Rank rank, const Work& work) {
    return Seconds(work.kind != Work::Kind::forward ? 0.0 : rank % 2 == 0 ? 1.0 : 0.7);
  };
  Experiment experiment = small_experiment(2);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.placement.servers = {"host-1", "host-2"};
  experiment.sync.algorithm = "sync-switch";
  experiment.sync.options = {{"fraction", 0.5}};
  experiment.sync.decides = PushOrder::first_server;
  experiment.stop = {.seconds = Seconds(20)};
  const Journal journal = train(experiment);
  EXPECT_NEAR(makespan_.count(), 20.0, 2.0);
  std::map<Rank, std::vector<std::string>> decided;
  for (const DecisionRecord& one : journal.decisions)
    if (one.side == "server") decided[one.rank].push_back(one.event + " -> " + one.decisions);
  ASSERT_EQ(decided.size(), 2U);
  EXPECT_EQ(decided.begin()->second, decided.rbegin()->second);
  // Ten rounds of a second, then pushes of two workers in ten seconds.
  EXPECT_NEAR(static_cast<double>(decided.begin()->second.size()), 20 + 10 + 10 / 0.7, 3.0);
}

TEST_F(Training, OperationsAreRecordedInPairs) {
  const Journal journal = train(small_experiment(3), true);
  std::int64_t sent = 0, received = 0;
  for (const auto& operation : journal.operations) {
    EXPECT_LE(operation.start, operation.end);
    if (operation.kind == "send") ++sent;
    if (operation.kind == "receive") ++received;
  }
  EXPECT_EQ(sent, received);
  EXPECT_GT(sent, 0);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
