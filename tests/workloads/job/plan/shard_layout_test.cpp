// The messages of each shard: together they cover the exchanged part of the model; adjacent pieces share one
// message, and there is always a message for the note.
#include "workloads/job/plan/shard_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "policies/vocabulary/rng.hpp"
#include "tests/support/seeds.hpp"
#include "workloads/learner/learner.hpp"

namespace tandem {
namespace TANDEM_FILE {

ShardLayout lay_out(const ModelDescription& model, const std::string& name, int shards,
                    const std::map<std::string, OptionValue>& options = {}) {
  const auto& policy = sharding::catalog().find(name);
  return lay_out_shards(model, policy.make, shards, Options::resolve(name, policy.options, options));
}

ModelDescription zoo_model(const std::string& name, std::int64_t bucket_bytes, bool shares_statistics) {
  const DatasetInfo images{.name = "images", .channels = 3, .height = 32, .width = 32, .classes = 10};
  ModelDescription model =
      describe_model({.model = name, .dataset = images, .bucket_bytes = Bytes(bucket_bytes)});
  for (auto& bucket : model.buckets) bucket.shares_statistics = shares_statistics;
  return model;
}

/// An exchanged element of the flat layout: its bucket, and whether it is trained.
struct Element {
  int bucket = -1;
  bool trained = false;
  bool operator==(const Element&) const = default;
};
std::vector<Element> travelling(const ModelDescription& model) {
  std::vector<Element> elements(static_cast<std::size_t>(model.elements()));
  for (std::size_t index = 0; index < model.buckets.size(); ++index) {
    const auto& bucket = model.buckets[index];
    for (std::int64_t at = 0; at < bucket.exchanged(); ++at)
      elements[static_cast<std::size_t>(bucket.offset + at)] = {static_cast<int>(index),
                                                                at < bucket.parameters};
  }
  return elements;
}

void expect_sound(const ModelDescription& model, const ShardLayout& layout) {
  std::vector<Element> carried(static_cast<std::size_t>(model.elements()));
  std::int64_t sum = 0, held_twice = 0;
  for (const ShardPieces& pieces : layout) {
    ASSERT_FALSE(pieces.empty());
    const auto whole = keys_of(pieces, false);
    ASSERT_EQ(whole.size(), 1U);
    EXPECT_EQ(whole.front().last, pieces.size() - 1);
    std::size_t next = 0;
    int bucket = -1;
    for (const ShardKey& key : keys_of(pieces, true)) {
      EXPECT_EQ(key.first, next);
      EXPECT_GT(pieces[key.first].bucket, bucket) << "a key for each bucket";
      bucket = pieces[key.first].bucket;
      for (std::size_t piece = key.first; piece <= key.last; ++piece) EXPECT_EQ(pieces[piece].bucket, bucket);
      next = key.last + 1;
    }
    EXPECT_EQ(next, pieces.size());
    EXPECT_EQ(pieces.back().bucket, static_cast<int>(model.buckets.size()) - 1);
    std::int64_t held = 0;
    for (const ShardPiece& piece : pieces) {
      EXPECT_TRUE(piece.elements > 0 || &piece == &pieces.back());
      EXPECT_EQ(piece.shard_offset, held);
      held += piece.elements;
      for (std::int64_t at = 0; at < piece.elements; ++at) {
        Element& element = carried.at(static_cast<std::size_t>(piece.flat_offset + at));
        if (element.bucket != -1) ++held_twice;
        element = {piece.bucket, at < piece.parameters};
      }
    }
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      EXPECT_LE(pieces[i - 1].bucket, pieces[i].bucket);
      const bool touches = pieces[i - 1].flat_offset + pieces[i - 1].elements == pieces[i].flat_offset;
      EXPECT_FALSE(touches && pieces[i - 1].bucket == pieces[i].bucket && pieces[i].elements > 0);
    }
    EXPECT_EQ(shard_elements(pieces), held);
    sum += 4 * held;
  }
  std::int64_t travels = 0;
  for (const auto& bucket : model.buckets) travels += bucket.bytes().count();
  EXPECT_EQ(sum, travels);
  EXPECT_EQ(held_twice, 0);
  EXPECT_TRUE(carried == travelling(model));
}

class EverySharding : public ::testing::TestWithParam<std::string> {};

TEST_P(EverySharding, CoversTheExchangedPartOnce) {
  for (const char* name : {"mlp", "lenet", "mobilenet-v2"})
    for (const std::int64_t bucket_bytes : {0, 1 << 16, 1 << 20})
      for (const bool statistics : {true, false})
        for (const int shards : {1, 2, 3, 8, 70}) {
          SCOPED_TRACE(name + (" " + std::to_string(bucket_bytes)) + ' ' + std::to_string(shards));
          const ModelDescription model = zoo_model(name, bucket_bytes, statistics);
          expect_sound(model, lay_out(model, GetParam(), shards));
        }
}

TEST_P(EverySharding, CoversModelsWithoutTensors) {
  for (const auto seed : testing::seeds(100)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    ModelDescription model{.name = "synthetic", .tensors = {}, .buckets = {}};
    for (auto count = 1 + rng.below(5); count > 0; --count)
      model.buckets.push_back({.offset = model.elements(),
                               .parameters = static_cast<std::int64_t>(1 + rng.below(50)),
                               .forward = Flops(1),
                               .backward = Flops(1)});
    expect_sound(model, lay_out(model, GetParam(), 1 + static_cast<int>(rng.below(7))));
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EverySharding, ::testing::ValuesIn(sharding::catalog().names()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// A model with one bucket of three tensors.
ModelDescription three_tensors() {
  ModelDescription model{.name = "three", .tensors = {}, .buckets = {}};
  model.buckets.push_back({.parameters = 9, .forward = Flops(1), .backward = Flops(1)});
  std::int64_t at = 0;
  for (const std::int64_t size : {4, 3, 2}) {
    model.tensors.push_back({.name = "t", .shape = {size}, .offset = at});
    at += size;
  }
  return model;
}

TEST(ShardLayout, JoinsAdjacentPiecesInOneMessage) {
  const auto alone = lay_out(three_tensors(), "round-robin", 1);
  ASSERT_EQ(alone.front().size(), 1U);
  EXPECT_EQ(alone.front().front().elements, 9);
  // The first and the last tensor are on shard 0, the one between them on shard 1.
  const auto two = lay_out(three_tensors(), "round-robin", 2);
  ASSERT_EQ(two[0].size(), 2U);
  EXPECT_EQ(two[0][1].flat_offset, 7);
  EXPECT_EQ(two[0][1].shard_offset, 4);
  EXPECT_EQ(two[1].size(), 1U);
}

TEST(ShardLayout, CountsTheTensorsOfEachShard) {
  const ModelDescription three = three_tensors();
  const auto counts = [](const ShardLayout& layout, const ModelDescription& model) {
    std::vector<int> all;
    for (const auto& pieces : layout) all.push_back(tensors_in(pieces, model));
    return all;
  };
  EXPECT_EQ(counts(lay_out(three, "round-robin", 1), three), (std::vector{3})) << "in one message";
  EXPECT_EQ(counts(lay_out(three, "round-robin", 2), three), (std::vector{2, 1}));
  EXPECT_EQ(counts(lay_out(three, "round-robin", 4), three), (std::vector{1, 1, 1, 0}));
  // Elements 0 to 4 (of 9) are those of the first tensor and one of the second.
  EXPECT_EQ(counts(lay_out(three, "even", 2), three), (std::vector{2, 2}));
  ModelDescription sizes{.name = "sizes", .tensors = {}, .buckets = {}};
  for (const std::int64_t offset : {0, 10})
    sizes.buckets.push_back({.offset = offset, .parameters = 10, .forward = Flops(1), .backward = Flops(1)});
  EXPECT_EQ(counts(lay_out(sizes, "even", 2), sizes), (std::vector{2, 2}));
  EXPECT_EQ(counts(lay_out(sizes, "round-robin", 2), sizes), (std::vector{1, 1}));
  // Statistics that are not exchanged are in no message.
  const ModelDescription normalised = zoo_model("mobilenet-v2", 1 << 20, false);
  const auto trained = std::ranges::count_if(normalised.tensors, [](const auto& t) { return !t.statistic; });
  const auto of_shards = counts(lay_out(normalised, "round-robin", 3), normalised);
  EXPECT_EQ(of_shards[0] + of_shards[1] + of_shards[2], trained);
}

TEST(ShardLayout, AnEmptyShardHasAMessageForItsNote) {
  const auto layout = lay_out(three_tensors(), "round-robin", 4);
  ASSERT_EQ(layout[3].size(), 1U);
  EXPECT_EQ(layout[3].front().elements, 0);
  EXPECT_EQ(describe_shards(layout, "round-robin").at("bytes").dump(), "[16,12,8,0]");
}

TEST(ShardLayout, ReportsItsLargestShard) {
  const auto described = describe_shards(lay_out(three_tensors(), "balanced", 2), "balanced");
  EXPECT_EQ(described.at("bytes").dump(), "[16,20]");
  EXPECT_DOUBLE_EQ(described.at("largest_over_mean").get<double>(), 20.0 / 18);
  EXPECT_EQ(described.at("summary"), "balanced on 2 shards, the largest 1.11 times their mean");
}

}  // namespace TANDEM_FILE
}  // namespace tandem
