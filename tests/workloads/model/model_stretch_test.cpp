// Parts of stretches: tensors as matrices, whole rows of tensors that are split, squares if there are no
// tensors.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "policies/collectives/schedule.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/model/stretch.hpp"

namespace tandem {
namespace TANDEM_FILE {

using Extents = std::vector<std::vector<std::int64_t>>;

Extents parts_of(const ModelDescription& model, std::int64_t begin, std::int64_t elements) {
  Extents extents;
  for (const auto& part : stretch_of(model, begin, elements).parts)
    extents.push_back({part.begin, part.rows, part.columns});
  return extents;
}

/// A convolution of 4 x (3 x 2 x 2), its bias, then a statistic, and a layer of 5 x 4 in another bucket.
ModelDescription small_model() {
  ModelDescription model{.name = "small", .tensors = {}, .buckets = {}};
  model.tensors = {{"layer", {5, 4}, false, 56},
                   {"convolution", {4, 3, 2, 2}, false, 0},
                   {"bias", {4}, false, 48},
                   {"mean", {4}, true, 52}};
  return model;
}

TEST(Stretches, AreTheTensorsOfABucket) {
  EXPECT_EQ(parts_of(small_model(), 0, 52), (Extents{{0, 4, 12}, {48, 1, 4}}));
  EXPECT_EQ(parts_of(small_model(), 56, 20), (Extents{{0, 5, 4}}));
  EXPECT_EQ(parts_of(small_model(), 56, 0), Extents{});
  EXPECT_EQ(stretch_of(small_model(), 56, 20).position, 56);
}

TEST(Stretches, ThatSplitATensorKeepWholeRows) {
  EXPECT_EQ(parts_of(small_model(), 0, 26), (Extents{{0, 2, 12}, {24, 1, 2}}));
  EXPECT_EQ(parts_of(small_model(), 26, 26), (Extents{{0, 1, 10}, {10, 1, 12}, {22, 1, 4}}));
  EXPECT_EQ(parts_of(small_model(), 10, 40), (Extents{{0, 1, 2}, {2, 3, 12}, {38, 1, 2}}));
  EXPECT_EQ(parts_of(small_model(), 57, 2), (Extents{{0, 1, 2}}));
}

TEST(Stretches, OfAModelWithoutTensorsAreNearlySquare) {
  const ModelDescription model{.name = "synthetic", .tensors = {}, .buckets = {}};
  EXPECT_EQ(parts_of(model, 0, 100), (Extents{{0, 10, 10}}));
  EXPECT_EQ(parts_of(model, 500, 107), (Extents{{0, 10, 10}, {100, 1, 7}}));
  EXPECT_EQ(parts_of(model, 0, 1), (Extents{{0, 1, 1}}));
  EXPECT_EQ(parts_of(model, 0, 0), Extents{});
}

TEST(Stretches, OfAllShardsCoverRealModels) {
  for (const char* name : {"lenet", "resnet18", "mobilenet-v2"}) {
    DatasetInfo images;
    images.channels = 1;
    images.height = images.width = 28;
    images.classes = 10;
    const auto model = describe_model({.model = name, .dataset = images, .bucket_bytes = Bytes(1 << 18)});
    for (const auto& bucket : model.buckets)
      for (int shard = 0; shard < 3; ++shard) {
        const auto piece = collectives::part_of(bucket.parameters, 3, shard);
        const auto stretch = stretch_of(model, bucket.offset + piece.begin, piece.size());
        const auto sum = std::accumulate(stretch.parts.begin(), stretch.parts.end(), std::int64_t{0},
                                         [](auto so_far, const auto& part) { return so_far + part.size(); });
        EXPECT_EQ(sum, piece.size()) << name;
      }
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
