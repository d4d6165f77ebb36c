// Steps that are repeated from graphs, which operations of the processor stand for: the same bits as steps
// that are computed, in the same order of calls. And backward passes for which memory is short.
#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "tests/support/apart_device.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/torch_operations.hpp"
#include "tests/workloads/learner/learner_probe.hpp"
#include "tests/workloads/learner/script_modules.hpp"
#include "workloads/learner/torch_learner.hpp"
#include "workloads/model/optimizer.hpp"
#include "workloads/model/plan.hpp"

namespace tandem {

/// In place of the one for GPUs.
std::unique_ptr<StepGraphs> make_step_graphs(at::Device) { return testing::make_step_graphs_on_host(); }

namespace TANDEM_FILE {

using testing::ApartDevice;

std::shared_ptr<const Dataset> images(std::int64_t train, const std::string& name = "synthetic-colour") {
  return load_dataset({.name = name, .directory = "", .train_samples = train, .test_samples = 8, .seed = 5});
}

LearnerSetting setting(const std::string& model, const DatasetInfo& info, bool graphs) {
  return {.model = model, .dataset = info, .bucket_bytes = Bytes(1 << 18), .graphs = graphs};
}

void run_backward(Learner& learner, ApartDevice& device, int bucket) {
  learner.backward(bucket);
  const DeviceMark end = device.kernel_end();
  device.has_reached(end);
  device.forget(end);
}
void run_backward(Learner& learner, ApartDevice& device) {
  for (int bucket = 0; bucket < std::ssize(learner.description().buckets); ++bucket)
    run_backward(learner, device, bucket);
}

/// One learner that computes each step and one that repeats steps, on a device of its own.
class Pair {
 public:
  Pair(const std::string& model, const DatasetInfo& info, bool sample_losses = false) {
    for (const bool graphs : {false, true}) {
      LearnerSetting wanted = setting(model, info, graphs);
      wanted.sample_losses = sample_losses;
      learners_[graphs] = make_torch_learner(wanted, devices_[graphs]);
    }
  }

  Learner& computing() { return *learners_[0]; }
  Learner& repeating() { return *learners_[1]; }

  /// A step of both, and an update by what they found.
  void step(std::span<const std::byte> records, std::span<const float> weights = {}) {
    double losses[2];
    for (const int which : {0, 1}) {
      Learner& learner = *learners_[which];
      learner.load(records);
      if (!weights.empty()) learner.weigh(weights);
      learner.forward();
      losses[which] = learner.loss();
      run_backward(learner, devices_[which]);
      devices_[which].finish();
    }
    EXPECT_EQ(losses[0], losses[1]);
    EXPECT_EQ(copy_of(computing().gradient()), copy_of(repeating().gradient())) << "including statistics";
    descend();
  }

  void backward(int which, int bucket) { run_backward(*learners_[which], devices_[which], bucket); }

 private:
  void descend() {
    for (auto& learner : learners_) {
      Sgd sgd(0.05, 0.0, 0.0, learner->description().elements());
      apply_update(sgd, learner->description(), 0, learner->model(), learner->gradient(), 1.0);
    }
    EXPECT_EQ(copy_of(computing().model()), copy_of(repeating().model()));
  }

  ApartDevice devices_[2];
  std::unique_ptr<Learner> learners_[2];
};

/// Batch `index` of `size` records.
std::span<const std::byte> batch(const Dataset& dataset, std::size_t index, std::size_t size) {
  const auto record = static_cast<std::size_t>(dataset.info().record_bytes().count());
  return dataset.records(Dataset::Part::train).subspan(index * size * record, size * record);
}

class StepGraphsOf : public ::testing::TestWithParam<const char*> {};

TEST_P(StepGraphsOf, TrainTheSameModelBitByBit) {
  const auto dataset = images(32);
  Pair pair(GetParam(), dataset->info());
  for (std::size_t step = 0; step < 8; ++step) pair.step(batch(*dataset, step, 4));
  EXPECT_EQ(pair.computing().repeated_steps(), 0);
  EXPECT_EQ(pair.repeating().repeated_steps(), 5) << "all but the first three";
  const auto expected = pair.computing().evaluate(batch(*dataset, 0, 8));
  const auto found = pair.repeating().evaluate(batch(*dataset, 0, 8));
  EXPECT_EQ(found.loss, expected.loss);
  pair.step(batch(*dataset, 1, 4));
}

// Without dropout, whose values a processor draws outside of libtorch.
std::string name_of_model(const ::testing::TestParamInfo<const char*>& info) {
  return std::string(info.param).substr(0, 5);
}
INSTANTIATE_TEST_SUITE_P(Models, StepGraphsOf, ::testing::Values("lenet"), name_of_model);
INSTANTIATE_TEST_SUITE_P(LongModels, StepGraphsOf, ::testing::Values("mobilenet-v1"), name_of_model);

// The last batch of each epoch is smaller; after some epochs, the job takes batches of another size.
TEST(StepGraphs, ComputeStepsOfOtherSizes) {
  const auto dataset = images(48);
  Pair pair("lenet", dataset->info());
  for (std::size_t epoch = 0; epoch < 4; ++epoch) {
    for (std::size_t step = 0; step < 4; ++step) pair.step(batch(*dataset, step, 6));
    pair.step(batch(*dataset, 0, 3));
  }
  EXPECT_EQ(pair.repeating().repeated_steps(), 1 + 3 * 4);
  for (std::size_t step = 0; step < 5; ++step) pair.step(batch(*dataset, step, 8));
  EXPECT_EQ(pair.repeating().repeated_steps(), 13 + 2);
  pair.step(batch(*dataset, 0, 6));
  EXPECT_EQ(pair.repeating().repeated_steps(), 15) << "recorded no more";
}

TEST(StepGraphs, KeepTheLossesOfSamplesAndComputeWhatIsWeighted) {
  const auto dataset = images(32);
  Pair pair("lenet", dataset->info(), /*sample_losses=*/true);
  const auto expect_same_losses = [&] {
    EXPECT_EQ(copy_of(pair.computing().sample_losses()), copy_of(pair.repeating().sample_losses()));
  };
  for (std::size_t step = 0; step < 5; ++step) {
    pair.step(batch(*dataset, step, 4));
    expect_same_losses();
  }
  EXPECT_EQ(pair.repeating().repeated_steps(), 2);
  const float weights[] = {1.0F, 0.5F, 2.0F, 0.0F};
  pair.step(batch(*dataset, 5, 4), weights);
  expect_same_losses();
  EXPECT_EQ(pair.repeating().repeated_steps(), 2);
  pair.step(batch(*dataset, 6, 4));
  expect_same_losses();
  EXPECT_EQ(pair.repeating().repeated_steps(), 3);
}

TEST(StepGraphs, AStepMayBeAbandonedAndTheNextBatchLoadedEarly) {
  const auto dataset = images(32);
  Pair pair("lenet", dataset->info());
  for (std::size_t step = 0; step < 4; ++step) pair.step(batch(*dataset, step, 4));
  for (Learner* learner : {&pair.computing(), &pair.repeating()}) {
    learner->load(batch(*dataset, 4, 4));
    learner->forward();
  }
  for (const int which : {0, 1}) {
    pair.backward(which, 0);
    Learner& learner = which == 0 ? pair.computing() : pair.repeating();
    learner.load(batch(*dataset, 5, 4));
    for (int bucket = 1; bucket < std::ssize(learner.description().buckets); ++bucket)
      pair.backward(which, bucket);
  }
  EXPECT_EQ(copy_of(pair.computing().gradient()), copy_of(pair.repeating().gradient()));
  for (Learner* learner : {&pair.computing(), &pair.repeating()}) learner->forward();
  pair.backward(0, 0);
  pair.backward(1, 0);
  pair.step(batch(*dataset, 6, 4));
  EXPECT_EQ(pair.repeating().repeated_steps(), 4);
}

TEST(StepGraphs, TheHookOfABucketIsCalledAfterItsRepetition) {
  const auto dataset = images(32);
  Pair pair("lenet", dataset->info());
  for (std::size_t step = 0; step < 4; ++step) pair.step(batch(*dataset, step, 4));
  Learner& learner = pair.repeating();
  std::vector<int> called;
  learner.after_backward([&](int bucket) { called.push_back(bucket); });
  pair.step(batch(*dataset, 4, 4));
  std::vector<int> all(learner.description().buckets.size());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(called, all);
}

TEST(StepGraphs, OfAFileOfTorchScript) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path("lenet.pt");
  testing::save_lenet(path);
  const auto dataset = images(32, "synthetic");
  Pair pair(path, dataset->info());
  for (std::size_t step = 0; step < 8; ++step) pair.step(batch(*dataset, step, 4));
  EXPECT_EQ(pair.repeating().repeated_steps(), 5);
}

TEST(StepGraphs, AModelThatReadsAValueIsAnErrorThatSaysWhatToDo) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path("reads.pt");
  testing::ScriptFile()
      .parameter("weight", torch::ones({10, 784}, torch::requires_grad()))
      .save(path,
            "    if bool(x.sum() > 0):\n        x = x * 2\n"
            "    return torch.matmul(torch.flatten(x, 1), self.weight.t())\n");
  const auto dataset = images(32, "synthetic");
  ApartDevice device;
  const auto learner = make_torch_learner(setting(path, dataset->info(), /*graphs=*/true), device);
  for (int step = 0; step < 3; ++step) {
    learner->load(batch(*dataset, 0, 4));
    learner->forward();
  }
  try {
    learner->load(batch(*dataset, 0, 4));
    learner->forward();
    FAIL() << "recorded";
  } catch (const WorldError& error) {
    EXPECT_NE(std::string(error.what()).find("key 'run.cuda_graphs': '" + path + "' cannot be recorded"),
              std::string::npos)
        << error.what();
  }
}

/// How often forward is cut for autograd.
std::ptrdiff_t cuts_of_forward(ComputeDevice& device, const Dataset& dataset) {
  const auto learner = make_torch_learner(setting("mobilenet-v1", dataset.info(), /*graphs=*/false), device);
  learner->load(batch(dataset, 0, 4));
  std::ptrdiff_t cuts = 0;
  {
    const testing::OperationsSeen seen([&](const auto& operation, auto& stack) {
      if (operation.schema().name() == "aten::detach") ++cuts;
      operation.callBoxed(&stack);
    });
    learner->forward();
  }
  device.finish();
  return cuts;
}

// The calls of autograd on a GPU take long, and on a processor gradients are copied while they are in its
// cache.
TEST(BackwardPass, IsOneCallOfAutogradPerBucketOnADevice) {
  const auto dataset = images(8);
  ApartDevice device;
  const LearnerSetting wanted = setting("mobilenet-v1", dataset->info(), /*graphs=*/false);
  const std::ptrdiff_t of_device = cuts_of_forward(device, *dataset);
  const std::ptrdiff_t of_host = cuts_of_forward(host_device(), *dataset);
  const auto segments = std::ssize(plan_model(wanted).segments);
  const auto buckets = std::ssize(plan_model(wanted).description.buckets);
  ASSERT_GT(segments, buckets);
  EXPECT_EQ(of_host - of_device, segments - buckets);
}

/// Throws in one operation of this name, as a library that lacks memory.
class Shortage {
 public:
  explicit Shortage(std::string name)
      : name_(std::move(name)), seen_([this](const auto& operation, auto& stack) {
          if (operation.schema().name() == name_ && !std::exchange(has_lacked_, true))
            throw std::runtime_error("cuDNN error: CUDNN_STATUS_ALLOC_FAILED");
          operation.callBoxed(&stack);
        }) {}
  bool has_lacked() const { return has_lacked_; }

 private:
  std::string name_;
  bool has_lacked_ = false;
  testing::OperationsSeen seen_;
};

void expect_second_backward(const std::string& model, const Dataset& dataset, const std::string& operation) {
  Pair pair(model, dataset.info());
  ApartDevice device;
  const auto learner = make_torch_learner(setting(model, dataset.info(), false), device);
  int frees = 0;
  device.on_shortage([&] { ++frees; });
  const auto records = batch(dataset, 0, 4);
  pair.step(records);
  learner->load(records);
  learner->forward();
  {
    const Shortage shortage(operation);
    run_backward(*learner, device);
    EXPECT_TRUE(shortage.has_lacked());
  }
  device.finish();
  EXPECT_EQ(frees, 1);
  EXPECT_EQ(copy_of(learner->gradient()), copy_of(pair.computing().gradient())) << "including statistics";
}

TEST(BackwardPass, IsComputedOnceMoreWhereALibraryLacksMemory) {
  expect_second_backward("mobilenet-v1", *images(8), "aten::convolution_backward");
  expect_second_backward("lenet", *images(8), "aten::max_pool2d_with_indices_backward");
}

TEST(BackwardPass, OfAFileOfTorchScriptIsComputedOnceMore) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path("lenet.pt");
  testing::save_lenet(path);
  expect_second_backward(path, *images(8, "synthetic"), "aten::convolution_backward");
}

// It lacks memory after all layers, when running statistics have changed, in place and by new tensors.
TEST(ForwardPass, OfAFileOfTorchScriptIsComputedOnceMore) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path("tangle.pt");
  testing::save_tangle(path);
  const auto dataset = images(8, "synthetic");
  Pair pair(path, dataset->info());
  ApartDevice device;
  const auto learner = make_torch_learner(setting(path, dataset->info(), false), device);
  int frees = 0;
  device.on_shortage([&] { ++frees; });
  for (const std::size_t index : {0, 1}) {
    const auto records = batch(*dataset, index, 4);
    learner->load(records);
    {
      const Shortage shortage("aten::nll_loss_forward");
      learner->forward();
      EXPECT_TRUE(shortage.has_lacked());
    }
    run_backward(*learner, device);
    device.finish();
    Learner& other = pair.computing();
    EXPECT_EQ(learner->loss(), differentiate(other, records));
    EXPECT_EQ(copy_of(learner->gradient()), copy_of(other.gradient())) << "including statistics";
    EXPECT_EQ(copy_of(learner->model()), copy_of(other.model())) << "including statistics";
  }
  EXPECT_EQ(frees, 2);
}

TEST(BackwardPass, ASecondShortageIsTheUsersError) {
  const auto dataset = images(8);
  ApartDevice device;
  const auto learner = make_torch_learner(setting("lenet", dataset->info(), false), device);
  device.on_shortage([] {});
  learner->load(batch(*dataset, 0, 4));
  learner->forward();
  const testing::OperationsSeen seen([](const auto& operation, auto& stack) {
    if (operation.schema().name() == "aten::convolution_backward")
      throw std::runtime_error("cuDNN error: CUDNN_STATUS_ALLOC_FAILED");
    operation.callBoxed(&stack);
  });
  try {
    run_backward(*learner, device);
    FAIL() << "no error";
  } catch (const WorldError& error) {
    EXPECT_NE(std::string(error.what()).find("'lenet' with batches of 4 images"), std::string::npos)
        << error.what();
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
