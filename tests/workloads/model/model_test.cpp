// Model definitions without libtorch: known parameter counts, flops counted by hand, buckets and initial
// values.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "workloads/learner/learner.hpp"
#include "workloads/model/plan.hpp"

namespace tandem {
namespace TANDEM_FILE {

LearnerSetting setting(const std::string& model, int channels, int side, std::int64_t bucket_bytes = 0) {
  LearnerSetting result;
  result.model = model;
  result.dataset = {.name = "test", .channels = channels, .height = side, .width = side, .classes = 10};
  result.bucket_bytes = Bytes(bucket_bytes);
  return result;
}

TEST(DescribeModel, KnownParameterCounts) {
  EXPECT_EQ(describe_model(setting("lenet", 1, 28)).parameters(), 431'080);
  EXPECT_EQ(describe_model(setting("mlp", 1, 28)).parameters(), 199'210);
  EXPECT_EQ(describe_model(setting("resnet18", 3, 32)).parameters(), 11'173'962);
  EXPECT_EQ(describe_model(setting("resnet18", 1, 28)).parameters(), 11'173'962 - 2 * 64 * 9);
}

TEST(DescribeModel, StatisticsAreTheMeansAndVariancesOfBatchNorm) {
  EXPECT_EQ(describe_model(setting("lenet", 1, 28)).elements(), 431'080);
  // Channels of the 20 batch normalisations: stem 64, four stages of 4, three projections.
  const std::int64_t channels = 64 + 4 * (64 + 128 + 256 + 512) + 128 + 256 + 512;
  const auto resnet = describe_model(setting("resnet18", 3, 32));
  EXPECT_EQ(resnet.elements() - resnet.parameters(), 2 * channels);
  EXPECT_EQ(resnet.bytes(), Bytes(4 * resnet.elements()));
}

TEST(DescribeModel, FlopsOfLenetByHand) {
  const auto lenet = describe_model(setting("lenet", 1, 28));
  const double conv1 = 2.0 * 20 * 24 * 24 * 25;
  const double conv2 = 2.0 * 50 * 8 * 8 * 20 * 25;
  const double linear = 2.0 * (800 * 500 + 500 * 10);
  const double pools = 4.0 * (20 * 12 * 12 + 50 * 4 * 4);
  const double relus = 20 * 12 * 12 + 50 * 4 * 4 + 500;
  EXPECT_DOUBLE_EQ(lenet.forward().count(), conv1 + conv2 + linear + pools + relus);
  EXPECT_DOUBLE_EQ(lenet.backward().count(), conv1 + 2 * (conv2 + linear + pools + relus));
}

TEST(DescribeModel, ActivationsOfLenetByHand) {
  const auto kept = [](const std::string& model, int channels, int side) {
    return describe_model(setting(model, channels, side)).activations.value();
  };
  const std::int64_t pixels = 28 * 28;
  // Of each convolution its output, which the pooling needs; of each pooling 64-bit positions; each ReLU's
  // output.
  const std::int64_t first = 20 * 24 * 24 + 2 * 20 * 12 * 12 + 20 * 12 * 12;
  const std::int64_t second = 50 * 8 * 8 + 2 * 50 * 4 * 4 + 50 * 4 * 4;
  EXPECT_EQ(kept("lenet", 1, 28).kept, pixels + first + second + 500 + 10);
  EXPECT_EQ(kept("lenet", 1, 28).widest, 20 * 24 * 24 + 20 * 12 * 12);
  EXPECT_EQ(kept("mlp", 1, 28).kept, pixels + 200 + 200 + 10);
}

TEST(DescribeModel, ThePhotographModelsAreThoseOfImageNet) {
  for (const char* name : {"alexnet", "vgg16", "resnet50", "mobilenet-v2", "inception-v3"})
    EXPECT_TRUE(is_for_photographs(name)) << name;
  for (const char* name : {"mlp", "lenet", "resnet32", "synthetic", "net.pt"})
    EXPECT_FALSE(is_for_photographs(name)) << name;
}

TEST(DescribeModel, FlopsOfResnetAreAsPublished) {
  // 0.56 G multiply-accumulates for 3x32x32.
  EXPECT_NEAR(describe_model(setting("resnet18", 3, 32)).forward().count(), 2 * 0.5565e9, 0.02e9);
}

/// The end of buckets that follow each other in memory, in whatever order.
std::int64_t end_without_gaps(std::vector<BucketDescription> buckets) {
  std::ranges::sort(buckets, {}, &BucketDescription::offset);
  std::int64_t next = 0;
  for (const auto& bucket : buckets) {
    EXPECT_EQ(bucket.offset, next);
    next += bucket.elements();
  }
  return next;
}

TEST(DescribeModel, BucketsCoverTheFlatLayoutWithoutGaps) {
  for (const auto& [model, channels, side] :
       std::vector<std::tuple<std::string, int, int>>{{"mlp", 1, 28}, {"lenet", 1, 28}, {"resnet18", 3, 32}})
    for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1}, std::int64_t{64} << 10,
                                     std::int64_t{4} << 20, std::int64_t{1} << 40}) {
      SCOPED_TRACE(model + " bucket_bytes " + std::to_string(bytes));
      const auto description = describe_model(setting(model, channels, side, bytes));
      const std::int64_t next = end_without_gaps(description.buckets);
      for (std::size_t index = 0; index + 1 < description.buckets.size(); ++index)
        EXPECT_GE(description.buckets[index].bytes().count(), bytes);
      if (bytes == 0 || bytes == std::int64_t{1} << 40) {
        EXPECT_EQ(description.buckets.size(), 1U);
      }
      EXPECT_EQ(next, describe_model(setting(model, channels, side)).elements());
      EXPECT_EQ(description.forward(), describe_model(setting(model, channels, side)).forward());

      std::vector<int> covered(static_cast<std::size_t>(next), 0);
      std::set<std::string> names;
      for (const auto& tensor : description.tensors) {
        EXPECT_TRUE(names.insert(tensor.name).second) << tensor.name;
        for (std::int64_t at = tensor.offset; at < tensor.offset + tensor.elements(); ++at)
          ++covered[static_cast<std::size_t>(at)];
        for (const auto& bucket : description.buckets) {
          if (tensor.offset >= bucket.offset && tensor.offset < bucket.offset + bucket.elements()) {
            EXPECT_EQ(tensor.statistic, tensor.offset >= bucket.offset + bucket.parameters) << tensor.name;
          }
        }
      }
      EXPECT_TRUE(std::ranges::all_of(covered, [](int times) { return times == 1; }));
    }
}

TEST(DescribeModel, BucketZeroHoldsTheLastLayers) {
  const auto description = describe_model(setting("lenet", 1, 28, 1));
  ASSERT_EQ(description.buckets.size(), 4U);
  EXPECT_EQ(description.buckets[0].parameters, 500 * 10 + 10);
  EXPECT_EQ(description.buckets[3].parameters, 20 * 25 + 20);
  EXPECT_EQ(description.tensors.front().name, "conv1.weight");
  EXPECT_EQ(description.tensors.back().offset, description.buckets[0].offset + 5'000);
}

// An engine of cuDNN may need 16 or 32 bytes, and our kernels read 16 at once. Behind the ten biases of the
// last layer, in the first bucket, everything else would be aligned to 8 bytes.
TEST(DescribeModel, TensorsAreAlignedWhateverTheNumberOfClasses) {
  for (const auto& [model, aligned] : std::vector<std::pair<std::string, std::int64_t>>{
           {"resnet18", 64}, {"resnet50", 64}, {"vgg16", 64}, {"mobilenet-v2", 8}, {"inception-v3", 8}})
    for (const int classes : {10, 100, 1000})
      for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1} << 20, std::int64_t{4} << 20}) {
        SCOPED_TRACE(model + ' ' + std::to_string(classes) + " bucket_bytes " + std::to_string(bytes));
        LearnerSetting wanted = setting(model, 3, 224, bytes);
        wanted.dataset.classes = classes;
        const auto description = describe_model(wanted);
        for (const auto& tensor : description.tensors)
          if (!tensor.statistic && tensor.elements() % aligned == 0) {
            EXPECT_EQ(tensor.offset % aligned, 0) << tensor.name;
          }
        end_without_gaps(description.buckets);
      }
}

TEST(DescribeModel, RefusesImagesThatAreTooSmall) {
  try {
    describe_model(setting("lenet", 1, 8));
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "model 'lenet' does not accept images of 1x8x8: conv2 has a window of 5x5 pixels, but only "
                 "20x2x2 arrive there");
  }
  EXPECT_THROW(describe_model(setting("lenet", 0, 28)), ConfigError);
  EXPECT_THROW(describe_model(setting("lenett", 1, 28)), ConfigError);
}

TEST(InitialModel, DependsOnTheSeedAndNotOnTheBuckets) {
  const auto whole = plan_model(setting("lenet", 1, 28));
  const auto cut = plan_model(setting("lenet", 1, 28, 1));
  const auto values = initial_model(whole, 3);
  EXPECT_EQ(values, initial_model(whole, 3));
  EXPECT_NE(values, initial_model(whole, 4));
  const auto cut_values = initial_model(cut, 3);
  for (std::size_t index = 0; index < whole.description.tensors.size(); ++index) {
    const auto& one = whole.description.tensors[index];
    const auto& other = cut.description.tensors[index];
    ASSERT_EQ(one.name, other.name);
    EXPECT_TRUE(std::equal(values.begin() + one.offset, values.begin() + one.offset + one.elements(),
                           cut_values.begin() + other.offset))
        << one.name;
  }
}

TEST(InitialModel, BatchNormStartsAsTheIdentity) {
  const auto plan = plan_model(setting("resnet18", 3, 32, 1 << 20));
  const auto values = initial_model(plan, 1);
  int seen = 0;
  for (const auto& tensor : plan.description.tensors) {
    const bool one = tensor.name == "bn1.weight" || tensor.name == "layer4.0.downsample.1.running_var";
    const bool zero = tensor.name == "bn1.bias" || tensor.name == "layer2.1.bn2.running_mean";
    if (!one && !zero) continue;
    ++seen;
    for (std::int64_t at = tensor.offset; at < tensor.offset + tensor.elements(); ++at)
      ASSERT_EQ(values[static_cast<std::size_t>(at)], one ? 1.0F : 0.0F) << tensor.name;
  }
  EXPECT_EQ(seen, 4);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
