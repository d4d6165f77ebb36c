// Batches as they are stored become records: images are decoded, and training images are augmented.
#include "workloads/roles/batch_decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/workloads/data/image_files.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class BatchDecoding : public ::testing::Test {
 protected:
  BatchDecoding() { write_image_folder(folder_); }

  DataPlan plan(const std::map<std::string, OptionValue>& augment = {}) const {
    Experiment experiment;
    experiment.workload.math = Math::real;
    experiment.workload.dataset = "folder";
    experiment.workload.dataset_directory = folder_.path().string();
    experiment.data.augment = augment;
    experiment.data.decode_threads = threads_;
    return {experiment, ResolvedExperiment(experiment), 1, ""};
  }
  /// The samples of a batch, one after another.
  std::vector<std::byte> stored(const DataPlan& data) const {
    std::vector<std::byte> bytes;
    for (const SampleId id : ids_) {
      const auto& source = *data.samples()->train.source;
      std::vector<std::byte> sample(static_cast<std::size_t>(source.size(id).count()));
      source.read(id, sample);
      bytes.insert(bytes.end(), sample.begin(), sample.end());
    }
    return bytes;
  }
  std::vector<std::byte> records(const DataPlan& data) const {
    std::vector<std::byte> bytes;
    for (const SampleId id : ids_) {
      const auto record = data.dataset()->record(Dataset::Part::train, id);
      bytes.insert(bytes.end(), record.begin(), record.end());
    }
    return bytes;
  }
  std::vector<std::byte> decoded(const DataPlan& data, bool from_storage) const {
    BatchDecoder decoder(data, from_storage);
    const auto bytes = from_storage ? stored(data) : records(data);
    const auto room = decoder.make_room(static_cast<int>(ids_.size()));
    decoder.decode(
        {.samples = static_cast<int>(ids_.size()), .stored = bytes, .ids = ids_, .epochs = epochs_});
    return {room.begin(), room.end()};
  }

  TemporaryFolder folder_;
  int threads_ = 1;
  std::vector<SampleId> ids_ = {3, 0, 4, 1, 3};
  std::vector<std::int32_t> epochs_ = {0, 0, 0, 0, 1};
};

TEST_F(BatchDecoding, ImagesFromStorageBecomeTheRecordsThatMemoryHas) {
  const DataPlan data = plan();
  EXPECT_FALSE(BatchDecoder(data, false).is_needed());
  ASSERT_TRUE(BatchDecoder(data, true).is_needed());
  EXPECT_EQ(decoded(data, true), records(data));
}

TEST_F(BatchDecoding, ThreadsDoNotChangeTheRecords) {
  threads_ = 4;
  const DataPlan data = plan();
  for (int repetition = 0; repetition < 20; ++repetition) EXPECT_EQ(decoded(data, true), records(data));
}

TEST_F(BatchDecoding, OfSeveralBrokenImagesThreadsNameTheFirst) {
  threads_ = 4;
  const DataPlan data = plan();
  BatchDecoder decoder(data, true);
  auto bytes = stored(data);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    if (i >= 1 && i <= 3) bytes[begin + 40] ^= std::byte{0xff};
    begin += static_cast<std::size_t>(data.manifest().size_of(ids_[i]).count());
  }
  decoder.make_room(5);
  const std::string first = data.samples()->train.source->name(ids_[1]);
  for (int repetition = 0; repetition < 20; ++repetition)
    EXPECT_THAT([&] { decoder.decode({.samples = 5, .stored = bytes, .ids = ids_, .epochs = epochs_}); },
                ::testing::ThrowsMessage<ConfigError>(::testing::HasSubstr(first)));
}

TEST_F(BatchDecoding, EachSampleIsAugmentedByItsEpoch) {
  const DataPlan data = plan({{"crop", std::int64_t{2}}, {"flip", true}});
  auto expected = records(data);
  const std::size_t size = expected.size() / ids_.size();
  for (std::size_t i = 0; i < ids_.size(); ++i)
    data.augmentation().apply(data.info(), data.seed(), ids_[i], epochs_[i],
                              std::span(expected).subspan(i * size, size));
  EXPECT_NE(expected, records(data));
  EXPECT_EQ(decoded(data, true), expected);
  EXPECT_EQ(decoded(data, false), expected);
}

TEST_F(BatchDecoding, ABrokenImageIsNamed) {
  const DataPlan data = plan();
  BatchDecoder decoder(data, true);
  auto bytes = stored(data);
  bytes[40] ^= std::byte{0xff};
  decoder.make_room(5);
  EXPECT_THAT(
      [&] { decoder.decode({.samples = 5, .stored = bytes, .ids = ids_, .epochs = epochs_}); },
      ::testing::ThrowsMessage<ConfigError>(::testing::HasSubstr("train/bee/y.png': expected a whole PNG")));
}

/// The sampler has no loss of a sample that another one took the place of.
TEST(LossesOfABatch, AreThoseOfItsOwnSamples) {
  const std::vector<SampleId> ids = {3, 0, 4}, trained = {3, 3, 4};
  const std::vector<float> losses = {1, 2, 3};
  std::vector<float> scratch;
  EXPECT_EQ(losses_of(ids, ids, losses, scratch).data(), losses.data());
  const auto own = losses_of(ids, trained, losses, scratch);
  EXPECT_THAT(std::vector<float>(own.begin(), own.end()),
              ::testing::ElementsAre(1.0F, ::testing::IsNan(), 3.0F));
  EXPECT_TRUE(losses_of(ids, trained, {}, scratch).empty());
}

class Replacing : public BatchDecoding {
 protected:
  /// Ids whose records a batch has after decoding. `bad`: positions; `broken`: of images with wrong bytes.
  std::vector<SampleId> trained(BatchDecoder& decoder, const DataPlan& data,
                                const std::vector<std::size_t>& bad,
                                const std::vector<std::size_t>& broken = {}) {
    auto bytes = stored(data);
    std::vector<SampleId> given = ids_;
    for (const std::size_t position : bad) given[position] = bad_sample;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (std::ranges::count(broken, i) > 0) bytes[begin + 40] ^= std::byte{0xff};
      begin += static_cast<std::size_t>(data.manifest().size_of(ids_[i]).count());
    }
    const auto room = decoder.make_room(static_cast<int>(ids_.size()));
    decoder.decode({.samples = static_cast<int>(ids_.size()),
                    .stored = bytes,
                    .ids = ids_,
                    .epochs = epochs_,
                    .given = given});
    const std::vector<SampleId> trained(decoder.trained().begin(), decoder.trained().end());
    const std::size_t size = room.size() / ids_.size();
    for (std::size_t i = 0; i < trained.size(); ++i) {
      std::vector<std::byte> expected(data.dataset()->record(Dataset::Part::train, trained[i]).begin(),
                                      data.dataset()->record(Dataset::Part::train, trained[i]).end());
      data.augmentation().apply(data.info(), data.seed(), ids_[i], epochs_[i], expected);
      EXPECT_TRUE(std::ranges::equal(room.subspan(i * size, size), expected)) << "position " << i;
    }
    return trained;
  }
};

/// Even ids are of one class, odd ones of the other. The batch: 3 0 4 1 3.
TEST_F(Replacing, TheNextOfTheClassTakesThePlace) {
  const DataPlan data = plan({{"flip", true}});
  BatchDecoder decoder(data, true, true);
  EXPECT_THAT(trained(decoder, data, {}), ::testing::ElementsAre(3, 0, 4, 1, 3));
  EXPECT_EQ(decoder.replaced(), 0);
  EXPECT_THAT(trained(decoder, data, {0}), ::testing::ElementsAre(1, 0, 4, 1, 3));
  EXPECT_EQ(decoder.replaced(), 1);
  EXPECT_THAT(trained(decoder, data, {2}), ::testing::ElementsAre(3, 0, 0, 1, 3)) << "in turn";
  EXPECT_THAT(trained(decoder, data, {1}, {2}), ::testing::ElementsAre(3, 1, 1, 1, 3)) << "of another class";
  EXPECT_EQ(decoder.replaced(), 2);
  EXPECT_THAT(trained(decoder, data, {}, {4}), ::testing::ElementsAre(3, 0, 4, 1, 3)) << "3 is there twice";
  EXPECT_EQ(decoder.replaced(), 1);
}

TEST_F(Replacing, ABatchWithoutAGoodSampleTakesThatOfAnEarlierOne) {
  const DataPlan data = plan();
  BatchDecoder decoder(data, true, true);
  EXPECT_THAT(
      [&] {
        trained(decoder, data, {0, 1, 2, 3, 4});
      },
      ::testing::ThrowsMessage<WorldError>(::testing::HasSubstr("data.bad_sample")));
  trained(decoder, data, {0});
  EXPECT_THAT(trained(decoder, data, {0, 1, 2}, {3, 4}), ::testing::ElementsAre(0, 0, 0, 0, 0));
  EXPECT_EQ(decoder.replaced(), 5);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
