// Augmentation: pure, and what it may do to an image.
#include "workloads/data/augmentation.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "workloads/data/dataset.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

/// Every pixel is different from its neighbours.
std::byte pixel_at(int channel, int row, int column) {
  return static_cast<std::byte>((7 * row + 13 * column + 50 * channel) % 256);
}

DatasetInfo images(int channels, int height, int width) {
  DatasetInfo info{.name = "", .channels = channels, .height = height, .width = width, .classes = 300};
  return info;
}

std::vector<std::byte> record_of(const DatasetInfo& info) {
  std::vector<std::byte> record = {std::byte{7}, std::byte{1}};
  for (int channel = 0; channel < info.channels; ++channel)
    for (int row = 0; row < info.height; ++row)
      for (int column = 0; column < info.width; ++column) record.push_back(pixel_at(channel, row, column));
  return record;
}

std::vector<std::byte> augmented(const DatasetInfo& info, const Augmentation& how, SampleId id,
                                 std::int64_t epoch, std::uint64_t seed = 3) {
  auto record = record_of(info);
  how.apply(info, seed, id, epoch, record);
  return record;
}

/// What becomes of a pixel that was moved and mirrored, written from the definition.
std::vector<std::byte> moved(const DatasetInfo& info, int right, int down, bool mirror) {
  const auto record = record_of(info);
  std::vector<std::byte> result(record.begin(), record.begin() + 2);
  for (int channel = 0; channel < info.channels; ++channel)
    for (int row = 0; row < info.height; ++row)
      for (int column = 0; column < info.width; ++column) {
        const int from_row = row - down;
        const int from_column = (mirror ? info.width - 1 - column : column) - right;
        const bool inside =
            from_row >= 0 && from_row < info.height && from_column >= 0 && from_column < info.width;
        const int from = (channel * info.height + from_row) * info.width + from_column;
        result.push_back(inside ? record[static_cast<std::size_t>(2 + from)] : std::byte{0});
      }
  return result;
}

TEST(Augmentation, DependsOnSeedSampleAndEpochOnly) {
  const DatasetInfo info = images(3, 8, 8);
  const Augmentation how{.crop = 2, .flip = true};
  EXPECT_EQ(augmented(info, how, 4, 1), augmented(info, how, 4, 1));
  std::set<std::vector<std::byte>> different;
  for (SampleId id = 0; id < 20; ++id)
    for (std::int64_t epoch = 0; epoch < 5; ++epoch) different.insert(augmented(info, how, id, epoch));
  EXPECT_GT(different.size(), 30U) << "of 50";
  int same = 0;
  for (SampleId id = 0; id < 100; ++id)
    same += augmented(info, how, id, 0, 3) == augmented(info, how, id, 0, 4);
  EXPECT_LT(same, 15);
}

TEST(Augmentation, EveryPlaceAndBothSidesAreAlikeAndNothingElseHappens) {
  for (const int channels : {1, 3}) {
    const DatasetInfo info = images(channels, 5, 7);
    const Augmentation how{.crop = 1, .flip = true};
    std::map<std::vector<std::byte>, int> counts;
    for (int down = -1; down <= 1; ++down)
      for (int right = -1; right <= 1; ++right)
        for (const bool mirror : {false, true}) counts[moved(info, right, down, mirror)] = 0;
    ASSERT_EQ(counts.size(), 18U);
    constexpr int drawn = 3600;
    for (SampleId id = 0; id < drawn; ++id) {
      const auto found = counts.find(augmented(info, how, id, 2));
      ASSERT_NE(found, counts.end());
      ++found->second;
    }
    for (const auto& [record, count] : counts) EXPECT_NEAR(count, drawn / 18, 60);
  }
}

TEST(Augmentation, WithoutItTheRecordStays) {
  const DatasetInfo info = images(1, 4, 4);
  EXPECT_EQ(augmented(info, {}, 1, 1), record_of(info));
  EXPECT_FALSE(Augmentation{}.is_used());
  for (SampleId id = 0; id < 20; ++id) {
    const auto mirrored_or_not = augmented(info, {.crop = 0, .flip = true}, id, 0);
    EXPECT_TRUE(mirrored_or_not == record_of(info) || mirrored_or_not == moved(info, 0, 0, true));
  }
}

/// A border that is wider than the image may leave nothing of it.
TEST(Augmentation, MayMoveAnImageAway) {
  const DatasetInfo info = images(1, 2, 2);
  for (SampleId id = 0; id < 50; ++id) {
    const auto record = augmented(info, {.crop = 5, .flip = false}, id, 0);
    EXPECT_EQ(record[0], std::byte{7});
  }
}

TEST(Augmentation, OptionsHaveTheirNames) {
  const auto options =
      Options::resolve("data.augment", augmentation_options(), {{"crop", std::int64_t{4}}, {"flip", true}});
  const auto how = Augmentation::from(options);
  EXPECT_EQ(how.crop, 4);
  EXPECT_TRUE(how.flip);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
