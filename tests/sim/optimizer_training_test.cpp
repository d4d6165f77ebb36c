// Optimisers and learning-rate schedules under the simulated clock: whichever role updates the model takes
// the same steps at the same rates.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "tests/sim/training.hpp"
#include "tests/support/names.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::Change;
using testing::small_experiment;
using testing::Training;

/// A variant of training that ends, up to rounding, with the model of a single worker.
struct Way {
  Change change;
  int workers = 4;
  int steps = 5;  ///< steps of the single worker
};
void PrintTo(const Way& value, std::ostream* out) { *out << value.change.name; }

std::vector<Way> ways() {
  const auto over_all_reduce = [](Experiment& e) { e.sync.over = sync::Route::all_reduce; };
  return {{{"Server", [](Experiment&) {}}},
          {{"ThreeShards",
            [](Experiment& e) {
              e.placement.servers = {"host-0", "host-5", "host-6"};
            }}},
          {{"StepsOfWorkersByMeansOfShards",
            [](Experiment& e) {
              e.optimizer.update_at = UpdateSide::workers;
              e.placement.servers = {"host-0", "host-5", "host-6"};
            }}},
          {{"AllReduce", over_all_reduce}, 3},
          {{"KSyncOfAll", [](Experiment& e) { e.sync.algorithm = "k-sync"; }}},
          {{"LocalStepsOfOne",
            [](Experiment& e) {
              e.sync.algorithm = "local-sgd";
              e.sync.options = {{"h", std::int64_t{3}}};
            }},
           1,
           15},
          {{"LocalStepsOfOneOverAllReduce",
            [=](Experiment& e) {
              over_all_reduce(e);
              e.sync.algorithm = "fedavg";
              e.sync.options = {{"h", std::int64_t{3}}};
            }},
           1,
           15}};
}

/// Adam uses a large epsilon, which keeps it from amplifying the smallest gradients: these are only rounding
/// errors.
std::vector<Change> optimizers() {
  const auto adam = [](Experiment& e, OptimizerKind kind) {
    e.optimizer.kind = kind;
    e.optimizer.momentum = 0.0;
    e.optimizer.epsilon = 1e-2;
  };
  return {{"NesterovInSteps",
           [](Experiment& e) {
             e.optimizer.nesterov = true;
             e.optimizer.schedule = RateDecay::step;
             e.optimizer.step_every = 2;
             e.optimizer.step_factor = 0.25;
           }},
          {"AdamAlongACosine",
           [=](Experiment& e) {
             adam(e, OptimizerKind::adam);
             e.optimizer.schedule = RateDecay::cosine;
             e.optimizer.warmup_rounds = 2;
           }},
          {"AdamWWarmingUp", [=](Experiment& e) {
             adam(e, OptimizerKind::adamw);
             e.optimizer.weight_decay = 0.1;
             e.optimizer.warmup_rounds = 4;
           }}};
}

class AnyUpdatingRole : public Training, public ::testing::WithParamInterface<std::tuple<Way, Change>> {};

TEST_P(AnyUpdatingRole, TakesTheStepsOfOneWorker) {
  const auto& [way, optimizer] = GetParam();
  Experiment experiment = small_experiment(way.workers);
  way.change.make(experiment);
  optimizer.make(experiment);
  train(experiment);
  expect_close(final_model(), sequential_model(way.steps), 2e-5F);
  OptimizerSetting constant = job_->exchange().optimizer_setting();
  constant.schedule = {};
  EXPECT_GT(distance(final_model(), sequential_model(way.steps, constant)), 1e-3F)
      << "the schedule is ignored";
}

/// Of each way one optimiser and, `is_long`, of each way the others.
std::vector<std::tuple<Way, Change>> pairs(bool is_long) {
  std::vector<std::tuple<Way, Change>> all;
  const std::vector<Way> each_way = ways();
  const std::vector<Change> each_optimizer = optimizers();
  for (std::size_t way = 0; way < each_way.size(); ++way)
    for (std::size_t optimizer = 0; optimizer < each_optimizer.size(); ++optimizer)
      if ((way % each_optimizer.size() == optimizer) != is_long)
        all.emplace_back(each_way[way], each_optimizer[optimizer]);
  return all;
}
std::string name_of_pair(const ::testing::TestParamInfo<std::tuple<Way, Change>>& instance) {
  return std::get<0>(instance.param).change.name + "_" + std::get<1>(instance.param).name;
}
INSTANTIATE_TEST_SUITE_P(Training, AnyUpdatingRole, ::testing::ValuesIn(pairs(false)), name_of_pair);
INSTANTIATE_TEST_SUITE_P(LongTraining, AnyUpdatingRole, ::testing::ValuesIn(pairs(true)), name_of_pair);

/// Each push is a separate update, and all updates of a round use the round's rate.
TEST_F(Training, UpdatesOfEachPushUseTheRateOfTheirRound) {
  Experiment experiment = small_experiment(4);
  experiment.optimizer.momentum = 0.0;
  experiment.optimizer.schedule = RateDecay::cosine;
  experiment.sync.algorithm = "ssp";
  experiment.sync.options = {{"average", true}};
  train(experiment);
  expect_close(final_model(), sequential_model(5), 1e-5F);
}

/// Each push carries the rate of the round that begins after it; there are two pushes per round.
TEST_F(Training, PoliciesReceiveTheRate) {
  Experiment experiment = small_experiment(2);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.optimizer.schedule = RateDecay::step;
  experiment.optimizer.step_every = 2;
  experiment.optimizer.step_factor = 0.25;
  experiment.sync.algorithm = "adacomm";
  const Journal journal = train(experiment);
  std::vector<double> rates;
  for (const auto& record : journal.decisions)
    if (record.side == "server" && record.event.starts_with("push"))
      rates.push_back(std::get<sync::Push>(sync::parse_server_event(record.event)).rate);
  EXPECT_EQ(rates, (std::vector<double>{1, 1, 1, 0.25, 0.25, 0.25, 0.25, 0.0625, 0.0625, 0.0625}));
}

/// Every algorithm works with any optimiser, whose state is kept by the role that updates the model.
class EveryAlgorithmSteps : public Training, public ::testing::WithParamInterface<std::string> {};

TEST_P(EveryAlgorithmSteps, ByAdamW) {
  const auto& factory = sync::catalog().find(GetParam()).make;
  Experiment experiment = small_experiment(factory.most_workers == 1 ? 1 : 4);
  experiment.stop.rounds = 3;
  experiment.sync.algorithm = GetParam();
  experiment.sync.over = factory.routes.front();
  if (GetParam() == "diloco") experiment.sync.options = {{"h", std::int64_t{5}}};
  if (GetParam() == "adsp") experiment.sync.options = {{"period_s", 0.5}};
  experiment.optimizer.kind = OptimizerKind::adamw;
  experiment.optimizer.momentum = 0.0;
  experiment.optimizer.learning_rate = 1e-3;
  experiment.optimizer.schedule = RateDecay::cosine;
  experiment.optimizer.warmup_rounds = 1;
  experiment.optimizer.cosine_floor = 0.1;
  const Journal journal = train(experiment);
  const auto model = final_model();
  for (const float value : model) ASSERT_TRUE(std::isfinite(value));
  const float moved = distance(model, initial_model(job_->replica_plan()));
  EXPECT_GT(moved, 1e-4F);
  EXPECT_LT(moved, 1e-2F * static_cast<float>(journal.steps.size())) << "of Adam, a step is about its rate";
}

const std::vector<std::string> of_each_kind = {"esync-published", "easgd-async", "dc-asgd-adaptive",
                                               "ad-psgd", "group-average"};
std::vector<std::string> other_algorithms() {
  std::vector<std::string> names = sync::catalog().names();
  for (const std::string& tested : of_each_kind) std::erase(names, tested);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Catalogue, EveryAlgorithmSteps, ::testing::ValuesIn(of_each_kind),
                         testing::catalog_name);
INSTANTIATE_TEST_SUITE_P(LongCatalogue, EveryAlgorithmSteps, ::testing::ValuesIn(other_algorithms()),
                         testing::catalog_name);

/// Four workers with 24 of 96 samples each.
TEST_F(Training, TheCosineEndsWhereTheJobDoes) {
  Experiment experiment = small_experiment(4);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.optimizer.schedule = RateDecay::cosine;
  const testing::TemporaryPlatform file(testing::TemporaryPlatform::star(10, 1e8, 1e-4));
  const auto platform = platforms::load_platform(file.path());
  const auto rounds = [&] {
    return Job(experiment, platform, directory_.string())
        .exchange()
        .optimizer_setting()
        .schedule.cosine_rounds;
  };
  EXPECT_EQ(rounds(), 5.0);
  experiment.stop.epochs = 2.5;
  EXPECT_EQ(rounds(), 3.0);
  experiment.stop.rounds = 0;
  EXPECT_EQ(rounds(), 3.0);
  experiment.optimizer.cosine_rounds = 40;
  EXPECT_EQ(rounds(), 40.0);
  experiment.optimizer.cosine_rounds = 0;
  experiment.sync.algorithm = "local-sgd";
  experiment.sync.options = {{"h", std::int64_t{2}}};
  EXPECT_EQ(rounds(), 2.0);
  experiment.optimizer.warmup_rounds = 2;
  try {
    rounds();
    ADD_FAILURE() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "optimizer.warmup_rounds: expected fewer than the 2 rounds of the cosine, found 2");
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
