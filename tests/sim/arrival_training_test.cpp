// Algorithms that update the model at each push, with real mathematics: replaying their servers' logs with a
// single learner gives the same model.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "tests/sim/training_by_hand.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::Model;

constexpr double rate = 0.5;

/// The corrected gradient; `old`: the model where the gradient was computed; `previous`: the model before the
/// last update.
using Correct = std::function<double(double gradient, double model, double old, double previous)>;

class OnArrival : public testing::TrainingByHand {
 protected:
  std::vector<float> train_unevenly(const std::string& algorithm,
                                    const std::map<std::string, OptionValue>& options) {
    Experiment experiment = testing::plain_experiment(3, rate);
    experiment.placement.workers = {"host-1", "host-1", "host-2"};
    experiment.sync.algorithm = algorithm;
    experiment.sync.options = options;
    journal_ = train(experiment);
    return final_model();
  }

  std::vector<float> model_of_the_log(const Correct& correct) {
    const auto learner = make_job_learner(job_->replica_plan());
    Model model = initial(), previous = model;
    std::vector<Model> sent(3, model);
    for (const auto& record : journal_.decisions) {
      if (record.side != "server" || !record.event.starts_with("push")) continue;
      const auto push = std::get<sync::Push>(sync::parse_server_event(record.event));
      auto& old = sent[static_cast<std::size_t>(push.worker)];
      const auto gradient = gradient_at(*learner, old, push.worker);
      const Model before = model;
      for (std::size_t i = 0; i < model.size(); ++i)
        model[i] -= rate * correct(gradient[i], before[i], old[i], previous[i]);
      previous = before;
      old = model;
    }
    return rounded(model);
  }

  Journal journal_;
};

TEST_F(OnArrival, AspAppliesUncorrectedGradients) {
  const auto trained = train_unevenly("asp", {});
  expect_close(trained, model_of_the_log([](double g, double, double, double) { return g; }), 1e-5F);
}

class OfLambdaZero : public OnArrival, public ::testing::WithParamInterface<const char*> {};
TEST_P(OfLambdaZero, IsAsp) {
  const auto trained = train_unevenly(GetParam(), {{"lambda", 0.0}});
  expect_close(trained, model_of_the_log([](double g, double, double, double) { return g; }), 1e-5F);
}
INSTANTIATE_TEST_SUITE_P(DcAsgd, OfLambdaZero, ::testing::Values("dc-asgd-adaptive"));
INSTANTIATE_TEST_SUITE_P(LongDcAsgd, OfLambdaZero, ::testing::Values("dc-asgd", "dc-asgd-mxnet"));

TEST_F(OnArrival, DcAsgdCorrectsForTheDriftSinceTheWorkersModel) {
  const auto trained = train_unevenly("dc-asgd", {{"lambda", 20.0}});
  const auto repeated = model_of_the_log(
      [](double g, double model, double old, double) { return g + 20.0 * g * g * (model - old); });
  expect_close(trained, repeated, 1e-4F);  // the correction amplifies rounding errors
  EXPECT_GT(distance(trained, model_of_the_log([](double g, double, double, double) { return g; })), 1e-3F);
}

TEST_F(OnArrival, DcAsgdOfMxnetCorrectsForTheLastUpdate) {
  // Three workers have batches of 32; lambda is for their sums.
  const auto trained = train_unevenly("dc-asgd-mxnet", {{"lambda", 20.0 / 32}});
  const auto repeated = model_of_the_log(
      [](double g, double model, double, double previous) { return g + 20.0 * g * g * (model - previous); });
  expect_close(trained, repeated, 1e-4F);  // the correction amplifies rounding errors
  EXPECT_GT(distance(trained, model_of_the_log([](double g, double model, double old, double) {
                       return g + 20.0 * g * g * (model - old);
                     })),
            1e-3F);
}

/// Each elastic step preserves the sum of the worker's model and the centre.
TEST_F(OnArrival, AsynchronousEasgdUsesTheCurrentCentre) {
  constexpr double pull = 0.6 / 3;
  const auto trained = train_unevenly("easgd-async", {{"tau", std::int64_t{1}}, {"beta", 0.6}});
  const auto learner = make_job_learner(job_->replica_plan());
  Model centre = initial();
  std::vector<Model> models(3, centre);
  for (const auto& record : journal_.decisions) {
    if (record.side != "server" || !record.event.starts_with("push")) continue;
    const auto push = std::get<sync::Push>(sync::parse_server_event(record.event));
    auto& model = models[static_cast<std::size_t>(push.worker)];
    descend(model, gradient_at(*learner, model, push.worker), rate);
    for (std::size_t i = 0; i < model.size(); ++i) {
      const double given = pull * (model[i] - centre[i]);
      model[i] -= given;
      centre[i] += given;
    }
  }
  expect_close(trained, rounded(centre), 1e-5F);
}

using LongOnArrival = OnArrival;

/// With a single backup, the worker's own last step counts as drift.
TEST_F(LongOnArrival, DcAsgdOfMxnetDiffersFromSequentialEvenWithOneWorker) {
  Experiment experiment = testing::small_experiment(1);
  experiment.sync.algorithm = "dc-asgd-mxnet";
  experiment.sync.options = {{"lambda", 200.0 / experiment.workload.batch}};
  train(experiment);
  EXPECT_GT(distance(final_model(), sequential_model(5)), 1e-4F);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
