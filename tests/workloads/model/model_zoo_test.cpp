// Every model of the catalogue, without libtorch: parameters and multiply-adds against published figures,
// accepted image sizes, and buckets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "workloads/learner/learner.hpp"
#include "workloads/model/ddp_buckets.hpp"
#include "workloads/model/plan.hpp"

namespace tandem {
namespace TANDEM_FILE {

LearnerSetting setting(const std::string& model, int channels, int side, int classes,
                       std::int64_t bucket_bytes = 0) {
  LearnerSetting result;
  result.model = model;
  result.dataset = {.name = "test", .channels = channels, .height = side, .width = side, .classes = classes};
  result.bucket_bytes = Bytes(bucket_bytes);
  return result;
}

/// Published figures for 1000 classes.
struct Published {
  std::string model;
  int side;
  std::int64_t parameters;
  double multiply_adds;  ///< of convolutions and fully connected layers, per sample
};
void PrintTo(const Published& value, std::ostream* out) { *out << value.model; }
std::string name_of(const ::testing::TestParamInfo<Published>& info) {
  std::string name = info.param.model;
  std::erase(name, '-');
  return name;
}

class Zoo : public ::testing::TestWithParam<Published> {};

TEST_P(Zoo, ParametersAreAsPublished) {
  const auto& published = GetParam();
  EXPECT_EQ(describe_model(setting(published.model, 3, published.side, 1000)).parameters(),
            published.parameters);
}

/// Published figures exclude normalisation, ReLU and pooling, which matter most in MobileNets.
TEST_P(Zoo, FlopsAreAsPublished) {
  const auto& published = GetParam();
  const auto description = describe_model(setting(published.model, 3, published.side, 1000));
  const double flops = description.forward().count();
  EXPECT_GT(flops, 2 * published.multiply_adds * 0.995);
  EXPECT_LT(flops, 2 * published.multiply_adds * 1.08);
  EXPECT_GT(description.backward().count(), 1.7 * flops);
  EXPECT_LE(description.backward().count(), 2.0 * flops);
}

// Parameters and multiply-adds: torchvision's documentation of its models; MobileNet v1: Howard et al.
// (2017), table 8, and Keras's count of trained parameters; ResNet-50 v2: that of ResNet-50 without its
// normalisations (53,120 parameters) and with those of He et al.'s definition (45,440), which is also timm's
// resnetv2_50.
INSTANTIATE_TEST_SUITE_P(
    Published, Zoo,
    ::testing::Values(
        Published{"alexnet", 224, 61'100'840, 0.714e9}, Published{"vgg11", 224, 132'863'336, 7.609e9},
        Published{"vgg11-bn", 224, 132'868'840, 7.609e9}, Published{"vgg13", 224, 133'047'848, 11.308e9},
        Published{"vgg16", 224, 138'357'544, 15.47e9}, Published{"vgg19", 224, 143'667'240, 19.632e9},
        Published{"resnet18", 224, 11'689'512, 1.814e9}, Published{"resnet34", 224, 21'797'672, 3.664e9},
        Published{"resnet50", 224, 25'557'032, 4.089e9}, Published{"resnet50-v2", 224, 25'549'352, 4.089e9},
        Published{"resnet101", 224, 44'549'160, 7.801e9}, Published{"resnet152", 224, 60'192'808, 11.514e9},
        Published{"mobilenet-v1", 224, 4'231'976, 0.569e9},
        Published{"mobilenet-v2", 224, 3'504'872, 0.301e9},
        Published{"inception-v3", 299, 23'834'568, 5.713e9}),
    name_of);

/// 0.46 M and 1.7 M in table 6 of He et al. (2016); 69 M and 253 M multiply-adds.
TEST(ModelZoo, SmallResnetsAreThoseOfTheCifarSection) {
  for (const auto& [model, parameters, products] :
       {std::tuple("resnet32", 464'154, 69e6), {"resnet110", 1'727'962, 253e6}}) {
    const auto resnet = describe_model(setting(model, 3, 32, 10));
    EXPECT_EQ(resnet.parameters(), parameters) << model;
    EXPECT_NEAR(resnet.forward().count(), 2 * products, 0.04 * 2 * products) << model;
  }
}

/// Parameters and tensors of Tensor2Tensor's networks for CIFAR-10, which were made with blocks and filters.
/// A block of the stages of resnet-cifar has 18,560, 73,984 and 295,424 parameters and 6 tensors.
TEST(ModelZoo, FamiliesHaveTheSizesOfTheirOptions) {
  for (const auto& [model, parameters, tensors] :
       {std::tuple("resnet-cifar:blocks=2-2-2", 1'063'226 - 73'984 - 295'424, 50),
        {"resnet-cifar:blocks=2-3-3", 1'063'226, 62},
        {"resnet-cifar:filters=32:blocks=16-20-16", 6'421'306, 326},
        {"shake-shake:hidden=96:depth=26", 26'204'362, 216},
        // The first stage has as many filters as the first convolution, so its first block has no skip path.
        {"shake-shake:hidden=16", 737'418, 210},
        // One block in each stage instead of four; a further one has 9,408, 37,248 and 148,224 parameters, 16
        // tensors.
        {"shake-shake:hidden=16:depth=8", 737'418 - 3 * (9'408 + 37'248 + 148'224), 210 - 9 * 16}}) {
    const auto network = describe_model(setting(model, 3, 32, 10));
    EXPECT_EQ(network.parameters(), parameters) << model;
    EXPECT_EQ(std::ranges::count(network.tensors, false, &TensorDescription::statistic), tensors) << model;
  }
  EXPECT_EQ(describe_model(setting("resnet-cifar", 3, 32, 10)).parameters(),
            1'063'226 + 3 * 18'560 + 2 * 73'984 + 2 * 295'424)
      << "five blocks in each stage";
}

TEST(ModelZoo, FamiliesRefuseOptionsThatGiveNoNetwork) {
  for (const auto& [model, expected] :
       {std::pair("resnet-cifar:blocks=2-3", "three numbers from 1 to 200"),
        {"resnet-cifar:blocks=2-3-3-4", "three numbers from 1 to 200"},
        {"resnet-cifar:blocks=2-0-3", "three numbers from 1 to 200"},
        {"resnet-cifar:filters=15", "an even number"},
        {"resnet-cifar:filters=32:filters=16", "another OPTION=VALUE, found 'filters=16'"},
        {"resnet-cifar:32", "another OPTION=VALUE, found '32'"},
        {"resnet-cifar:width=32", "width"},
        {"shake-shake:hidden=20", "a multiple of 16"},
        {"shake-shake:depth=27", "2 more than a multiple of 6"},
        {"resnet32:blocks=2-2-2", "blocks"}}) {
    try {
      describe_model(setting(model, 3, 32, 10));
      ADD_FAILURE() << model << ": no error";
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  }
}

/// The first convolution is 3x3 instead of 7x7.
TEST(ModelZoo, SmallImagesHaveASmallerFirstConvolution) {
  const std::int64_t fewer = 64 * 3 * (49 - 9);
  for (const auto& [model, published] : {std::pair("resnet18", 11'689'512),
                                         {"resnet34", 21'797'672},
                                         {"resnet50", 25'557'032},
                                         {"resnet50-v2", 25'549'352},
                                         {"resnet101", 44'549'160},
                                         {"resnet152", 60'192'808}}) {
    EXPECT_EQ(describe_model(setting(model, 3, 63, 1000)).parameters(), published - fewer) << model;
    EXPECT_EQ(describe_model(setting(model, 3, 64, 1000)).parameters(), published) << model;
  }
}

TEST(ModelZoo, FashionMnistFitsModelsForSmallImages) {
  for (const auto& entry : model_catalog().entries()) {
    const auto wanted = setting(entry.name, 1, 28, 10);
    if (entry.name.starts_with("vgg") || entry.name == "alexnet" || entry.name == "inception-v3") {
      EXPECT_THROW(describe_model(wanted), ConfigError) << entry.name;
    } else {
      EXPECT_GT(describe_model(wanted).parameters(), 0) << entry.name;
    }
  }
}

TEST(ModelZoo, SmallestImagesMatchTheSummaries) {
  for (const auto& [model, side] :
       {std::pair("lenet", 16), {"alexnet", 63}, {"vgg11", 32}, {"inception-v3", 75}}) {
    EXPECT_NO_THROW(describe_model(setting(model, 3, side, 10))) << model;
    EXPECT_THROW(describe_model(setting(model, 3, side - 1, 10)), ConfigError) << model;
  }
}

TEST(ModelZoo, ErrorsNameTheLayerAndItsInput) {
  const auto error_of = [](const LearnerSetting& wanted) -> std::string {
    try {
      describe_model(wanted);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of(setting("alexnet", 1, 28, 10)),
            "model 'alexnet' does not accept images of 1x28x28: max pooling has a window of 3x3 pixels, but "
            "only 192x2x2 "
            "arrive there");
  EXPECT_EQ(error_of(setting("vgg16", 1, 28, 10)),
            "model 'vgg16' does not accept images of 1x28x28: max pooling has a window of 2x2 pixels, but "
            "only 512x1x1 "
            "arrive there");
}

TEST(ModelZoo, BucketsOfAnySizeCoverTheModel) {
  for (const auto& entry : model_catalog().entries()) {
    SCOPED_TRACE(entry.name);
    const auto whole = describe_model(setting(entry.name, 3, 96, 10));
    const auto cut = describe_model(setting(entry.name, 3, 96, 10, 1));
    EXPECT_EQ(whole.buckets.size(), 1U);
    EXPECT_GT(cut.buckets.size(), 2U);
    EXPECT_EQ(cut.elements(), whole.elements());
    EXPECT_EQ(cut.parameters(), whole.parameters());
    EXPECT_NEAR(cut.backward().count(), whole.backward().count(), 1e-9 * whole.backward().count());
    std::set<std::string> names;
    for (const auto& tensor : cut.tensors) EXPECT_TRUE(names.insert(tensor.name).second) << tensor.name;
  }
}

TEST(ModelZoo, NamesAreThoseOfTorchvision) {
  const auto has = [](const std::string& model, const std::string& name,
                      const std::vector<std::int64_t>& shape) {
    const auto description = describe_model(setting(model, 3, 96, 1000));
    return std::ranges::any_of(description.tensors, [&](const TensorDescription& tensor) {
      return tensor.name == name && tensor.shape == shape;
    });
  };
  EXPECT_TRUE(has("alexnet", "features.10.bias", {256}));
  EXPECT_TRUE(has("alexnet", "classifier.1.weight", {4096, 9216}));
  EXPECT_TRUE(has("vgg16", "features.28.weight", {512, 512, 3, 3}));
  EXPECT_TRUE(has("vgg11-bn", "features.26.running_var", {512}));
  EXPECT_TRUE(has("resnet50", "layer3.5.conv3.weight", {1024, 256, 1, 1}));
  EXPECT_TRUE(has("resnet50", "layer4.0.downsample.0.weight", {2048, 1024, 1, 1}));
  EXPECT_TRUE(has("mobilenet-v2", "features.1.conv.1.weight", {16, 32, 1, 1}));
  EXPECT_TRUE(has("mobilenet-v2", "features.17.conv.1.0.weight", {960, 1, 3, 3}));
  EXPECT_TRUE(has("mobilenet-v2", "features.18.0.weight", {1280, 320, 1, 1}));
  EXPECT_TRUE(has("inception-v3", "Mixed_6e.branch7x7dbl_5.conv.weight", {192, 192, 1, 7}));
  EXPECT_TRUE(has("inception-v3", "Mixed_7c.branch3x3dbl_3b.bn.running_mean", {384}));
}

TEST(ModelZoo, PlainDeepModelsUseReluInitialisation) {
  const auto plan = plan_model(setting("vgg11", 3, 32, 10));
  const auto values = initial_model(plan, 1);
  const auto& tensor = plan.description.tensors.at(2);
  ASSERT_EQ(tensor.name, "features.3.weight");
  double squares = 0.0;
  for (std::int64_t at = tensor.offset; at < tensor.offset + tensor.elements(); ++at)
    squares += std::pow(static_cast<double>(values[static_cast<std::size_t>(at)]), 2);
  EXPECT_NEAR(squares / static_cast<double>(tensor.elements()), 2.0 / (64 * 9), 0.02 * 2.0 / (64 * 9));
}

/// VGG-16 by hand, in whole layers. PyTorch 1.13 and 2.x make 16,388,000 / 67,125,248 / 411,058,176 /
/// 28,315,648 / 28,320,768 / 2,222,336 bytes: it closes buckets between the weights and the biases of a
/// layer.
TEST(Buckets, ASmallFirstOneThenThoseOfDdp) {
  LearnerSetting ddp = setting("vgg16", 3, 224, 1000, 25 << 20);
  ddp.first_bucket_bytes = Bytes(1 << 20);
  const auto sizes_of = [](const LearnerSetting& wanted) {
    std::vector<std::int64_t> sizes;
    for (const auto& bucket : describe_model(wanted).buckets) sizes.push_back(bucket.bytes().count());
    return sizes;
  };
  const auto conv = [](std::int64_t in, std::int64_t out) { return 4 * (9 * in * out + out); };
  const std::int64_t last = 4 * (4096 * 1000 + 1000), second = 4 * (4096 * 4096 + 4096);
  const std::int64_t first = 4 * (25088LL * 4096 + 4096);
  const std::vector<std::int64_t> after = {
      first, 3 * conv(512, 512), 2 * conv(512, 512) + conv(256, 512) + 2 * conv(256, 256),
      conv(128, 256) + conv(128, 128) + conv(64, 128) + conv(64, 64) + conv(3, 64)};
  std::vector<std::int64_t> expected = {last, second};
  expected.insert(expected.end(), after.begin(), after.end());
  EXPECT_EQ(sizes_of(ddp), expected);
  EXPECT_EQ(expected, (std::vector<std::int64_t>{16'388'000, 67'125'248, 411'058'176, 28'317'696, 28'319'744,
                                                 2'221'312}));
  // As the others: the last two layers together.
  ddp.first_bucket_bytes = Bytes(0);
  expected.erase(expected.begin());
  expected[0] += last;
  EXPECT_EQ(sizes_of(ddp), expected);
  // A small one, and all others in one.
  ddp.bucket_bytes = Bytes(0);
  ddp.first_bucket_bytes = Bytes(1 << 20);
  EXPECT_EQ(sizes_of(ddp), (std::vector<std::int64_t>{last, 553'430'176 - last}));
}

/// Buckets of PyTorch's DistributedDataParallel, in bytes: of traces and of runs of PyTorch 1.13 with gloo.
struct DdpBuckets {
  std::string model;
  std::vector<std::int64_t> bytes;
};
void PrintTo(const DdpBuckets& value, std::ostream* out) { *out << value.model; }

class Ddp : public ::testing::TestWithParam<DdpBuckets> {};

TEST_P(Ddp, BucketsAreThoseOfPyTorch) {
  const ModelDescription layers = plan_model(setting(GetParam().model, 3, 224, 1000, 1)).description;
  const ModelDescription model = in_ddp_buckets(layers, {.others = Bytes(25 << 20), .first = Bytes(1 << 20)});
  std::vector<std::int64_t> bytes;
  for (const auto& bucket : model.buckets) bytes.push_back(bucket.bytes().count());
  EXPECT_EQ(bytes, GetParam().bytes);
  EXPECT_EQ(model.parameters(), layers.parameters());
  EXPECT_NEAR(model.backward() / layers.backward(), 1.0, 1e-12);
  EXPECT_NEAR(model.forward() / layers.forward(), 1.0, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(
    PyTorch, Ddp,
    ::testing::Values(DdpBuckets{"resnet18", {2'052'000, 28'852'224, 15'853'824}},
                      DdpBuckets{"resnet50", {8'196'000, 31'502'336, 26'255'360, 26'550'272, 9'724'160}},
                      DdpBuckets{"vgg16",
                                 {16'388'000, 67'125'248, 411'058'176, 28'315'648, 28'320'768, 2'222'336}},
                      DdpBuckets{"mobilenet-v2", {5'124'000, 8'895'488}}),
    [](const auto& info) {
      std::string name = info.param.model;
      std::erase(name, '-');
      return name;
    });

}  // namespace TANDEM_FILE
}  // namespace tandem
