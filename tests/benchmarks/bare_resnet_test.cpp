// The plain libtorch loop that benchmarks compare a worker with trains the same model as the worker, on the
// processor: it is a fair comparison only if it does the same work.
#include "tests/benchmarks/bare_resnet.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "policies/vocabulary/rng.hpp"

namespace tandem {
namespace {

constexpr std::int64_t samples = 4;

class BareLoop : public ::testing::TestWithParam<TensorLayout> {};

TEST_P(BareLoop, TrainsTheModelOfAWorker) {
  LearnerSetting setting;
  setting.model = "resnet18";
  setting.dataset = {.name = "noise", .channels = 3, .height = 32, .width = 32, .classes = 10};
  setting.bucket_bytes = Bytes(4 << 20);
  LearnerLoop worker(setting, host_device());
  BareResNet bare(setting, worker.learner(), host_device(), samples, GetParam());
  const std::vector<float> start(worker.learner().model().begin(), worker.learner().model().end());
  const auto record = static_cast<std::size_t>(setting.dataset.record_bytes().count());
  std::vector<std::vector<std::byte>> batches;
  Rng rng(3);
  for (int batch = 0; batch < 3; ++batch) {
    auto& records = batches.emplace_back(static_cast<std::size_t>(samples) * record);
    for (std::size_t i = 0; i < records.size(); ++i)
      records[i] = static_cast<std::byte>(i % record == 0 ? rng.below(10) : rng.below(256));
  }
  double loss = 0.0;
  for (const auto& batch : batches) {
    worker.step_loading_ahead(batch);
    loss = bare.step(batch);
  }
  EXPECT_NEAR(worker.learner().loss(), loss, 1e-3 * loss);
  // Of the whole model: batch normalisation over few samples turns rounding into large relative errors of
  // small biases.
  double difference = 0.0, change = 0.0;
  for (const auto& tensor : worker.learner().description().tensors) {
    const at::Tensor found = bare.tensor(tensor.name).detach().contiguous();
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      const auto at = static_cast<std::size_t>(tensor.offset + i);
      const double expected = worker.learner().model()[at];
      difference += std::pow(found.data_ptr<float>()[i] - expected, 2);
      change += std::pow(start[at] - expected, 2);
    }
  }
  EXPECT_GT(change, 0.0);
  EXPECT_LT(std::sqrt(difference / change), 1e-2);
}

INSTANTIATE_TEST_SUITE_P(Layouts, BareLoop,
                         ::testing::Values(TensorLayout::contiguous, TensorLayout::channels_last),
                         [](const auto& instance) {
                           return instance.param == TensorLayout::contiguous ? "Contiguous" : "ChannelsLast";
                         });

}  // namespace
}  // namespace tandem
