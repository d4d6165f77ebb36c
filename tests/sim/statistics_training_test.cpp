// Running statistics of batch normalisation: averaged with the model, or local to each worker and not
// exchanged.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "tests/sim/training.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::small_experiment;
using testing::Training;

struct Route {
  std::string name;
  sync::Route over;
  std::vector<std::string> servers;
  UpdateSide update_at = UpdateSide::server;
  bool by_worker() const { return over == sync::Route::all_reduce || update_at == UpdateSide::workers; }
};
void PrintTo(const Route& value, std::ostream* out) { *out << value.name; }

class Statistics : public Training, public ::testing::WithParamInterface<Route> {
 protected:
  /// Two workers; each uses its four images as the batch of every step.
  Experiment experiment(bool averaged) const {
    Experiment made = small_experiment(2);
    made.workload.model = "resnet18";
    made.workload.train_samples = 8;
    made.workload.batch = 4;
    made.workload.bucket_bytes = Bytes(1 << 20);
    made.optimizer.learning_rate = 0.02;  // a higher rate would amplify rounding errors, as batches are small
    made.stop.rounds = 2;
    made.sync.over = GetParam().over;
    made.sync.average_statistics = averaged;
    made.placement.servers = GetParam().servers;
    made.optimizer.update_at = GetParam().update_at;
    return made;
  }
  /// The statistics of the flat model, or its other elements.
  std::vector<float> part(const std::vector<float>& model, bool statistics) const {
    std::vector<float> values;
    for (const auto& bucket : job_->model().buckets) {
      const auto begin = model.begin() + bucket.offset;
      const auto middle = begin + bucket.parameters;
      values.insert(values.end(), statistics ? middle : begin,
                    statistics ? middle + bucket.statistics : middle);
    }
    return values;
  }

  /// Over a server, each worker pushes and pulls the exchanged part once per round; a ring of two moves the
  /// same total.
  void expect_traffic(bool averaged) {
    Experiment modelled = experiment(averaged);
    modelled.workload.math = Experiment::Workload::Math::modelled;
    const Journal journal = train(modelled);
    std::int64_t sent = 0, received = 0, statistics = 0;
    for (const auto& step : journal.steps) {
      sent += step.bytes_sent;
      received += step.bytes_received;
    }
    for (const auto& bucket : job_->model().buckets) statistics += 4 * bucket.statistics;
    EXPECT_GT(statistics, 0);
    const std::int64_t travels = job_->model().bytes().count() - (averaged ? 0 : statistics);
    EXPECT_EQ(sent, 2 * 2 * travels);
    EXPECT_EQ(received, 2 * 2 * travels);
  }

  /// The first worker's model after the given number of rounds, by two learners that share only their
  /// gradients.
  std::vector<float> by_hand(int rounds) const {
    const ModelDescription& description = job_->model();
    std::vector<std::unique_ptr<Learner>> learners;
    std::vector<Optimizer> optimizers;
    for (int worker = 0; worker < 2; ++worker) {
      learners.push_back(make_job_learner(job_->replica_plan()));
      optimizers.emplace_back(job_->exchange().optimizer_setting(), description.elements());
    }
    for (int round = 0; round < rounds; ++round) {
      std::vector<float> sum(static_cast<std::size_t>(description.elements()));
      for (int worker = 0; worker < 2; ++worker) {
        Learner& learner = *learners[static_cast<std::size_t>(worker)];
        const std::vector<double> model(learner.model().begin(), learner.model().end());
        const auto gradient = gradient_at(learner, model, worker);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<float>(gradient[i]);
      }
      for (std::size_t worker = 0; worker < 2; ++worker) {
        optimizers[worker].begin_update({round});
        apply_update(optimizers[worker], description, 0, learners[worker]->model(), sum, 0.5);
      }
    }
    return {learners[0]->model().begin(), learners[0]->model().end()};
  }
};

TEST_P(Statistics, LocalOnesStayAtTheirWorker) {
  train(experiment(false));
  const auto model = final_model(), repeated = by_hand(2), start = initial_model(job_->replica_plan());
  expect_close(part(model, false), part(repeated, false), 1e-4F);
  EXPECT_GT(distance(part(model, false), part(start, false)), 1e-3F);
  EXPECT_GT(distance(part(repeated, true), part(start, true)), 1e-2F);
  // A server does not receive local statistics.
  expect_close(part(model, true), part(GetParam().by_worker() ? repeated : start, true), 1e-4F);
}

using LongStatistics = Statistics;

TEST_P(LongStatistics, AveragedOnesAreInTheModel) {
  train(experiment(true));
  const auto model = final_model();
  for (const float value : model) ASSERT_TRUE(std::isfinite(value));
  EXPECT_GT(distance(part(model, true), part(initial_model(job_->replica_plan()), true)), 1e-2F);
}

using ModelledStatistics = Statistics;

TEST_P(ModelledStatistics, AreExchangedIfAveraged) { expect_traffic(true); }
TEST_P(ModelledStatistics, AreNotExchangedIfLocal) { expect_traffic(false); }

TEST_P(ModelledStatistics, LocalOnesCannotBeEvaluatedByAServer) {
  Experiment evaluated = experiment(false);
  evaluated.evaluate_every = 1;
  evaluated.placement.evaluator = "host-0";
  const testing::TemporaryPlatform file(testing::TemporaryPlatform::star(10, 1e8, 1e-4));
  const auto platform = platforms::load_platform(file.path());
  const auto make = [&] { Job(evaluated, platform, directory_.string()); };
  if (GetParam().by_worker()) {
    EXPECT_NO_THROW(make());
  } else {
    EXPECT_THROW(make(), ConfigError);
  }
  evaluated.workload.model = "mlp";
  EXPECT_NO_THROW(make());
}

const Route one_server{"Server", sync::Route::server, {"host-0"}};
const Route three_shards{"ThreeShards", sync::Route::server, {"host-0", "host-4", "host-5"}};
const Route steps_of_workers{
    "StepsOfWorkers", sync::Route::server, {"host-0", "host-4"}, UpdateSide::workers};
const Route all_reduce{"AllReduce", sync::Route::all_reduce, {}};

std::string name_of_test(const ::testing::TestParamInfo<Route>& instance) { return instance.param.name; }
INSTANTIATE_TEST_SUITE_P(LongOver, Statistics, ::testing::Values(three_shards, all_reduce), name_of_test);
INSTANTIATE_TEST_SUITE_P(Over, ModelledStatistics,
                         ::testing::Values(three_shards, steps_of_workers, all_reduce), name_of_test);
INSTANTIATE_TEST_SUITE_P(LongOver, ModelledStatistics, ::testing::Values(one_server), name_of_test);
INSTANTIATE_TEST_SUITE_P(LongOver, LongStatistics, ::testing::Values(one_server, steps_of_workers),
                         name_of_test);

}  // namespace TANDEM_FILE
}  // namespace tandem
