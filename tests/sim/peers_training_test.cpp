// Training without a server, where every worker has its own model: averages of all models are those of one
// worker; and with workers of different speeds, no worker waits and all finish.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "policies/vocabulary/rng.hpp"
#include "tests/sim/peer_call.hpp"
#include "tests/sim/training_by_hand.hpp"
#include "tests/support/algorithms.hpp"
#include "tests/support/names.hpp"
#include "workloads/exchange/peer_model.hpp"

namespace tandem {
namespace TANDEM_FILE {

constexpr double rate = 0.1;
constexpr int workers = 4;
constexpr int rounds = 5;

Experiment without_server(const std::string& algorithm, sync::Route over,
                          const std::map<std::string, OptionValue>& options = {}, int count = workers) {
  Experiment experiment = testing::plain_experiment(count, rate);
  experiment.stop.rounds = rounds;
  experiment.sync.algorithm = algorithm;
  experiment.sync.options = options;
  experiment.sync.over = over;
  experiment.placement.servers.clear();
  return experiment;
}

using Peers = testing::TrainingByHand;

/// Also with momentum: velocities are averaged like models.
class AveragingWithAll : public Peers,
                         public ::testing::WithParamInterface<std::map<std::string, OptionValue>> {};

TEST_P(AveragingWithAll, AfterTheStepIsBsp) {
  Experiment experiment = without_server("d-psgd", sync::Route::peers, GetParam());
  experiment.sync.options["order"] = std::string("step-first");
  experiment.optimizer.momentum = 0.9;
  train(experiment);
  expect_close(final_model(), sequential_model(rounds), 1e-5F);
}

INSTANTIATE_TEST_SUITE_P(Settings, AveragingWithAll,
                         ::testing::Values(std::map<std::string, OptionValue>{
                             {"global_every", std::int64_t{1}}}));
INSTANTIATE_TEST_SUITE_P(LongSettings, AveragingWithAll,
                         ::testing::Values(std::map<std::string, OptionValue>{
                             {"graph", std::string("complete")}}));

using LongPeers = Peers;

TEST_F(LongPeers, AveragingInOneGroupOfAllIsBsp) {
  Experiment experiment =
      without_server("group-average", sync::Route::all_reduce, {{"group_size", std::int64_t{workers}}});
  experiment.optimizer.momentum = 0.9;
  train(experiment);
  expect_close(final_model(), sequential_model(rounds), 1e-5F);
}

class OneWorker : public Peers, public ::testing::WithParamInterface<std::string> {};

TEST_P(OneWorker, IsSequentialTraining) {
  Experiment experiment = without_server(GetParam(), sync::Route::peers, {}, 1);
  experiment.optimizer.momentum = 0.9;
  train(experiment);
  expect_close(final_model(), sequential_model(rounds), 1e-6F);
}

std::vector<std::string> others_over_peers() {
  std::vector<std::string> names = testing::algorithms_over(sync::Route::peers);
  std::erase(names, "ad-psgd");
  return names;
}
INSTANTIATE_TEST_SUITE_P(Catalogue, OneWorker, ::testing::Values("ad-psgd"), testing::catalog_name);
INSTANTIATE_TEST_SUITE_P(LongCatalogue, OneWorker, ::testing::ValuesIn(others_over_peers()),
                         testing::catalog_name);

TEST_F(Peers, ACallLeavesBothWithTheirMean) {
  train(without_server("ad-psgd", sync::Route::peers));
  testing::RandomPeers peers(*job_);
  const std::vector<float> means = peers.means();
  peers.call();
  peers.take_over();
  for (std::size_t i = 0; i < means.size(); ++i) {
    ASSERT_FLOAT_EQ(peers.caller().model()[i], means[i]);
    ASSERT_EQ(peers.called().model()[i], peers.caller().model()[i]);
  }
}

class Paces : public Peers, public ::testing::WithParamInterface<std::uint64_t> {};

/// At any speeds, the requested number of steps is taken and all workers finish.
TEST_P(Paces, AdPsgdEnds) {
  Rng random = Rng::stream(GetParam(), "paces");
  const int count = 2 + static_cast<int>(random.below(8));
  Experiment experiment = without_server("ad-psgd", sync::Route::peers, {}, count);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.workload.batch = 16;
  experiment.seed = GetParam();
  if (random.below(2) == 0) experiment.sync.options = {{"graph", std::string("ring")}};
  // Workers that share a host may be slower.
  for (std::string& host : experiment.placement.workers) host = "host-" + std::to_string(1 + random.below(3));
  const Journal journal = train(experiment);
  EXPECT_GE(std::ssize(journal.steps), rounds * count);
  EXPECT_LE(std::ssize(journal.steps), rounds * count + 3 * count) << "too many steps past the end";
}

INSTANTIATE_TEST_SUITE_P(Seeds, Paces, ::testing::Range<std::uint64_t>(1, 4));
INSTANTIATE_TEST_SUITE_P(LongSeeds, Paces, ::testing::Range<std::uint64_t>(4, 13));

TEST_F(Peers, InAdPsgdNoWorkerWaitsForASlowerOne) {
  Experiment experiment = without_server("ad-psgd", sync::Route::peers);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.workload.model = "synthetic";
  experiment.workload.synthetic_parameters = 100;
  experiment.stop.rounds = 200;
  // Three workers share two cores. One active and one passive worker are slow.
  experiment.placement.workers = {"host-1", "host-2", "host-2", "host-2"};
  const Journal journal = train(experiment);
  std::map<Rank, int> steps;
  for (const auto& step : journal.steps) ++steps[step.rank];
  for (const Rank slow : {1, 2, 3}) EXPECT_NEAR(2 * steps[0], 3 * steps[slow], 12);
}

TEST_F(Peers, InAdPsgdNoWorkerWaitsForOneThatDecodes) {
  Experiment experiment = without_server("ad-psgd", sync::Route::peers);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.workload.model = "synthetic";
  experiment.workload.synthetic_parameters = 100;
  experiment.stop.rounds = 200;
  // One active and one passive worker are slow.
  price_ = [](Rank rank, const Work& work) {
    if (work.kind == Work::Kind::decode && rank >= 2) return Seconds(0.5);
    return Seconds(work.kind == Work::Kind::forward ? 0.01 : 0.0);
  };
  const Journal journal = train(experiment);
  std::map<Rank, int> steps;
  for (const auto& step : journal.steps) ++steps[step.rank];
  for (const Rank slow : {2, 3})
    for (const Rank fast : {0, 1}) EXPECT_GT(steps[fast], 20 * steps[slow]);
}

TEST_F(Peers, AdPsgdCanEndByTheClock) {
  Experiment experiment = without_server("ad-psgd", sync::Route::peers);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.stop.rounds = 0;
  experiment.stop.seconds = Seconds(0.5);
  const Journal journal = train(experiment);
  Seconds last;
  for (const auto& step : journal.steps) last = std::max(last, step.start + step.duration());
  EXPECT_GE(last, Seconds(0.5));
  EXPECT_LE(last, Seconds(0.6));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
