// Algorithms of local steps with different updates of the model: a single learner that plays every worker
// reproduces the model, over any route.
#include <gtest/gtest.h>

#include <map>
#include <ostream>

#include "tests/sim/training_by_hand.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::Model;

constexpr double rate = 0.1;
constexpr int workers = 3;
constexpr int rounds = 5;

/// A route between the workers.
struct Route {
  const char* name;
  sync::Route over;
  std::vector<std::string> servers;
  std::string collective = "ring";
};
void PrintTo(const Route& value, std::ostream* out) { *out << value.name; }

class Rounds : public testing::TrainingByHand, public ::testing::WithParamInterface<Route> {
 protected:
  static Experiment experiment_of(const std::string& algorithm,
                                  const std::map<std::string, OptionValue>& options) {
    Experiment experiment = on_route(testing::plain_experiment(workers, rate));
    experiment.sync.algorithm = algorithm;
    experiment.sync.options = options;
    // Without servers, one is needed as the coordinator.
    if (experiment.placement.servers.empty()) experiment.placement.servers = {"host-0"};
    return experiment;
  }
  std::vector<float> train_rounds(const std::string& algorithm,
                                  const std::map<std::string, OptionValue>& options,
                                  std::int64_t halves_after = 0) {
    Experiment experiment = experiment_of(algorithm, options);
    if (halves_after > 0) {
      experiment.optimizer.schedule = RateDecay::step;
      experiment.optimizer.step_every = halves_after;
      experiment.optimizer.step_factor = 0.5;
    }
    train(experiment);
    return final_model();
  }
  static Experiment on_route(Experiment experiment) {
    experiment.stop.rounds = rounds;
    experiment.sync.over = GetParam().over;
    experiment.sync.collective = GetParam().collective;
    experiment.placement.servers = GetParam().servers;
    return experiment;
  }

  void take_local_steps(Model& model, int worker, int steps, double at_rate = rate) const {
    const auto learner = make_job_learner(job_->replica_plan());
    for (int step = 0; step < steps; ++step) descend(model, gradient_at(*learner, model, worker), at_rate);
  }

  /// Local steps from the common model, then PyTorch's SGD with the negative mean change as the gradient.
  std::vector<float> outer_by_hand(int steps, double outer_rate, double momentum, bool nesterov) const {
    Model model = initial(), velocity(model.size(), 0.0);
    for (int round = 0; round < rounds; ++round) {
      Model change(model.size(), 0.0);
      for (int worker = 0; worker < workers; ++worker) {
        Model local = model;
        take_local_steps(local, worker, steps);
        for (std::size_t i = 0; i < model.size(); ++i) change[i] += (local[i] - model[i]) / workers;
      }
      for (std::size_t i = 0; i < model.size(); ++i) {
        velocity[i] = momentum * velocity[i] - change[i];
        model[i] -= outer_rate * (nesterov ? momentum * velocity[i] - change[i] : velocity[i]);
      }
    }
    return rounded(model);
  }

  /// The mean of local models after rounds with the given numbers of steps.
  std::vector<float> means_by_hand(const std::vector<int>& steps) const {
    Model model = initial();
    for (const int of_round : steps) {
      Model mean(model.size(), 0.0);
      for (int worker = 0; worker < workers; ++worker) {
        Model local = model;
        take_local_steps(local, worker, of_round);
        for (std::size_t i = 0; i < model.size(); ++i) mean[i] += local[i] / workers;
      }
      model = mean;
    }
    return rounded(model);
  }

  /// SlowMo as in the paper, with a local learning rate that changes from round to round.
  std::vector<float> slowmo_by_hand(int steps, double outer_rate, double momentum,
                                    const std::vector<double>& rates) const {
    Model model = initial(), velocity(model.size(), 0.0);
    for (const double of_round : rates) {
      Model change(model.size(), 0.0);
      for (int worker = 0; worker < workers; ++worker) {
        Model local = model;
        take_local_steps(local, worker, steps, of_round);
        for (std::size_t i = 0; i < model.size(); ++i) change[i] += (model[i] - local[i]) / workers;
      }
      for (std::size_t i = 0; i < model.size(); ++i) {
        velocity[i] = momentum * velocity[i] + change[i] / of_round;
        model[i] -= outer_rate * of_round * velocity[i];
      }
    }
    return rounded(model);
  }

  /// Returns the centre. Each elastic step preserves the sum of all models.
  std::vector<float> elastic_by_hand(int steps, double beta) const {
    Model centre = initial();
    std::vector<Model> models(workers, centre);
    for (int round = 0; round < rounds; ++round) {
      for (int worker = 0; worker < workers; ++worker)
        take_local_steps(models[static_cast<std::size_t>(worker)], worker, steps);
      const Model before = centre;
      for (Model& model : models)
        for (std::size_t i = 0; i < model.size(); ++i) {
          const double given = beta / workers * (model[i] - before[i]);
          model[i] -= given;
          centre[i] += given;
        }
    }
    return rounded(centre);
  }
};

TEST_P(Rounds, FedAvgIsTheMeanOfLocalModels) {
  const auto trained = train_rounds("fedavg", {{"h", std::int64_t{3}}});
  expect_close(trained, outer_by_hand(3, 1.0, 0.0, false), 1e-5F);
}

TEST_P(Rounds, PostLocalSgdTakesOneStepThenH) {
  const auto trained =
      train_rounds("post-local-sgd", {{"switch_round", std::int64_t{2}}, {"h", std::int64_t{3}}});
  expect_close(trained, means_by_hand({1, 1, 3, 3, 3}), 1e-5F);
}

/// An epoch is a step of each worker: two rounds of one step and two of three are eight.
TEST_P(Rounds, PostLocalSgdEndsAfterItsEpochs) {
  Experiment experiment =
      experiment_of("post-local-sgd", {{"switch_round", std::int64_t{2}}, {"h", std::int64_t{3}}});
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.stop.rounds = 0;
  experiment.stop.epochs = 8;
  EXPECT_EQ(train(experiment).steps.size(), 8U * workers);
}

TEST_P(Rounds, AdaCommTakesFewerAndFewerSteps) {
  const Journal journal = train(experiment_of("adacomm", {{"tau", std::int64_t{6}}, {"period_s", 0.0}}));
  std::map<Rank, std::vector<int>> steps;
  for (const auto& step : journal.steps) {
    steps[step.rank].resize(rounds);
    ++steps[step.rank].at(static_cast<std::size_t>(step.round));
  }
  ASSERT_EQ(steps.size(), static_cast<std::size_t>(workers));
  const std::vector<int>& of_first = steps.begin()->second;
  for (const auto& [worker, of_worker] : steps) EXPECT_EQ(of_worker, of_first) << worker;
  EXPECT_EQ(of_first.front(), 6);
  EXPECT_LT(of_first.back(), 6);
  expect_close(final_model(), means_by_hand(of_first), 1e-5F);
}

TEST_P(Rounds, SlowMoKeepsMomentumOverRounds) {
  const auto trained = train_rounds("slowmo", {{"h", std::int64_t{2}}, {"outer_rate", 0.8}});
  expect_close(trained, outer_by_hand(2, 0.8, 0.7, false), 1e-5F);
}

TEST_P(Rounds, SlowMoUsesTheCurrentLocalRate) {
  const auto trained = train_rounds("slowmo", {{"h", std::int64_t{2}}, {"outer_rate", 0.8}}, 2);
  expect_close(trained, slowmo_by_hand(2, 0.8, 0.7, {rate, rate, rate / 2, rate / 2, rate / 4}), 1e-5F);
}

TEST_P(Rounds, LocalStepsUseTheRateOfTheirRound) {
  const auto trained = train_rounds("fedavg", {{"h", std::int64_t{2}}}, 2);
  expect_close(trained, slowmo_by_hand(2, 1.0, 0.0, {rate, rate, rate / 2, rate / 2, rate / 4}), 1e-5F);
}

using RoundsOfAllRoutes = Rounds;

TEST_P(RoundsOfAllRoutes, DiLoCoUsesNesterov) {
  const auto trained = train_rounds("diloco", {{"h", std::int64_t{2}}});
  expect_close(trained, outer_by_hand(2, 0.7, 0.9, true), 1e-5F);
  EXPECT_GT(distance(trained, outer_by_hand(2, 0.7, 0.9, false)), 1e-3F);
}

TEST_P(RoundsOfAllRoutes, EasgdPullsModelsAndCentreTogether) {
  const auto trained = train_rounds("easgd", {{"tau", std::int64_t{2}}, {"beta", 0.6}});
  expect_close(trained, elastic_by_hand(2, 0.6), 1e-5F);
  EXPECT_GT(distance(trained, outer_by_hand(2, 0.6, 0.0, false)), 1e-3F) << "models are not separate";
}

using LongRounds = Rounds;

TEST_P(LongRounds, EasgdWithBetaZeroKeepsTheCentre) {
  const auto trained = train_rounds("easgd", {{"beta", 0.0}});
  EXPECT_EQ(trained, initial_model(job_->replica_plan()));
}

/// With neutral options, the outer step of all of these is the mean change.
TEST_P(LongRounds, WithANeutralOuterOptimiserAllAreFedAvg) {
  const std::map<std::string, OptionValue> plain = {
      {"h", std::int64_t{3}}, {"outer_rate", 1.0}, {"outer_momentum", 0.0}};
  for (const char* algorithm : {"fedavg", "slowmo", "diloco"})
    train_apart(experiment_of(algorithm, plain), algorithm);
  const auto trained = train_rounds("local-sgd", {{"h", std::int64_t{3}}});
  EXPECT_GT(distance(trained, initial_model(job_->replica_plan())), 1e-3F);
  for (const char* algorithm : {"fedavg", "slowmo", "diloco"})
    expect_close(model_in(algorithm), trained, 1e-6F);
}

/// Workers take different numbers of steps, by which their changes are weighted.
TEST_P(RoundsOfAllRoutes, EsyncWeighsBySteps) {
  Experiment experiment = on_route(testing::plain_experiment(6, rate));
  experiment.sync.algorithm = "esync";
  experiment.sync.options = {{"weights", std::string("steps")}, {"max_local_steps", std::int64_t{2}}};
  if (experiment.placement.servers.empty()) experiment.placement.servers = {"host-0"};
  experiment.workload.batch = 16;
  // Five workers share two cores.
  experiment.placement.workers = {"host-1", "host-1", "host-1", "host-1", "host-1", "host-2"};
  const Journal journal = train(experiment);
  std::vector<std::map<int, int>> steps(rounds);  // of each round, by worker
  for (const auto& step : journal.steps) ++steps.at(static_cast<std::size_t>(step.round))[step.rank];
  EXPECT_NE(steps.back()[0], steps.back()[5]) << "all workers take equally many steps";
  Model model = initial();
  for (const auto& of_round : steps) {
    Model sum(model.size(), 0.0);
    double weight = 0.0;
    for (const auto& [worker, count] : of_round) {
      Model local = model;
      take_local_steps(local, worker, count);
      for (std::size_t i = 0; i < model.size(); ++i) sum[i] += count * (local[i] - model[i]);
      weight += count;
    }
    for (std::size_t i = 0; i < model.size(); ++i) model[i] += sum[i] / weight;
  }
  expect_close(final_model(), rounded(model), 1e-5F);
}

/// A worker that asks learns the answer a round trip after its step.
TEST_P(Rounds, AnswersHaveTheTimeOfTheirArrival) {
  const Journal journal = train(experiment_of("esync-published", {}));
  std::map<Rank, Seconds> asked;
  int answers = 0;
  for (const auto& record : journal.decisions) {
    if (record.side != "worker") continue;
    const auto event = sync::parse_worker_event(record.event);
    if (const auto* done = std::get_if<sync::StepDone>(&event)) asked[record.rank] = done->now;
    const auto* const answer = std::get_if<sync::Answer>(&event);
    if (answer == nullptr) continue;
    ++answers;
    EXPECT_GT(answer->now, asked[record.rank]);
  }
  EXPECT_GT(answers, 0);
}

const Route one_server{"Server", sync::Route::server, {"host-0"}};
const Route three_shards{"ThreeShards", sync::Route::server, {"host-0", "host-4", "host-5"}};
const Route all_reduce{"AllReduce", sync::Route::all_reduce, {}};
const Route native{"Native", sync::Route::all_reduce, {}, "native"};

std::string name_of_test(const ::testing::TestParamInfo<Route>& instance) { return instance.param.name; }
INSTANTIATE_TEST_SUITE_P(Over, Rounds, ::testing::Values(three_shards), name_of_test);
INSTANTIATE_TEST_SUITE_P(LongOver, Rounds, ::testing::Values(one_server, all_reduce, native), name_of_test);
INSTANTIATE_TEST_SUITE_P(Over, RoundsOfAllRoutes, ::testing::Values(three_shards, all_reduce), name_of_test);
INSTANTIATE_TEST_SUITE_P(LongOver, RoundsOfAllRoutes, ::testing::Values(one_server, native), name_of_test);
INSTANTIATE_TEST_SUITE_P(LongOver, LongRounds,
                         ::testing::Values(one_server, three_shards, all_reduce, native), name_of_test);

}  // namespace TANDEM_FILE
}  // namespace tandem
