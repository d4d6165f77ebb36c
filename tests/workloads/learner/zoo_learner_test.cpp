// The whole catalogue with real mathematics, on the smallest images that each model accepts: against a second
// definition of each kind, for any bucket size, and with dropout.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/workloads/learner/learner_probe.hpp"
#include "tests/workloads/learner/reference_zoo.hpp"
#include "workloads/learner/learner.hpp"

namespace tandem {
namespace TANDEM_FILE {

constexpr std::int64_t mebi = std::int64_t{1} << 20;

/// Grey 28x28 images like Fashion-MNIST's, or larger ones if the model needs them.
LearnerSetting smallest_setting(const std::string& model, std::int64_t bucket_bytes = 0) {
  int side = 28;
  if (model == "alexnet") side = 63;
  if (model.starts_with("vgg")) side = 32;
  if (model == "inception-v3") side = 75;
  LearnerSetting setting;
  setting.model = model;
  setting.dataset = {
      .name = "test", .channels = side == 28 ? 1 : 3, .height = side, .width = side, .classes = 10};
  setting.bucket_bytes = Bytes(bucket_bytes);
  return setting;
}

/// Images of noise; image i is of class i.
std::vector<std::byte> records_for(const DatasetInfo& info, std::size_t samples) {
  Rng rng(3);
  const auto record = static_cast<std::size_t>(info.record_bytes().count());
  std::vector<std::byte> records(samples * record);
  for (std::size_t i = 0; i < records.size(); ++i)
    records[i] = static_cast<std::byte>(i % record == 0 ? i / record : rng.below(256));
  return records;
}

at::Tensor pixels_of(std::span<const std::byte> records, const DatasetInfo& info) {
  const auto bytes = torch::from_blob(
      const_cast<std::byte*>(records.data()),
      {std::ssize(records) / info.record_bytes().count(), info.record_bytes().count()}, torch::kUInt8);
  return ((bytes.narrow(1, 1, info.record_bytes().count() - 1).to(torch::kFloat) / 255.0F - info.mean) /
          info.deviation)
      .reshape({-1, info.channels, info.height, info.width});
}

struct Case {
  std::string model;
  int side;  ///< 0: the smallest
};
void PrintTo(const Case& value, std::ostream* out) { *out << value.model << ' ' << value.side; }
std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.model;
  std::erase(name, '-');
  return name + (info.param.side > 0 ? "At" + std::to_string(info.param.side) : "");
}

class ZooAgainstReference : public ::testing::TestWithParam<Case> {};

TEST_P(ZooAgainstReference, SameLossAndGradient) {
  const auto& [model, side] = GetParam();
  LearnerSetting setting = smallest_setting(model, mebi);
  if (side > 0) setting.dataset.height = setting.dataset.width = side;
  setting.replica = 2;
  const auto records = records_for(setting.dataset, 4);
  const auto learner = make_learner(setting);
  std::map<std::string, at::Tensor> tensors;
  for (const auto& tensor : learner->description().tensors)
    tensors[tensor.name] = window(learner->model(), tensor).clone().requires_grad_(!tensor.statistic);
  Rng seeds = Rng::stream(setting.seed, "dropout", 2);
  reference::Pass pass(tensors, Rng::stream(seeds.next(), "step", 0));
  const auto labels = torch::arange(4);
  const auto loss =
      torch::nn::functional::cross_entropy(pass.run(model, pixels_of(records, setting.dataset)), labels);
  loss.backward();

  EXPECT_NEAR(differentiate(*learner, records), loss.item<double>(), 1e-4);
  // One scale for all tensors: tensors without effect before a normalisation have only rounding errors as
  // gradients.
  double scale = 0.0;
  for (const auto& tensor : learner->description().tensors)
    if (!tensor.statistic) scale = std::max(scale, tensors.at(tensor.name).grad().abs().max().item<double>());
  for (const auto& tensor : learner->description().tensors) {
    const auto& expected = tensor.statistic ? tensors.at(tensor.name) : tensors.at(tensor.name).grad();
    const auto found = window(learner->gradient(), tensor);
    EXPECT_LE((found - expected).abs().max().item<double>(), 1e-4 * std::max(scale, 1.0)) << tensor.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ZooAgainstReference,
                         ::testing::Values(Case{"resnet50-v2", 0}, Case{"resnet32", 0},
                                           Case{"mobilenet-v2", 0}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(LongModels, ZooAgainstReference,
                         ::testing::Values(Case{"alexnet", 0}, Case{"vgg11", 0}, Case{"vgg11-bn", 0},
                                           Case{"resnet34", 0}, Case{"resnet34", 64}, Case{"resnet50", 0},
                                           Case{"resnet50", 64}, Case{"resnet50-v2", 64},
                                           Case{"mobilenet-v1", 0}, Case{"inception-v3", 0}),
                         name_of);

class EveryModel : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryModel, GradientIsTheSameForAnyBuckets) {
  std::vector<float> whole;
  for (const std::int64_t bucket_bytes : {std::int64_t{0}, 8 * mebi}) {
    const auto setting = smallest_setting(GetParam(), bucket_bytes);
    const auto learner = make_learner(setting);
    const double loss = differentiate(*learner, records_for(setting.dataset, 2));
    EXPECT_TRUE(std::isfinite(loss));
    double largest = 0.0;
    std::vector<float> gradient;  // tensor by tensor: the layout is that of the buckets
    for (const auto& tensor : learner->description().tensors) {
      const auto values = learner->gradient().subspan(static_cast<std::size_t>(tensor.offset),
                                                      static_cast<std::size_t>(tensor.elements()));
      gradient.insert(gradient.end(), values.begin(), values.end());
    }
    for (const float value : gradient) {
      ASSERT_TRUE(std::isfinite(value));
      largest = std::max(largest, static_cast<double>(std::abs(value)));
    }
    EXPECT_GT(largest, 0.0);
    if (whole.empty())
      whole = std::move(gradient);
    else
      EXPECT_TRUE(whole == gradient);
  }
}

std::string name_of_model(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
}

std::vector<std::string> other_models() {
  std::vector<std::string> names = model_catalog().names();
  for (const char* tested : {"mobilenet-v1", "resnet32"}) std::erase(names, tested);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel, ::testing::Values("mobilenet-v1", "resnet32"), name_of_model);
INSTANTIATE_TEST_SUITE_P(LongModels, EveryModel, ::testing::ValuesIn(other_models()), name_of_model);

TEST(ImageSize, ScalesTheInputOfTheModel) {
  LearnerSetting scaled = smallest_setting("lenet", mebi);
  scaled.image_size = 42;
  LearnerSetting native = smallest_setting("lenet", mebi);
  native.dataset.height = native.dataset.width = 42;
  EXPECT_EQ(describe_model(scaled).forward(), describe_model(native).forward());
  // Images of a single grey value are the same at every size.
  const auto grey = [](const DatasetInfo& info) {
    std::vector<std::byte> records = records_for(info, 4);
    const auto record = static_cast<std::size_t>(info.record_bytes().count());
    for (std::size_t i = 0; i < records.size(); ++i)
      if (i % record != 0) records[i] = static_cast<std::byte>(50 * (i / record));
    return records;
  };
  const auto one = make_learner(scaled);
  const auto other = make_learner(native);
  EXPECT_NEAR(differentiate(*one, grey(scaled.dataset)), differentiate(*other, grey(native.dataset)), 1e-6);
  EXPECT_NEAR(one->evaluate(grey(scaled.dataset)).loss, other->evaluate(grey(native.dataset)).loss, 1e-6);
  for (std::size_t i = 0; i < one->gradient().size(); ++i)
    ASSERT_NEAR(one->gradient()[i], other->gradient()[i], 1e-5);
}

TEST(LongImageSize, EnablesModelsForLargerImages) {
  LearnerSetting setting = smallest_setting("lenet");
  setting.model = "alexnet";
  EXPECT_THROW(describe_model(setting), ConfigError);
  setting.image_size = 63;
  const auto records = records_for(setting.dataset, 2);
  EXPECT_TRUE(std::isfinite(differentiate(*make_learner(setting), records)));
}

TEST(DropoutInTraining, DependsOnlyOnSeedReplicaAndStep) {
  LearnerSetting setting = smallest_setting("mobilenet-v2", mebi);
  const auto records = records_for(setting.dataset, 4);
  const auto one = make_learner(setting);
  const auto two = make_learner(setting);
  setting.replica = 1;
  const auto other = make_learner(setting);
  ASSERT_EQ(copy_of(one->model()), copy_of(other->model()));
  const double first = differentiate(*one, records);
  EXPECT_EQ(first, differentiate(*two, records));
  EXPECT_EQ(copy_of(one->gradient()), copy_of(two->gradient()));
  EXPECT_NE(first, differentiate(*other, records));
  EXPECT_NE(first, differentiate(*one, records)) << "the second step drops other values";
}

TEST(LongDropoutInTraining, EvaluationHasNone) {
  const auto setting = smallest_setting("alexnet");
  const auto records = records_for(setting.dataset, 4);
  const auto learner = make_learner(setting);
  const double before = learner->evaluate(records).loss;
  differentiate(*learner, records);
  EXPECT_EQ(learner->evaluate(records).loss, before);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
