// Features of models against counts by hand.
#include "workloads/model/features.hpp"

#include <gtest/gtest.h>

namespace tandem {
namespace TANDEM_FILE {

ModelFeatures features(const std::string& model, int channels, int side) {
  LearnerSetting setting;
  setting.model = model;
  setting.dataset = {.name = "test", .channels = channels, .height = side, .width = side, .classes = 10};
  return features_of(plan_model(setting));
}

/// 784 pixels, two layers of 200 with ReLU, 10 classes. The first layer's inputs need no gradient: two
/// passes.
TEST(ModelFeatures, OfThePerceptronByHand) {
  const ModelFeatures mlp = features("mlp", 1, 28);
  ASSERT_EQ(mlp.kinds.size(), 2U);
  const KindOfWork& linear = mlp.kinds[0];
  EXPECT_EQ(linear.kind, LayerKind::linear);
  EXPECT_EQ(linear.layers, 3);
  EXPECT_DOUBLE_EQ(linear.flops.count(), 2.0 * (2 * 784 * 200 + 3 * 200 * 200 + 3 * 200 * 10));
  EXPECT_EQ(linear.bytes, Bytes(4 * (2 * (784 + 200) + 3 * (200 + 200) + 3 * (200 + 10))));
  EXPECT_EQ(linear.parameter_bytes,
            Bytes(4 * (2 * (784 * 200 + 200) + 3 * (200 * 200 + 200) + 3 * (200 * 10 + 10))));
  EXPECT_EQ(linear.launches, 2 + 3 + 3);
  EXPECT_EQ(mlp.kinds[1].kind, LayerKind::activation);
  EXPECT_EQ(mlp.elementwise_bytes, Bytes(2 * 2 * 4 * (200 + 200)));
  EXPECT_EQ(mlp.launches, linear.launches + 2 * 2);
  EXPECT_EQ(mlp.parameters, 199'210);
  EXPECT_EQ(mlp.tensors, 6);
  EXPECT_EQ(mlp.checkpoint_bytes, Bytes(4 * 199'210));
  EXPECT_EQ(mlp.optimizer_bytes, Bytes(5 * 4 * 199'210));
  const auto layers = layers_of(mlp, 8);
  ASSERT_EQ(layers.size(), 6U) << "three products, two ReLUs and the optimiser";
  EXPECT_DOUBLE_EQ(layers[0].flops, 8 * 2.0 * 2 * 784 * 200);
  EXPECT_DOUBLE_EQ(layers[0].bytes, 4.0 * 2 * (8 * (784 + 200) + 784 * 200 + 200));
  EXPECT_DOUBLE_EQ(layers[0].launches, 2);
  EXPECT_DOUBLE_EQ(layers.back().bytes, 5 * 4 * 199'210);
  EXPECT_DOUBLE_EQ(layers.back().flops, 0);
}

/// One block in each stage, without a projection in the first one: hidden is the number of its inputs.
TEST(ModelFeatures, OfBlocksCountTheSumAtTheirEnd) {
  const ModelFeatures network = features("shake-shake:hidden=16:depth=8", 3, 32);
  const auto of = [&](LayerKind kind) {
    for (const KindOfWork& work : network.kinds)
      if (work.kind == kind) return work;
    ADD_FAILURE() << to_text(kind);
    return KindOfWork{.kind = kind};
  };
  const std::int64_t outputs = 16 * 32 * 32 + 32 * 16 * 16 + 64 * 8 * 8;  // of the three blocks
  EXPECT_EQ(of(LayerKind::sum).layers, 3);
  EXPECT_EQ(of(LayerKind::sum).bytes, Bytes(2 * 4 * (3 + 1) * outputs))
      << "shortcut and two branches are read";
  EXPECT_EQ(of(LayerKind::convolution).layers, 1 + 3 * 4 + 2 * 2);
  EXPECT_EQ(of(LayerKind::normalisation).layers, 1 + 3 * 4 + 2);
  EXPECT_EQ(of(LayerKind::copy).layers, 2 * 2) << "a shift and a concatenation for each skip path";
}

/// Counted by a script that knows the networks layer by layer.
TEST(ModelFeatures, OfFamilies) {
  const ModelFeatures resnet = features("resnet-cifar:blocks=2-3-3", 3, 32);
  EXPECT_DOUBLE_EQ(resnet.matrix_flops.count(), 840'113'664.0);
  EXPECT_EQ(resnet.elementwise_bytes, Bytes(19'792'896));
  EXPECT_EQ(resnet.launches, 154);
  const ModelFeatures shake = features("shake-shake:hidden=16", 3, 32);
  EXPECT_DOUBLE_EQ(shake.matrix_flops.count(), 654'511'872.0);
  EXPECT_EQ(shake.elementwise_bytes, Bytes(28'180'992));
  EXPECT_EQ(shake.launches, 403);
}

/// The flops by kind are those of the description.
TEST(ModelFeatures, HaveAllFlopsOfTheModel) {
  for (const char* name : {"resnet-cifar:blocks=1-2-1", "shake-shake", "mobilenet-v2", "resnet18"}) {
    LearnerSetting setting;
    setting.model = name;
    setting.dataset = {.name = "test", .channels = 3, .height = 32, .width = 32, .classes = 10};
    const ModelPlan plan = plan_model(setting);
    double flops = 0.0;
    for (const KindOfWork& kind : features_of(plan).kinds) flops += kind.flops.count();
    EXPECT_DOUBLE_EQ(flops, (plan.description.forward() + plan.description.backward()).count()) << name;
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
