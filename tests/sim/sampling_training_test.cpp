// Samplers in a job: all workers share the list of an epoch, take the same steps, and know the same losses.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "tests/sim/training.hpp"
#include "tests/support/cache_counts.hpp"
#include "tests/support/names.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::small_experiment;
using testing::Training;

class Sampling : public Training {
 protected:
  /// 96 samples in steps of 24.
  static Experiment with(const std::string& sampler, int workers, double epochs) {
    Experiment experiment = small_experiment(workers);
    experiment.workload.batch = 24 / workers;
    experiment.data.sampling = sampler;
    experiment.data.sampling_options =
        Options::resolve(sampler, sampling::samplers().find(sampler).options, small_options(sampler))
            .values();
    experiment.stop = {.epochs = epochs};
    return experiment;
  }
  static std::map<std::string, OptionValue> small_options(const std::string& sampler) {
    if (sampler == "chunked") return {{"chunk", std::int64_t{8}}, {"group", std::int64_t{2}}};
    if (sampler != "importance") return {};
    return {{"warm_up", std::int64_t{1}}, {"history", std::int64_t{8}}, {"block", std::int64_t{8}}};
  }
  static std::map<Rank, std::vector<int>> samples_by_step(const Journal& journal) {
    std::map<Rank, std::vector<int>> samples;
    for (const StepRecord& step : journal.steps) samples[step.rank].push_back(step.samples);
    return samples;
  }
};

class EverySampler : public Sampling, public ::testing::WithParamInterface<std::string> {};

TEST_P(EverySampler, ListsTheSameForAnyNumberOfWorkers) {
  // The first epoch has 96 samples, so after it all workers together have trained one model, and know the
  // same losses: the second list is the same, but for at most two samples that cannot be dealt to three
  // workers.
  train_apart(with(GetParam(), 1, 1), "one");
  const auto total = [](const Journal& journal) {
    std::int64_t samples = 0;
    for (const StepRecord& step : journal.steps) samples += step.samples;
    return samples;
  };
  Experiment experiment = with(GetParam(), 3, 2);
  experiment.evaluate_every = 4;  // the rounds of the first epoch
  experiment.placement.evaluator = "host-0";
  const std::int64_t of_three = total(train(experiment));
  expect_close(model_in("one"),
               load_checkpoint((directory_ / "checkpoints/round_00000004.pt").string(), job_->model()).values,
               2e-5F);
  // Rank-exponential draws 76 times; the selection by importance depends on the losses.
  if (GetParam() != "importance") {
    EXPECT_EQ(of_three, 96 + (GetParam() == "rank-exponential" ? 75 : 96));
  }
  EXPECT_EQ(of_three % 3, 0);
}

TEST_P(EverySampler, AllWorkersTakeTheSameSteps) {
  const Journal journal = train(with(GetParam(), 3, 4));
  const auto samples = samples_by_step(journal);
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_EQ(samples.begin()->second, std::next(samples.begin())->second);
  EXPECT_EQ(samples.begin()->second, samples.rbegin()->second);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EverySampler, ::testing::Values("importance", "rank-exponential"),
                         testing::catalog_name);
INSTANTIATE_TEST_SUITE_P(LongCatalogue, EverySampler, ::testing::Values("shuffled", "replacement", "chunked"),
                         testing::catalog_name);

TEST_F(Sampling, StopCountsTheEpochsOfTheSampler) {
  // 95 samples: each of two workers has 47 of a list, in steps of 12, 12, 12 and 11.
  Experiment experiment = with("shuffled", 2, 2);
  experiment.workload.train_samples = 95;
  const auto samples = samples_by_step(train(experiment));
  for (const auto& [rank, steps] : samples)
    EXPECT_EQ(steps, (std::vector<int>{12, 12, 12, 11, 12, 12, 12, 11})) << "rank " << rank;
}

TEST_F(Sampling, OfGpusThatLoadAheadEndsAtTheSameStep) {
  host_properties_ = "<prop id='tandem:gpu' value='0'/>";
  const auto samples = samples_by_step(train(with("shuffled", 2, 2)));
  ASSERT_EQ(samples.size(), 2U) << "workers";
  for (const auto& [rank, steps] : samples) EXPECT_EQ(steps, std::vector<int>(8, 12)) << "rank " << rank;
}

TEST_F(Sampling, ImportanceTrainsOnFewerSamplesOfLowLoss) {
  const Journal journal = train(with("importance", 2, 3));
  std::int64_t samples = 0;
  for (const StepRecord& step : journal.steps) samples += step.samples;
  // One epoch of all samples, then two in which about 3 of 4 are selected.
  EXPECT_LT(samples, 96 + 2 * 90);
  EXPECT_GT(samples, 96 + 2 * 60);
}

TEST_F(Sampling, ModelledMathematicsTakesLossesFromAModelAndSendsMessagesOfTheSameSize) {
  Experiment experiment = with("importance", 2, 3);
  const Journal real = train(experiment, /*operations=*/true);
  const auto losses = [](const Journal& journal) {
    std::vector<std::int64_t> sizes;
    for (const auto& operation : journal.operations)
      if (operation.channel == "losses" || operation.channel == "loss-tables")
        sizes.push_back(operation.bytes);
    return sizes;
  };
  // After each of the first two epochs: a worker sends its losses and gets all; the last epoch's nobody
  // needs.
  const auto sizes = losses(real);
  ASSERT_EQ(sizes.size(), 8U);
  EXPECT_EQ(std::ranges::count(sizes, 48 * 4), 2);
  EXPECT_EQ(std::ranges::count(sizes, 96 * 4), 2);
}

TEST_F(Sampling, ThroughCacheNodesListsTheSameSamples) {
  Experiment experiment = with("shuffled", 2, 2);
  train_apart(experiment, "memory");
  experiment.data.source = DataSource::storage;
  experiment.data.cache_capacity = Bytes(20'000);
  experiment.placement.cache_nodes = {"host-0"};
  const Journal journal = train(experiment);
  EXPECT_TRUE(model_in("memory") == final_model());
  // The batches of a third epoch are requested ahead.
  for (std::int64_t epoch = 0; epoch < 2; ++epoch)
    EXPECT_EQ(testing::cache_sum(journal, "", epoch).samples, 96);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
