// Exchanges over a server: workers that ask for the model (sync.pull), exchange key by key (sync.exchange),
// wait for a coordinator that takes time to answer (tandem:answer), and evaluate (placement.evaluator). Times
// are closed forms; models are bit by bit those of the usual exchange.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/stream_text.hpp"
#include "tests/sim/training.hpp"
#include "tests/support/algorithms.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::Change;
using testing::small_experiment;
using testing::Training;

// Of the star of `Training`.
constexpr double bandwidth = 1e8;
constexpr double latency_s = 1e-4;
constexpr double note_s = 40 / bandwidth;
/// A message pays 10 ns of latency even if it has waited for the one before it.
constexpr double tolerance_s = 2e-7;

constexpr int buckets = 4;
constexpr std::int64_t parameters = 1'000'000;
constexpr double bucket_s = 4.0 * static_cast<double>(parameters) / buckets / bandwidth;

/// Of a model that is given by its sizes, in equal buckets, whose work takes no time.
Experiment by_sizes(int workers) {
  Experiment experiment = small_experiment(workers);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.workload.model = "synthetic";
  experiment.workload.synthetic_parameters = parameters;
  experiment.workload.synthetic_buckets = buckets;
  experiment.optimizer.momentum = 0.0;
  experiment.stop.rounds = 4;
  return experiment;
}

class ServerExchanges : public Training {
 protected:
  ServerExchanges() {
    price_ = [](Rank, const Work&) { return Seconds(0.0); };
  }

  /// From the start of the first worker's second step to that of its third.
  static double step_s(const Journal& journal) {
    std::map<int, double> starts;
    for (const auto& step : journal.steps)
      if (step.rank == 0) starts[step.step] = step.start.count();
    return starts.at(2) - starts.at(1);
  }
  /// How often a rank received something of this stream.
  static std::int64_t received(const Journal& journal, const std::string& channel) {
    return std::ranges::count_if(journal.operations, [&](const OperationRecord& operation) {
      return operation.kind == "receive" && operation.channel == channel;
    });
  }
};

TEST_F(ServerExchanges, APushedModelCostsTwoLatenciesAndTheBytesOfAllWorkers) {
  const double step = step_s(train(by_sizes(2)));
  EXPECT_NEAR(step, 2 * (latency_s + 2 * (buckets * bucket_s + note_s)), tolerance_s);
}

TEST_F(ServerExchanges, ARequestedModelCostsOneMoreLatency) {
  Experiment experiment = by_sizes(1);
  experiment.sync.pull = ServerPull::requested;
  const Journal journal = train(experiment, true);
  EXPECT_NEAR(step_s(journal), 3 * latency_s + 2 * (buckets * bucket_s + note_s) + note_s, tolerance_s);
  EXPECT_EQ(received(journal, "pulls"), 4 * buckets) << "one for each piece of each reply";
}

/// The server keeps requests that arrive before it has updated the model.
TEST_F(ServerExchanges, ARequestThatArrivesDuringTheUpdateCostsNothing) {
  constexpr double update_s = 5e-4;
  static_assert(update_s > latency_s + buckets * note_s);
  price_ = [](Rank, const Work& work) { return Seconds(work.kind == Work::Kind::update ? update_s : 0.0); };
  Experiment experiment = by_sizes(1);
  experiment.sync.pull = ServerPull::requested;
  EXPECT_NEAR(step_s(train(experiment)), update_s + 2 * (latency_s + buckets * bucket_s + note_s),
              tolerance_s);
}

/// Two shards, whose links are separate: each bucket has a piece on each, of half its size, except that the
/// worker's link carries both.
TEST_F(ServerExchanges, RequestsToSeveralShardsTravelTogether) {
  Experiment experiment = by_sizes(1);
  experiment.placement.servers = {"host-0", "host-5"};
  experiment.sync.pull = ServerPull::requested;
  const double requested = step_s(train(experiment, true));
  // Both first requests share the worker's link.
  EXPECT_NEAR(requested, 3 * latency_s + 2 * (buckets * bucket_s + 2 * note_s) + 2 * note_s, tolerance_s);
}

TEST_F(ServerExchanges, EachKeyIsPushedUpdatedAndPulledBeforeTheNext) {
  constexpr double update_s = 3e-4;
  price_ = [](Rank, const Work& work) { return Seconds(work.kind == Work::Kind::update ? update_s : 0.0); };
  Experiment experiment = by_sizes(2);
  experiment.sync.exchange = ExchangeUnit::by_key;
  const Journal journal = train(experiment, true);
  // Every push of a key has a note, and the reply to the last one.
  const double push = latency_s + 2 * (bucket_s + note_s);
  const double pull = latency_s + 2 * bucket_s;
  EXPECT_NEAR(step_s(journal), buckets * (push + update_s + pull) + 2 * note_s, tolerance_s);
  EXPECT_EQ(std::ranges::count_if(journal.operations,
                                  [](const OperationRecord& operation) {
                                    return operation.kind == "compute" && operation.work == "update";
                                  }),
            4 * buckets);
}

/// Each key of one of two workers, whose steps are short, is answered without waiting for the other.
TEST_F(ServerExchanges, AnAsynchronousServerAnswersEachKeyAtOnce) {
  constexpr double update_s = 3e-4;
  price_ = [](Rank rank, const Work& work) {
    const bool is_slow = rank == 1 && work.kind == Work::Kind::forward;
    return Seconds(is_slow ? 10.0 : work.kind == Work::Kind::update ? update_s : 0.0);
  };
  Experiment experiment = by_sizes(2);
  experiment.sync.algorithm = "asp";
  experiment.sync.exchange = ExchangeUnit::by_key;
  EXPECT_NEAR(step_s(train(experiment)), buckets * (2 * (latency_s + bucket_s) + note_s + update_s) + note_s,
              tolerance_s);
}

/// A server whose host states its costs pays them for each key.
TEST_F(ServerExchanges, EachKeyCostsTheServerAPushAndAReply) {
  host_properties_ = "<prop id='tandem:server_message' value='1ms'/>";
  price_ = [](Rank, const Work& work) {
    return Seconds(work.kind == Work::Kind::push ? 1e-3 : work.kind == Work::Kind::reply ? 2e-3 : 0.0);
  };
  Experiment experiment = by_sizes(1);
  experiment.sync.exchange = ExchangeUnit::by_key;
  EXPECT_NEAR(step_s(train(experiment)),
              buckets * (2 * (latency_s + bucket_s) + note_s + 1e-3 + 2e-3) + note_s, tolerance_s);
}

TEST_F(ServerExchanges, KeysThatAreRequestedCostALatencyEach) {
  Experiment experiment = by_sizes(1);
  experiment.sync.exchange = ExchangeUnit::by_key;
  experiment.sync.pull = ServerPull::requested;
  EXPECT_NEAR(step_s(train(experiment)), buckets * (3 * latency_s + 2 * (bucket_s + note_s)) + note_s,
              tolerance_s);
}

/// The slowest worker makes all wait for each key once: it begins later, and then the keys follow each other.
TEST_F(ServerExchanges, AllWorkersWaitForTheSlowestOnceAndThenForEachOther) {
  constexpr double slow_s = 0.5;
  price_ = [](Rank rank, const Work& work) {
    return Seconds(rank == 1 && work.kind == Work::Kind::forward ? slow_s : 0.0);
  };
  Experiment experiment = by_sizes(2);
  experiment.sync.exchange = ExchangeUnit::by_key;
  // The first key of the fast worker arrives meanwhile.
  const double alone = latency_s + bucket_s + note_s;
  const double together = latency_s + 2 * (bucket_s + note_s);
  EXPECT_NEAR(step_s(train(experiment)),
              slow_s + alone + (buckets - 1) * together + buckets * (latency_s + 2 * bucket_s) + 2 * note_s,
              tolerance_s);
}

class AnsweringTakesTime : public ServerExchanges {
 protected:
  AnsweringTakesTime() {
    price_ = [](Rank, const Work& work) { return Seconds(work.kind == Work::Kind::forward ? 0.1 : 0.0); };
  }
  /// A question of the first worker's second step, which asks before and after it.
  double query_s(const Experiment& experiment) {
    for (const auto& step : train(experiment).steps)
      if (step.rank == 0 && step.step == 1)
        return step.phases[static_cast<std::size_t>(Phase::query)].count() / 2;
    return std::nan("");
  }
};

Experiment that_asks(int workers) {
  Experiment experiment = by_sizes(workers);
  experiment.sync.algorithm = "esync-published";
  return experiment;
}

TEST_F(AnsweringTakesTime, AQueryLastsARoundTripWithoutTheProperty) {
  EXPECT_NEAR(query_s(that_asks(1)), 2 * (latency_s + note_s), tolerance_s);
}

TEST_F(AnsweringTakesTime, AQueryWaitsForTheAnswer) {
  host_properties_ = "<prop id='tandem:answer' value='3ms'/>";
  EXPECT_NEAR(query_s(that_asks(1)), 2 * (latency_s + note_s) + 3e-3, tolerance_s);
}

TEST_F(AnsweringTakesTime, QueriesAreAnsweredOneAfterTheOther) {
  host_properties_ = "<prop id='tandem:answer' value='3ms'/>";
  std::vector<double> queries;
  for (const auto& step : train(that_asks(4)).steps)
    if (step.step == 0) queries.push_back(step.phases[static_cast<std::size_t>(Phase::query)].count());
  std::ranges::sort(queries);
  ASSERT_EQ(queries.size(), 4U);
  for (std::size_t i = 1; i < queries.size(); ++i)
    EXPECT_NEAR(queries[i] - queries[i - 1], 3e-3, 2 * note_s + tolerance_s) << i;
}

TEST_F(AnsweringTakesTime, NativeDevicesAnswerAsFastAsTheyCan) {
  host_properties_ = "<prop id='tandem:answer' value='3ms'/>";
  Experiment experiment = that_asks(1);
  experiment.run.devices = DeviceSpeed::native;
  EXPECT_NEAR(query_s(experiment), 2 * (latency_s + note_s), tolerance_s);
}

class BadAnswerTime : public Training, public ::testing::WithParamInterface<const char*> {};

TEST_P(BadAnswerTime, IsRefused) {
  host_properties_ = std::string("<prop id='tandem:answer' value='") + GetParam() + "'/>";
  try {
    train(that_asks(1));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("host 'host-0': property 'tandem:answer': expected a time >= 0 (like 2ms; ns us ms s "
                        "min h d), found '" +
                        std::string(GetParam()) + "'"),
              std::string::npos)
        << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Values, BadAnswerTime, ::testing::Values("5kg", "-1ms", ""));

// ---- Models ----

class Models : public Training {
 protected:
  /// Trains both in separate processes; the final models are equal, bit by bit.
  void expect_same_models(const Experiment& one, const Experiment& other) {
    train_apart(one, "one");
    train_apart(other, "other");
    const testing::TemporaryPlatform file(testing::TemporaryPlatform::star(10, bandwidth, latency_s));
    job_ = std::make_unique<Job>(one, platforms::load_platform(file.path()), directory_.string());
    const auto expected = model_in("one"), found = model_in("other");
    EXPECT_TRUE(expected == found) << "differs by " << distance(expected, found);
    EXPECT_GT(distance(expected, initial_model(job_->replica_plan())), 1e-4F);
  }
};

class SameModels : public Models, public ::testing::WithParamInterface<Change> {};

TEST_P(SameModels, AsByKey) {
  Experiment experiment = small_experiment(3);
  GetParam().make(experiment);
  Experiment by_key = experiment;
  by_key.sync.exchange = ExchangeUnit::by_key;
  expect_same_models(experiment, by_key);
}

TEST_P(SameModels, AsRequested) {
  Experiment experiment = small_experiment(3);
  GetParam().make(experiment);
  Experiment requested = experiment;
  requested.sync.pull = ServerPull::requested;
  expect_same_models(experiment, requested);
}

/// Both at once.
class SameModelsInBothWays : public SameModels {};

TEST_P(SameModelsInBothWays, AsRequestedByKey) {
  Experiment experiment = small_experiment(3);
  GetParam().make(experiment);
  Experiment both = experiment;
  both.sync.pull = ServerPull::requested;
  both.sync.exchange = ExchangeUnit::by_key;
  expect_same_models(experiment, both);
}

const auto of_algorithm = [](const std::string& name) {
  return [name](Experiment& experiment) {
    experiment.sync.algorithm = name;
    experiment.stop.rounds = 4;
  };
};

std::string name_of_change(const ::testing::TestParamInfo<Change>& instance) { return instance.param.name; }

const Change adam_on_three_shards{"AdamOnThreeShards", [](Experiment& e) {
                                    e.optimizer.kind = OptimizerKind::adam;
                                    e.optimizer.momentum = 0.0;
                                    e.optimizer.learning_rate = 1e-3;
                                    e.optimizer.schedule = RateDecay::step;
                                    e.optimizer.step_every = 2;
                                    e.placement.servers = {"host-0", "host-5", "host-6"};
                                  }};
INSTANTIATE_TEST_SUITE_P(Ways, SameModels, ::testing::Values(adam_on_three_shards), name_of_change);
INSTANTIATE_TEST_SUITE_P(Ways, SameModelsInBothWays, ::testing::Values(adam_on_three_shards), name_of_change);

INSTANTIATE_TEST_SUITE_P(LongWays, SameModels,
                         ::testing::Values(Change{"Momentum", [](Experiment&) {}},
                                           Change{"UpdatesAtWorkers",
                                                  [](Experiment& e) {
                                                    e.optimizer.update_at = UpdateSide::workers;
                                                    e.placement.servers = {"host-0", "host-5"};
                                                  }},
                                           Change{"Slowmo", of_algorithm("slowmo")}),
                         name_of_change);
INSTANTIATE_TEST_SUITE_P(
    LongWays, SameModelsInBothWays,
    ::testing::Values(Change{"Momentum", [](Experiment&) {}},
                      Change{"AdamWithDecayedWeights",
                             [](Experiment& e) {
                               e.optimizer.kind = OptimizerKind::adamw;
                               e.optimizer.momentum = 0.0;
                               e.optimizer.learning_rate = 1e-3;
                               e.optimizer.weight_decay = 0.1;
                               e.placement.servers = {"host-0", "host-5"};
                             }},
                      Change{"WholeBucketsOnShards",
                             [](Experiment& e) {
                               e.sync.sharding = "round-robin";
                               e.placement.servers = {"host-0", "host-5", "host-6"};
                             }},
                      Change{"UpdatesAtWorkers",
                             [](Experiment& e) {
                               e.optimizer.update_at = UpdateSide::workers;
                               e.placement.servers = {"host-0", "host-5"};
                             }},
                      Change{"Compressed",
                             [](Experiment& e) {
                               e.sync.compression = "top-k";
                               e.placement.servers = {"host-0", "host-5"};
                             }},
                      Change{"CompressedAtRandom",
                             [](Experiment& e) {
                               e.sync.compression = "random-k";
                               e.placement.servers = {"host-0", "host-5"};
                             }},
                      Change{"WithoutOverlap", [](Experiment& e) { e.sync.overlap = OverlapMode::none; }},
                      Change{"LocalSgd", of_algorithm("local-sgd")}, Change{"Slowmo", of_algorithm("slowmo")},
                      Change{"PostLocalSgd", of_algorithm("post-local-sgd")},
                      Change{"Easgd", of_algorithm("easgd")},
                      Change{"Statistics",
                             [](Experiment& e) {
                               e = small_experiment(2);
                               e.workload.model = "resnet32";
                               e.workload.train_samples = 8;
                               e.workload.batch = 4;
                               e.workload.bucket_bytes = Bytes(1 << 20);
                               e.stop.rounds = 2;
                               e.placement.servers = {"host-0", "host-5"};
                             }}),
    name_of_change);

/// Buckets of a reply that forward waits for one by one.
TEST_F(Models, AreTheSameIfRequestedWhileTheNextForwardRuns) {
  Experiment experiment = small_experiment(3);
  experiment.sync.overlap = OverlapMode::both;
  Experiment requested = experiment;
  requested.sync.pull = ServerPull::requested;
  expect_same_models(experiment, requested);
}

class RequestingAlgorithms : public ServerExchanges, public ::testing::WithParamInterface<std::string> {
 protected:
  /// A line for every step: its worker and number, and the round, version and samples that it had.
  static std::string course_of(const Journal& journal) {
    std::set<std::string> lines;
    for (const auto& step : journal.steps)
      lines.insert(
          fmt::format("{} {} {} {} {}\n", step.rank, step.step, step.round, step.version, step.samples));
    return fmt::format("{}", fmt::join(lines, ""));
  }
  /// Where servers send models without a request.
  std::string course_without_requests(Experiment experiment) {
    experiment.sync.pull = ServerPull::pushed;
    const auto file = directory_ / "course";
    train_apart(experiment, "pushed",
                [&](const Journal& journal) { std::ofstream(file) << course_of(journal); });
    std::ifstream course(file);
    return rest_of(course);
  }
};

/// Unequal workers, two shards.
TEST_P(RequestingAlgorithms, EndsAfterItsRoundsWhenModelsAreRequested) {
  price_ = [](Rank rank, const Work& work) {
    return Seconds(1e-4 * (1.0 + rank) * std::max(1, work.samples));
  };
  const auto& algorithm = sync::catalog().find(GetParam()).make;
  Experiment experiment = by_sizes(algorithm.most_workers == 1 ? 1 : 3);
  experiment.sync.algorithm = GetParam();
  experiment.sync.pull = ServerPull::requested;
  experiment.placement.servers = {"host-0", "host-5"};
  experiment.evaluate_every = 2;
  experiment.placement.evaluator = "first-worker";
  if (GetParam() == "adsp") experiment.sync.options = {{"period_s", 0.5}};
  const std::string expected = algorithm.timing_driven ? "" : course_without_requests(experiment);
  const Journal journal = train(experiment, true);
  EXPECT_FALSE(journal.evaluations.empty());
  EXPECT_EQ(received(journal, "pulls"), received(journal, "replies") + received(journal, "reply-pieces"));
  // The last round of k-batch-sync and rennala is still in progress when the job ends.
  const auto updates = std::ranges::count(journal.operations, "update", &OperationRecord::work);
  EXPECT_GE(updates, 2 * (experiment.stop.rounds - 1)) << "of two shards";
  if (algorithm.timing_driven) return;
  EXPECT_EQ(course_of(journal), expected);
}

std::string name_of_algorithm(const ::testing::TestParamInfo<std::string>& instance) {
  std::string name = instance.param;
  std::erase(name, '-');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Catalogue, RequestingAlgorithms,
                         ::testing::ValuesIn(testing::algorithms_over(sync::Route::server)),
                         name_of_algorithm);

// ---- The first worker evaluates ----

TEST_F(ServerExchanges, TheStepsOfTheFirstWorkerWaitForItsEvaluations) {
  constexpr double evaluation_s = 0.25;
  price_ = [](Rank, const Work& work) {
    return Seconds(work.kind == Work::Kind::evaluate ? evaluation_s : 0.0);
  };
  Experiment experiment = by_sizes(2);
  experiment.evaluate_every = 2;
  experiment.placement.evaluator = "first-worker";
  const Journal journal = train(experiment, true);
  EXPECT_EQ(job_->roster().size(), 3) << "no rank of its own";
  ASSERT_EQ(journal.evaluations.size(), 2U);
  EXPECT_EQ(journal.evaluations[0].round, 2);
  EXPECT_EQ(journal.evaluations[1].round, 4);
  const auto step = [&](int number) {
    return *std::ranges::find_if(journal.steps,
                                 [&](const StepRecord& one) { return one.rank == 0 && one.step == number; });
  };
  const double end = (step(1).start + step(1).duration()).count();
  EXPECT_NEAR(journal.evaluations[0].checkpoint_time.count(), end, tolerance_s);
  EXPECT_NEAR(journal.evaluations[0].time.count(), end + evaluation_s, tolerance_s);
  EXPECT_NEAR(step(2).start.count(), end + evaluation_s, tolerance_s);
  for (const auto& operation : journal.operations)
    EXPECT_TRUE(operation.work != "evaluate" || operation.rank == 0);
}

class FirstWorker : public Training, public ::testing::WithParamInterface<Change> {
 protected:
  static std::vector<std::pair<std::int64_t, double>> accuracies(const Journal& journal) {
    std::vector<std::pair<std::int64_t, double>> all;
    for (const auto& evaluation : journal.evaluations)
      all.emplace_back(evaluation.round, evaluation.accuracy);
    return all;
  }
  static Experiment evaluated() {
    Experiment experiment = small_experiment(3);
    experiment.stop.rounds = 6;
    experiment.evaluate_every = 2;
    experiment.placement.evaluator = "first-worker";
    GetParam().make(experiment);
    return experiment;
  }
};

/// Its model is the one of the checkpoint.
TEST_P(FirstWorker, FindsTheAccuracyOfTheCheckpoint) {
  const auto found = accuracies(train(evaluated()));
  ASSERT_EQ(found.size(), 3U);
  const auto learner = make_job_learner(job_->replica_plan());
  for (const auto& [round, accuracy] : found) {
    const auto path = directory_ / "checkpoints" / ("round_0000000" + std::to_string(round) + ".pt");
    const auto values = load_checkpoint(path.string(), job_->model()).values;
    std::ranges::copy(values, learner->model().begin());
    EXPECT_EQ(learner->evaluate(job_->data().dataset()->records(Dataset::Part::test)).accuracy, accuracy)
        << round;
  }
}

TEST_P(FirstWorker, EndsTheJobAtAnAccuracy) {
  Experiment stopped = evaluated();
  stopped.stop.rounds = 60;
  stopped.stop.accuracy = 0.3;
  const Journal journal = train(stopped);
  const auto found = accuracies(journal);
  ASSERT_FALSE(found.empty());
  const auto reached = std::ranges::find_if(found, [](const auto& one) { return one.second >= 0.3; });
  ASSERT_NE(reached, found.end());
  EXPECT_LT(reached->first, 60);
  // Where workers have models of their own, their mean is evaluated at the end.
  EXPECT_EQ(found.back().first, reached->first);
}

/// With its last evaluation, after a round in which workers know of the end, and their server does not: it
/// waits for the verdict.
TEST_P(FirstWorker, EndsTheJobAfterItsEpochsWithoutTheAccuracy) {
  Experiment experiment = evaluated();
  experiment.stop = {.epochs = 4.0, .accuracy = 0.999};
  const Journal journal = train(experiment);
  std::int64_t samples = 0;
  for (const StepRecord& step : journal.steps) samples += step.samples;
  ASSERT_FALSE(journal.evaluations.empty());
  // A round of ESync has several steps.
  EXPECT_GE(samples, 4 * 96);
  if (experiment.sync.algorithm == "esync") return;
  EXPECT_EQ(samples, 4 * 96);
  EXPECT_EQ(journal.evaluations.back().round, journal.steps.back().round + 1);
}

INSTANTIATE_TEST_SUITE_P(Routes, FirstWorker,
                         ::testing::Values(Change{"ServersWhoseModelIsRequested",
                                                  [](Experiment& e) {
                                                    e.sync.pull = ServerPull::requested;
                                                    e.placement.servers = {"host-0", "host-5"};
                                                  }},
                                           Change{"Coordinator",
                                                  [](Experiment& e) {
                                                    e.sync.over = sync::Route::all_reduce;
                                                    e.sync.algorithm = "esync";
                                                  }},
                                           Change{"Peers",
                                                  [](Experiment& e) {
                                                    e.sync.over = sync::Route::peers;
                                                    e.sync.algorithm = "d-psgd";
                                                  }}),
                         name_of_change);

INSTANTIATE_TEST_SUITE_P(
    LongRoutes, FirstWorker,
    ::testing::Values(
        Change{"Server", [](Experiment&) {}},
        Change{"ServerByKey", [](Experiment& e) { e.sync.exchange = ExchangeUnit::by_key; }},
        Change{"WhileTheNextForwardRuns", [](Experiment& e) { e.sync.overlap = OverlapMode::both; }},
        Change{"UpdatesAtWorkers", [](Experiment& e) { e.optimizer.update_at = UpdateSide::workers; }},
        Change{"LocalSgd",
               [](Experiment& e) {
                 e.sync.algorithm = "local-sgd";
                 e.sync.options = {{"h", std::int64_t{2}}};
               }},
        Change{"AllReduce", [](Experiment& e) { e.sync.over = sync::Route::all_reduce; }}),
    name_of_change);

}  // namespace TANDEM_FILE
}  // namespace tandem
