// TorchScript files as models: sizes and costs, gradients compared with libtorch's own backward and with the
// catalogue's LeNet, and bad files.
#include "workloads/learner/script_learner.hpp"

#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>

#include "policies/vocabulary/rng.hpp"
#include "tests/support/apart_device.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/workloads/learner/learner_probe.hpp"
#include "tests/workloads/learner/script_modules.hpp"
#include "workloads/data/dataset.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class ScriptModelFile : public ::testing::Test {
 protected:
  LearnerSetting setting(std::int64_t bucket_bytes = 0) const {
    return {.model = path_, .dataset = dataset_->info(), .bucket_bytes = Bytes(bucket_bytes)};
  }
  std::span<const std::byte> records() const { return dataset_->records(Dataset::Part::train); }
  std::unique_ptr<Learner> learner(std::int64_t bucket_bytes = 0) const {
    return make_learner(setting(bucket_bytes));
  }
  std::string error_of(const LearnerSetting& wanted) const {
    try {
      describe_model(wanted);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  }
  void expect_error(const std::string& part) const {
    const std::string message = error_of(setting());
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_NE(message.find(path_), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.path("net.pt");
  std::shared_ptr<const Dataset> dataset_ =
      load_dataset({.name = "synthetic", .directory = "", .train_samples = 8, .test_samples = 8, .seed = 5});
};

TEST_F(ScriptModelFile, HasTheSizesOfTheCatalogue) {
  save_lenet(path_);
  const auto script = describe_model(setting(1));
  LearnerSetting same = setting(1);
  same.model = "lenet";
  const auto catalogue = describe_model(same);
  EXPECT_EQ(script.name, "net.pt");
  EXPECT_EQ(script.parameters(), catalogue.parameters());
  EXPECT_EQ(script.elements(), catalogue.elements());
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const auto& tensor : catalogue.tensors) shapes[tensor.name] = tensor.shape;
  ASSERT_EQ(script.tensors.size(), shapes.size());
  for (const auto& tensor : script.tensors) EXPECT_EQ(tensor.shape, shapes.at(tensor.name)) << tensor.name;
  EXPECT_TRUE(script.tensors.front().name.starts_with("conv1")) << script.tensors.front().name;
  EXPECT_TRUE(script.tensors.back().name.starts_with("fc2")) << script.tensors.back().name;
}

TEST_F(ScriptModelFile, FlopsOfLenetByHand) {
  save_lenet(path_);
  const auto lenet = describe_model(setting(1));
  const double conv1 = 2.0 * 20 * 24 * 24 * 25;
  const double conv2 = 2.0 * 50 * 8 * 8 * 20 * 25;
  const double linear = 2.0 * (800 * 500 + 500 * 10);
  EXPECT_DOUBLE_EQ(lenet.forward().count(), conv1 + conv2 + linear);
  EXPECT_DOUBLE_EQ(lenet.backward().count(), conv1 + 2 * (conv2 + linear));
  EXPECT_DOUBLE_EQ(lenet.buckets.front().forward.count(), 2.0 * 500 * 10);
}

TEST_F(ScriptModelFile, BucketsCoverTheLayoutInBackwardOrder) {
  save_tangle(path_);
  for (const std::int64_t bytes : {0, 1, 400}) {
    const auto model = describe_model(setting(bytes));
    auto buckets = model.buckets;
    std::ranges::sort(buckets, {}, &BucketDescription::offset);
    std::int64_t next = 0;
    for (const auto& bucket : buckets) {
      EXPECT_EQ(bucket.offset, next);
      EXPECT_GT(bucket.parameters, 0);
      next += bucket.elements();
    }
    EXPECT_EQ(next, model.elements());
    EXPECT_EQ(bytes == 0, model.buckets.size() == 1U);
    EXPECT_TRUE(model.tensors.back().name.starts_with("last"));
  }
}

TEST_F(ScriptModelFile, BuffersAndUntrainedParametersAreStatistics) {
  save_tangle(path_);
  const auto model = describe_model(setting());
  std::map<std::string, bool> is_statistic;
  for (const auto& tensor : model.tensors) is_statistic[tensor.name] = tensor.statistic;
  const std::map<std::string, bool> expected = {
      {"frozen", true},        {"first.weight", false}, {"norm.weight", false}, {"norm.bias", false},
      {"mean", true},          {"variance", true},      {"average", true},      {"twice.weight", false},
      {"unused.weight", true}, {"last.weight", false},  {"last.bias", false}};
  EXPECT_EQ(is_statistic, expected) << "'steps' is an integer and so left out";
}

/// The frozen convolution has no backward; the first trained layer needs no gradient of its input.
TEST_F(ScriptModelFile, FlopsWithAFrozenLayer) {
  save_tangle(path_);
  const auto model = describe_model(setting());
  const double first = 2.0 * 6 * 14 * 14 * 9;
  const double twice = 2.0 * 2.0 * 6 * 14 * 14 * 6 * 9;
  const double last = 2.0 * 10 * 6;
  EXPECT_DOUBLE_EQ(model.forward().count(), first + twice + last);
  EXPECT_DOUBLE_EQ(model.backward().count(), first + 2 * (twice + last));
}

TEST_F(ScriptModelFile, ComputesLikeTheCatalogue) {
  save_lenet(path_);
  LearnerSetting same = setting(65536);
  same.model = "lenet";
  const auto catalogue = make_learner(same);
  for (const std::int64_t bytes : {0, 1, 65536}) {
    const auto script = learner(bytes);
    std::map<std::string, TensorDescription> places;
    for (const auto& tensor : script->description().tensors) places[tensor.name] = tensor;
    for (const auto& tensor : catalogue->description().tensors)
      window(catalogue->model(), tensor).copy_(window(script->model(), places.at(tensor.name)));
    EXPECT_NEAR(differentiate(*script, records()), differentiate(*catalogue, records()), 1e-6);
    for (const auto& tensor : catalogue->description().tensors) {
      const auto expected = window(catalogue->gradient(), tensor);
      const auto found = window(script->gradient(), places.at(tensor.name));
      EXPECT_LE((found - expected).abs().max().item<double>(), 1e-6) << tensor.name;
      EXPECT_GT(found.abs().max().item<double>(), 0.0) << tensor.name;
    }
    EXPECT_NEAR(script->evaluate(records()).loss, catalogue->evaluate(records()).loss, 1e-6);
  }
}

/// The same module, the same random numbers, and libtorch's own backward.
TEST_F(ScriptModelFile, GradientOfATangledModuleEqualsLibtorchs) {
  save_tangle(path_);
  ApartDevice apart;
  for (const std::int64_t bytes : {0, 1, 400})
    for (ComputeDevice* device : std::initializer_list<ComputeDevice*>{&host_device(), &apart}) {
      SCOPED_TRACE(bytes);
      const auto script = make_script_learner(setting(bytes), *device);
      const double loss = differentiate(*script, records());
      device->finish();

      torch::jit::Module module = torch::jit::load(path_);
      const auto& info = dataset_->info();
      const auto size = info.record_bytes().count();
      const auto raw = torch::from_blob(const_cast<std::byte*>(records().data()), {8, size}, torch::kUInt8);
      const auto pixels =
          ((raw.narrow(1, 1, size - 1).to(torch::kFloat) / 255.0F - info.mean) / info.deviation)
              .reshape({8, info.channels, info.height, info.width});
      Rng seeds = Rng::stream(setting().seed, "dropout", 0);
      torch::manual_seed(Rng::stream(seeds.next(), "step", 0).next());
      const auto expected = torch::nn::functional::cross_entropy(module.forward({pixels}).toTensor(),
                                                                 raw.select(1, 0).to(torch::kLong));
      expected.backward();
      EXPECT_NEAR(loss, expected.item<double>(), 1e-6);
      std::map<std::string, at::Tensor> values;
      for (const auto& parameter : module.named_parameters()) values[parameter.name] = parameter.value;
      for (const auto& buffer : module.named_buffers()) values[buffer.name] = buffer.value;
      for (const auto& tensor : script->description().tensors) {
        const auto& value = values.at(tensor.name);
        const auto found = window(script->gradient(), tensor);
        EXPECT_LE((found - (tensor.statistic ? value : value.grad())).abs().max().item<double>(), 1e-6)
            << tensor.name;
      }
    }
}

TEST_F(ScriptModelFile, StepsDependOnlyOnSeedReplicaAndStep) {
  save_tangle(path_);
  const auto one = learner(1);
  const auto two = learner(1);
  LearnerSetting another = setting(1);
  another.replica = 1;
  const auto other = make_learner(another);
  for (int step = 0; step < 3; ++step) {
    const double loss = differentiate(*one, records());
    EXPECT_EQ(loss, differentiate(*two, records()));
    EXPECT_NE(loss, differentiate(*other, records()));
    EXPECT_TRUE(std::ranges::equal(one->gradient(), two->gradient()));
    EXPECT_TRUE(std::ranges::equal(one->model(), two->model()));
  }
  EXPECT_EQ(one->evaluate(records()).loss, one->evaluate(records()).loss);
}

TEST_F(ScriptModelFile, LearnsAndKeepsUntrainedParameters) {
  save_tangle(path_);
  const auto script = learner(1);
  std::map<std::string, at::Tensor> before;
  for (const auto& tensor : script->description().tensors)
    before[tensor.name] = window(script->model(), tensor).clone();
  const double first = script->evaluate(records()).loss;
  for (int step = 0; step < 100; ++step) {
    differentiate(*script, records());
    for (const auto& tensor : script->description().tensors)
      if (!tensor.statistic) window(script->model(), tensor).sub_(0.5 * window(script->gradient(), tensor));
  }
  EXPECT_LT(script->evaluate(records()).loss, 0.9 * first);
  for (const auto& tensor : script->description().tensors) {
    const bool fixed = tensor.name == "frozen" || tensor.name == "unused.weight";
    EXPECT_EQ(window(script->model(), tensor).equal(before.at(tensor.name)), fixed) << tensor.name;
  }
}

TEST_F(ScriptModelFile, MissingOrInvalidFiles) {
  expect_error("cannot be opened: No such file");
  std::ofstream(path_) << "not a module";
  expect_error(
      "expected a TorchScript module, as torch.jit.save writes it, found a damaged or different file");
  const auto lenet = make_learner({.model = "lenet", .dataset = dataset_->info(), .bucket_bytes = Bytes(0)});
  save_checkpoint(path_,
                  {.model = "lenet", .step = 1, .values = {lenet->model().begin(), lenet->model().end()}},
                  lenet->description());
  expect_error("expected a TorchScript module");
}

TEST_F(ScriptModelFile, WrongImageOrOutputSizes) {
  save_lenet(path_);
  LearnerSetting colour = setting();
  colour.dataset.channels = 3;
  const std::string message = error_of(colour);
  EXPECT_NE(message.find("does not accept images of 3x28x28: "), std::string::npos) << message;
  EXPECT_NE(message.find("to have 1 channels, but got 3 channels"), std::string::npos) << message;
  LearnerSetting classes = setting();
  classes.dataset.classes = 11;
  EXPECT_NE(error_of(classes).find("expected outputs of 2x11 (images and classes) or wider, found 2x10"),
            std::string::npos)
      << error_of(classes);
}

TEST_F(ScriptModelFile, NothingToTrain) {
  ScriptFile().parameter("unused", torch::ones({3})).save(path_, "    return torch.flatten(x, 1)\n");
  expect_error("expected parameters that its outputs depend on, found none");
  ScriptFile().parameter("weight", torch::ones({3})).save(path_, "    return [x]\n");
  expect_error("or wider, found ");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
