// Models of listed tensors, and what their busiest shard has under each sharding policy: closed forms.
#include "workloads/job/check/shard_shares.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/paths.hpp"
#include "workloads/experiment/tensor_list.hpp"
#include "workloads/job/plan/replica_plan.hpp"
#include "workloads/learner/learner.hpp"

namespace tandem {
namespace TANDEM_FILE {

using Texts = std::vector<std::string>;

ModelDescription model_of(const Texts& tensors, std::int64_t bucket_bytes) {
  Experiment experiment;
  experiment.workload.model = "synthetic";
  experiment.workload.synthetic_tensors = tensors;
  experiment.workload.synthetic_forward = Flops(1000);
  experiment.workload.synthetic_backward = Flops(3000);
  experiment.workload.bucket_bytes = Bytes(bucket_bytes);
  const DatasetInfo images{.name = "images", .channels = 1, .height = 28, .width = 28, .classes = 10};
  return *plan_replica(experiment, images, false).description;
}

/// One of 4 MB before eight of 1 kB.
Texts one_large() {
  Texts tensors{"4MB"};
  tensors.insert(tensors.end(), 8, "1kB");
  return tensors;
}

std::vector<ShardShares> shares(const ModelDescription& model, const std::string& policy, int shards) {
  const auto& entry = sharding::catalog().find(policy);
  const Options options = Options::resolve(policy, entry.options, {});
  return shares_of_policies(model, lay_out_shards(model, entry.make, shards, options), policy);
}

// ---- Models of tensors ----

TEST(ModelsOfTensors, HaveThemInForwardOrderAndBucketsInBackwardOrder) {
  const ModelDescription model = model_of({"400B", "800B last", "4B", "396B", "1200B"}, 800);
  ASSERT_EQ(model.tensors.size(), 5U);
  EXPECT_EQ(model.tensors[0].name, "tensor-1");
  EXPECT_EQ(model.tensors[1].name, "last");
  EXPECT_EQ(model.tensors[1].shape, std::vector<std::int64_t>{200});
  // From the last tensor on, as soon as 800 bytes are gathered.
  ASSERT_EQ(model.buckets.size(), 3U);
  const std::vector<std::int64_t> parameters = {300, 300, 100};
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(model.buckets[i].parameters, parameters[i]);
    EXPECT_EQ(model.buckets[i].offset, offset);
    offset += parameters[i];
  }
  const std::vector<std::int64_t> offsets = {600, 300, 500, 501, 0};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(model.tensors[i].offset, offsets[i]) << i;
}

TEST(ModelsOfTensors, DivideTheirWorkBySize) {
  const ModelDescription model = model_of({"400B", "1200B", "400B"}, 4);
  ASSERT_EQ(model.buckets.size(), 3U);
  EXPECT_DOUBLE_EQ(model.buckets[1].forward.count(), 600);
  EXPECT_DOUBLE_EQ(model.buckets[1].backward.count(), 1800);
  EXPECT_DOUBLE_EQ(model.forward().count(), 1000);
}

TEST(ModelsOfTensors, HaveTheWorkThatTheyState) {
  const ModelDescription model = model_of({"400B a 7 8", "1200B", "400B b 1 2"}, 1600);
  ASSERT_EQ(model.buckets.size(), 2U);
  EXPECT_EQ(model.buckets[0].forward.count(), 1);
  EXPECT_EQ(model.buckets[0].backward.count(), 2);
  EXPECT_EQ(model.buckets[1].forward.count(), 7);
  EXPECT_EQ(model.backward().count(), 10);
}

/// The shipped file has the tensors of the catalogue's VGG-16, in the same buckets. Its work leaves out what
/// layers without parameters compute, and biases.
TEST(ModelsOfTensors, AreThoseOfTheCatalogue) {
  Texts texts;
  for (const auto& tensor : read_tensor_file(testing::source_folder() + "/workloads/studies/vgg16.tensors"))
    texts.push_back(to_text(tensor));
  const DatasetInfo photographs{
      .name = "photographs", .channels = 3, .height = 224, .width = 224, .classes = 1000};
  const ModelDescription known = describe_model(
      {.model = "vgg16", .dataset = photographs, .bucket_bytes = Bytes(std::int64_t{1} << 20)});
  const ModelDescription listed = model_of(texts, std::int64_t{1} << 20);
  EXPECT_EQ(listed.parameters(), 138'357'544);
  ASSERT_EQ(listed.tensors.size(), known.tensors.size());
  for (std::size_t i = 0; i < known.tensors.size(); ++i) {
    EXPECT_EQ(listed.tensors[i].name, known.tensors[i].name);
    EXPECT_EQ(listed.tensors[i].elements(), known.tensors[i].elements()) << known.tensors[i].name;
  }
  EXPECT_NEAR(listed.forward() / known.forward(), 1, 0.01);
  EXPECT_NEAR(listed.backward() / known.backward(), 1, 0.01);
  for (const auto& policy : {"round-robin", "balanced"})
    for (const int shards : {2, 4})
      EXPECT_EQ(shares(listed, policy, shards).front().bytes.amount,
                shares(known, policy, shards).front().bytes.amount)
          << policy;
  EXPECT_NEAR(shares(listed, "balanced", 4).front().bytes.share(), 0.743, 0.0005);
  const auto better = better_policy(shares(listed, "balanced", 4));
  ASSERT_TRUE(better);
  EXPECT_NEAR(better->bytes.share(), 0.25, 0.005);
}

// ---- Shares ----

struct Expected {
  double bytes;
  int byte_shard;
  double messages;
  int message_shard;
};

class SharesOfOneLargeTensor : public ::testing::TestWithParam<std::pair<std::int64_t, int>> {
 protected:
  void expect(const std::map<std::string, Expected>& expected) const {
    const auto [bucket_bytes, shards] = GetParam();
    const ModelDescription model = model_of(one_large(), bucket_bytes);
    ASSERT_EQ(expected.size(), sharding::catalog().names().size());
    for (const auto& [policy, own] : expected) {
      const ShardShares found = shares(model, policy, shards).front();
      EXPECT_EQ(found.policy, policy);
      EXPECT_DOUBLE_EQ(found.bytes.share(), own.bytes) << policy;
      EXPECT_EQ(found.bytes.shard, own.byte_shard) << policy;
      EXPECT_EQ(found.bytes.total, 4'008'000) << policy;
      EXPECT_DOUBLE_EQ(found.messages.share(), own.messages) << policy;
      EXPECT_EQ(found.messages.shard, own.message_shard) << policy;
    }
  }
};
class OneBucketPerTensor : public SharesOfOneLargeTensor {};
class OneBucket : public SharesOfOneLargeTensor {};

/// The large tensor is in the last bucket, whose message every shard sends for its note.
TEST_P(OneBucketPerTensor, AreClosedForms) {
  constexpr double all = 4008;
  if (GetParam().second == 2)
    expect({{"even", {0.5, 0, 9.0 / 18, 0}},
            {"round-robin", {4004 / all, 0, 5.0 / 10, 0}},
            {"balanced", {4000 / all, 0, 9.0 / 10, 1}},
            {"split", {0.5, 0, 5.0 / 10, 0}}});
  else
    expect({{"even", {(1000 + 8 * 0.252) / all, 0, 9.0 / 36, 0}},  // 63 of 250 elements
            {"round-robin", {4002 / all, 0, 3.0 / 12, 0}},
            {"balanced", {4000 / all, 0, 4.0 / 12, 1}},
            {"split", {0.25, 0, 3.0 / 12, 0}}});
}
INSTANTIATE_TEST_SUITE_P(Shards, OneBucketPerTensor, ::testing::Values(std::pair(4, 2), std::pair(4, 4)));

/// Tensors that are neighbours on a shard travel in one message.
TEST_P(OneBucket, AreClosedForms) {
  constexpr double all = 4008;
  if (GetParam().second == 2)
    expect({{"even", {0.5, 0, 1.0 / 2, 0}},
            {"round-robin", {4004 / all, 0, 5.0 / 9, 0}},
            {"balanced", {4000 / all, 0, 1.0 / 2, 0}},
            {"split", {0.5, 0, 5.0 / 10, 0}}});
  else
    expect({{"even", {0.25, 0, 1.0 / 4, 0}},
            {"round-robin", {4002 / all, 0, 3.0 / 9, 0}},
            {"balanced", {4000 / all, 0, 3.0 / 9, 1}},
            {"split", {0.25, 0, 3.0 / 12, 0}}});
}
INSTANTIATE_TEST_SUITE_P(Shards, OneBucket, ::testing::Values(std::pair(0, 2), std::pair(0, 4)));

TEST(ShardShares, OfAllPoliciesBeginWithTheChosenOne) {
  std::string order;
  for (const auto& own : shares(model_of(one_large(), 4), "balanced", 2)) order += own.policy + ' ';
  EXPECT_EQ(order, "balanced even round-robin split ");
}

// ---- The policy to prefer ----

std::string better(const ModelDescription& model, const std::string& policy, int shards) {
  const auto found = better_policy(shares(model, policy, shards));
  return found ? found->policy : "none";
}

/// Of two that spread the large tensor, the one with fewer messages at its busiest shard.
TEST(BetterPolicy, SpreadsALargeTensor) {
  for (const int shards : {2, 4}) {
    EXPECT_EQ(better(model_of(one_large(), 4), "round-robin", shards), "split");
    EXPECT_EQ(better(model_of(one_large(), 4), "balanced", shards), "split");
    EXPECT_EQ(better(model_of(one_large(), 0), "round-robin", shards), "even");
    EXPECT_EQ(better(model_of(one_large(), 4), "even", shards), "none");
    EXPECT_EQ(better(model_of(one_large(), 4), "split", shards), "none");
  }
  EXPECT_EQ(better(model_of(one_large(), 4), "round-robin", 1), "none");
}

/// 500 of 1,000 elements are one tensor between others, which the layout leaves there because their sizes
/// have the same power of two: two messages on one shard, one on the other.
TEST(BetterPolicy, HasFewerMessagesWhereBytesAreEven) {
  const ModelDescription model = model_of({"400B", "2000B", "400B", "400B", "400B", "400B"}, 0);
  const auto own = shares(model, "balanced", 2);
  EXPECT_DOUBLE_EQ(own.front().bytes.share(), 0.5);
  EXPECT_DOUBLE_EQ(own.front().messages.share(), 2.0 / 3);
  EXPECT_EQ(better(model, "balanced", 2), "even");
  EXPECT_EQ(
      warning_of_shares(own, {"a", "b"}),
      "with sync.sharding: balanced the busiest of 2 shards, shard 1 on host 'b', has 66.7 % of the messages "
      "of a push, where an even share is 50.0 %; with sync.sharding: even the busiest shard has 50.0 % of "
      "the "
      "bytes instead of 50.0 %, and 1 of 2 messages instead of 2 of 3");
}

/// More messages for all are no gain: 11 messages of 12, where even has 11 of 22.
TEST(BetterPolicy, IsNotOneWithAsManyMessagesAtItsBusiestShard) {
  Texts tensors{"4000B"};
  tensors.insert(tensors.end(), 10, "400B");
  const ModelDescription model = model_of(tensors, 4);
  EXPECT_DOUBLE_EQ(shares(model, "balanced", 2).front().messages.share(), 11.0 / 12);
  EXPECT_EQ(better(model, "balanced", 2), "none");
}

/// 1.25 times an even share is even enough, and less than a tenth less is not clearly less.
TEST(BetterPolicy, IsClearlyBetter) {
  EXPECT_EQ(better(model_of({"2500B", "1500B"}, 0), "round-robin", 2), "none");
  EXPECT_EQ(better(model_of({"2520B", "1480B"}, 0), "round-robin", 2), "even");
}

// ---- What is recorded and printed ----

TEST(ShardShares, AreDescribed) {
  const std::vector<std::string> hosts = {"a", "b"};
  const auto described = describe_shares(shares(model_of(one_large(), 4), "balanced", 2), hosts);
  EXPECT_EQ(described.at("busiest").at("bytes").at("host"), "a");
  EXPECT_EQ(described.at("busiest").at("messages").at("host"), "b");
  EXPECT_EQ(described.at("busiest").at("messages").at("shard"), 1);
  EXPECT_DOUBLE_EQ(described.at("busiest").at("messages").at("share").get<double>(), 0.9);
  EXPECT_EQ(described.at("others").size(), 3U);
  EXPECT_EQ(described.at("others").at(0).dump(), R"({"bytes":0.5,"messages":0.5,"policy":"even"})");
  EXPECT_EQ(
      described.at("busiest_summary"),
      "99.8 % of the bytes (shard 0 on host 'a') and 90.0 % of the messages (shard 1 on host 'b'); with even "
      "50.0 % and 50.0 %, with round-robin 99.9 % and 50.0 %, with split 50.0 % and 50.0 %");
  EXPECT_EQ(warning_of_shares(shares(model_of(one_large(), 4), "even", 2), hosts), "");
  EXPECT_EQ(
      warning_of_shares(shares(model_of(one_large(), 4), "round-robin", 2), hosts),
      "with sync.sharding: round-robin the busiest of 2 shards, shard 0 on host 'a', has 99.9 % of the bytes "
      "of a push, where an even share is 50.0 %; with sync.sharding: split the busiest shard has 50.0 % of "
      "the "
      "bytes instead of 99.9 %, and 5 of 10 messages instead of 5 of 10");
}

}  // namespace TANDEM_FILE
}  // namespace tandem
