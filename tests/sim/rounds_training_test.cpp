// Rounds of local steps over any route: how many there are, their rates, and the time of answers. Updates of
// the model are proven by published_training_test.cpp.
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
  /// With local steps of half the size after every `halves_after` rounds.
  std::vector<float> train_halving(const std::string& algorithm,
                                   const std::map<std::string, OptionValue>& options,
                                   std::int64_t halves_after) {
    Experiment experiment = experiment_of(algorithm, options);
    experiment.optimizer.schedule = RateDecay::step;
    experiment.optimizer.step_every = halves_after;
    experiment.optimizer.step_factor = 0.5;
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
};

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
}

TEST_P(Rounds, SlowMoUsesTheCurrentLocalRate) {
  const auto trained = train_halving("slowmo", {{"h", std::int64_t{2}}, {"outer_rate", 0.8}}, 2);
  expect_close(trained, slowmo_by_hand(2, 0.8, 0.7, {rate, rate, rate / 2, rate / 2, rate / 4}), 1e-5F);
}

TEST_P(Rounds, LocalStepsUseTheRateOfTheirRound) {
  const auto trained = train_halving("fedavg", {{"h", std::int64_t{2}}}, 2);
  expect_close(trained, slowmo_by_hand(2, 1.0, 0.0, {rate, rate, rate / 2, rate / 2, rate / 4}), 1e-5F);
}

using LongRounds = Rounds;

TEST_P(LongRounds, EasgdWithBetaZeroKeepsTheCentre) {
  train(experiment_of("easgd", {{"beta", 0.0}}));
  EXPECT_EQ(final_model(), initial_model(job_->replica_plan()));
}

/// With neutral options, the outer step of all of these is the mean change.
TEST_P(LongRounds, WithANeutralOuterOptimiserAllAreFedAvg) {
  const std::map<std::string, OptionValue> plain = {
      {"h", std::int64_t{3}}, {"outer_rate", 1.0}, {"outer_momentum", 0.0}};
  for (const char* algorithm : {"fedavg", "slowmo", "diloco"})
    train_apart(experiment_of(algorithm, plain), algorithm);
  train(experiment_of("local-sgd", {{"h", std::int64_t{3}}}));
  const auto trained = final_model();
  EXPECT_GT(distance(trained, initial_model(job_->replica_plan())), 1e-3F);
  for (const char* algorithm : {"fedavg", "slowmo", "diloco"})
    expect_close(model_in(algorithm), trained, 1e-6F);
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
INSTANTIATE_TEST_SUITE_P(LongOver, LongRounds,
                         ::testing::Values(one_server, three_shards, all_reduce, native), name_of_test);

}  // namespace TANDEM_FILE
}  // namespace tandem
