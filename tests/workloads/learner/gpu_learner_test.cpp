// The learner on a GPU compared with the learner on the processor; skipped without a GPU.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/gpu.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/workloads/learner/learner_probe.hpp"
#include "tests/workloads/learner/script_modules.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {
namespace TANDEM_FILE {

std::shared_ptr<const Dataset> images(std::int64_t train, const std::string& name) {
  return load_dataset({.name = name, .directory = "", .train_samples = train, .test_samples = 8, .seed = 5});
}

class LearnerOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    gpu_ = testing::find_gpu();
    if (gpu_.device == nullptr) GTEST_SKIP() << gpu_.reason;
  }
  ComputeDevice& device() { return *gpu_.device; }

  std::unique_ptr<Learner> learner(LearnerSetting setting) {
    setting.gpu = 0;
    return make_learner(setting, device());
  }
  std::vector<float> fetch(std::span<const float> values) {
    std::vector<float> copy(values.size());
    copy_and_await(device(), copy.data(), values.data(), values.size_bytes());
    return copy;
  }
  double step(Learner& learner, std::span<const std::byte> records) {
    learner.load(records);
    learner.forward();
    for (int bucket = 0; bucket < static_cast<int>(learner.description().buckets.size()); ++bucket) {
      learner.backward(bucket);
      device().forget(device().kernel_end());
    }
    return learner.loss();
  }
  /// model -= rate * gradient for both learners; statistics do not change.
  void descend(Learner& here, Learner& there, float rate) {
    for (const auto& bucket : here.description().buckets) {
      const SgdStep step{1.0F, rate, 0.0F, 0.0F, false};
      host_device().sgd(here.model().data() + bucket.offset, here.gradient().data() + bucket.offset, nullptr,
                        bucket.parameters, step);
      device().sgd(there.model().data() + bucket.offset, there.gradient().data() + bucket.offset, nullptr,
                   bucket.parameters, step);
    }
  }

 private:
  testing::Gpu gpu_;
};

/// Norm of the difference relative to the norm of the expected vector.
double relative_error(std::span<const float> found, std::span<const float> expected) {
  double difference = 0.0, length = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += std::pow(static_cast<double>(found[i]) - static_cast<double>(expected[i]), 2);
    length += std::pow(static_cast<double>(expected[i]), 2);
  }
  return std::sqrt(difference / length);
}

/// Each step begins with the processor's model: where a normalisation has few values, two passes that differ
/// in their last bits grow apart from step to step.
TEST_F(LearnerOnGpu, ComputesLikeTheProcessor) {
  for (const char* model : {"lenet", "resnet18"}) {
    const auto dataset = images(24, std::string(model) == "lenet" ? "synthetic" : "synthetic-colour");
    const auto records = dataset->records(Dataset::Part::train);
    const auto third = records.size() / 3;
    const LearnerSetting setting{.model = model, .dataset = dataset->info(), .bucket_bytes = Bytes(1 << 20)};
    const auto here = make_learner(setting, host_device());
    const auto there = learner(setting);
    EXPECT_EQ(fetch(there->model()), copy_of(here->model())) << model;
    for (std::size_t round = 0; round < 3; ++round) {
      const auto batch = records.subspan(round * third, third);
      copy_and_await(device(), there->model().data(), here->model().data(), here->model().size_bytes());
      const double expected = differentiate(*here, batch);
      EXPECT_NEAR(step(*there, batch), expected, 1e-3 * expected) << model << " in step " << round;
      EXPECT_LE(relative_error(fetch(there->gradient()), here->gradient()), 0.02) << model;
      descend(*here, *there, 0.01F);
      EXPECT_LE(relative_error(fetch(there->model()), here->model()), 1e-3) << model;
    }
    const auto expected = here->evaluate(records);
    const auto found = there->evaluate(records);
    EXPECT_NEAR(found.loss, expected.loss, 0.01 * expected.loss) << model;
    EXPECT_NEAR(found.accuracy, expected.accuracy, 0.1) << model;
  }
}

TEST_F(LearnerOnGpu, IsReproducibleToTheBit) {
  const auto dataset = images(64, "synthetic-colour");
  const auto records = dataset->records(Dataset::Part::train);
  for (const char* model : {"resnet18", "mobilenet-v2"}) {
    const LearnerSetting setting{.model = model, .dataset = dataset->info(), .bucket_bytes = Bytes(1 << 20)};
    const auto one = learner(setting);
    const auto two = learner(setting);
    EXPECT_EQ(step(*one, records), step(*two, records)) << model;
    EXPECT_EQ(fetch(one->gradient()), fetch(two->gradient())) << model;
    EXPECT_EQ(fetch(one->model()), fetch(two->model())) << model;
  }
}

TEST_F(LearnerOnGpu, LossFallsInEveryPrecision) {
  const auto dataset = images(64, "synthetic-colour");
  const auto records = dataset->records(Dataset::Part::train);
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16})
    for (const bool deterministic : {true, false}) {
      LearnerSetting setting{.model = "resnet18", .dataset = dataset->info(), .bucket_bytes = Bytes(1 << 20)};
      setting.precision = precision;
      setting.deterministic = deterministic;
      const auto there = learner(setting);
      const double first = step(*there, records);
      double loss = first;
      for (int round = 0; round < 10; ++round) {
        for (const auto& bucket : there->description().buckets)
          device().sgd(there->model().data() + bucket.offset, there->gradient().data() + bucket.offset,
                       nullptr, bucket.parameters, {1.0F, 0.02F, 0.0F, 0.0F, false});
        loss = step(*there, records);
      }
      EXPECT_LT(loss, 0.7 * first) << static_cast<int>(precision) << ' ' << deterministic;
    }
}

// mobilenet-v2 omits values by libtorch's own random numbers, which each step seeds.
TEST_F(LearnerOnGpu, StepsRepeatedFromGraphsHaveTheSameBits) {
  const auto dataset = images(64, "synthetic-colour");
  const auto records = dataset->records(Dataset::Part::train);
  for (const char* model : {"lenet", "resnet18", "mobilenet-v2"})
    for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
      LearnerSetting setting{.model = model, .dataset = dataset->info(), .bucket_bytes = Bytes(1 << 20)};
      setting.precision = precision;
      const auto computing = learner(setting);
      setting.graphs = true;
      const auto repeating = learner(setting);
      for (std::size_t round = 0; round < 7; ++round) {
        const auto batch = records.subspan(round % 2 * records.size() / 2, records.size() / 2);
        EXPECT_EQ(step(*repeating, batch), step(*computing, batch)) << model << " in step " << round;
        EXPECT_EQ(fetch(repeating->gradient()), fetch(computing->gradient())) << model << ' ' << round;
        for (Learner* one : {computing.get(), repeating.get()})
          for (const auto& bucket : one->description().buckets)
            device().sgd(one->model().data() + bucket.offset, one->gradient().data() + bucket.offset, nullptr,
                         bucket.parameters, {1.0F, 0.01F, 0.0F, 0.0F, false});
        EXPECT_EQ(fetch(repeating->model()), fetch(computing->model())) << model << ' ' << round;
      }
      EXPECT_EQ(repeating->repeated_steps(), 4) << model;
      EXPECT_EQ(repeating->evaluate(records).loss, computing->evaluate(records).loss) << model;
      EXPECT_EQ(step(*repeating, records), step(*computing, records)) << model << ": a larger batch";
      EXPECT_EQ(repeating->repeated_steps(), 4) << model;
    }
}

// Its running statistics are not aligned, with which cuDNN's normalisation crashes.
TEST_F(LearnerOnGpu, TorchScriptFilesHaveTheStatisticsOfTheProcessor) {
  const testing::TemporaryFolder folder;
  testing::save_tangle(folder.path("net.pt"));
  const auto dataset = images(64, "synthetic");
  const auto records = dataset->records(Dataset::Part::train);
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
    LearnerSetting setting{
        .model = folder.path("net.pt"), .dataset = dataset->info(), .bucket_bytes = Bytes(0)};
    const auto here = make_learner(setting, host_device());
    setting.precision = precision;
    const auto there = learner(setting);
    for (int round = 0; round < 3; ++round) {
      differentiate(*here, records);
      EXPECT_TRUE(std::isfinite(step(*there, records)));
    }
    std::vector<float> found = fetch(there->model());
    int odd = 0;
    for (const auto& tensor : here->description().tensors) {
      if (!tensor.statistic) continue;
      if (tensor.offset % 4 != 0 && tensor.shape.size() == 1) ++odd;
      EXPECT_TRUE(at::allclose(window(found, tensor), window(here->model(), tensor), /*rtol=*/0.02,
                               /*atol=*/1e-3))
          << tensor.name << ' ' << static_cast<int>(precision);
    }
    EXPECT_GT(odd, 0) << "nothing is tested";
    EXPECT_TRUE(std::isfinite(there->evaluate(records).loss));
  }
}

// The memory of a tensor that was released stays with libtorch until somebody needs it.
TEST_F(LearnerOnGpu, MemoryThatLibtorchKeepsIsThereForTheDevice) {
  const auto dataset = images(8, "synthetic-colour");
  const auto there = learner({.model = "resnet18", .dataset = dataset->info(), .bucket_bytes = Bytes(0)});
  constexpr std::int64_t piece = std::int64_t{1} << 30;
  const auto gigabyte = [] {
    return at::empty({piece}, at::TensorOptions().dtype(at::kByte).device(at::Device(at::kCUDA, 0)));
  };
  std::size_t pieces = 0;
  {
    std::vector<at::Tensor> all;
    try {
      for (;;) all.push_back(gigabyte());
    } catch (const c10::Error&) {
      pieces = all.size();
    }
  }
  ASSERT_GT(pieces, 1U);
  const DeviceArray<std::byte> own(device(), (pieces - 1) * static_cast<std::size_t>(piece));
  EXPECT_NE(own.data(), nullptr);
}

TEST_F(LearnerOnGpu, ReportsInsufficientMemory) {
  const auto dataset = images(8, "synthetic-colour");
  LearnerSetting setting{.model = "resnet18", .dataset = dataset->info(), .bucket_bytes = Bytes(0)};
  setting.image_size = 1 << 18;
  const auto there = learner(setting);
  there->load(dataset->records(Dataset::Part::train));
  try {
    there->forward();
    FAIL();
  } catch (const WorldError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("with batches of 8 images: cuda:0"), std::string::npos) << message;
    EXPECT_NE(message.find("requested"), std::string::npos) << message;
    EXPECT_NE(message.find("free"), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
