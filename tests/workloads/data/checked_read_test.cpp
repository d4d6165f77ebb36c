// Samples that cannot be read, or are not what their data set says: reads are tried again, and name what is
// wrong.
#include "workloads/data/checked_read.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/unnamed_file.hpp"
#include "workloads/data/record_store.hpp"
#include "workloads/data/tier_file.hpp"

namespace tandem {
namespace TANDEM_FILE {

using ::testing::AllOf;
using testing::corrupt_unnamed;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

constexpr Retries quick{.attempts = 3, .pause = Seconds(1e-4)};

/// Samples of four bytes. The first reads fail, and the next ones bring other bytes.
class BadSource final : public SampleSource {
 public:
  BadSource(int failures, int wrong) : failures_(failures), wrong_(wrong) {}
  Bytes size(SampleId) const override { return Bytes(4); }
  void read(SampleId id, std::span<std::byte> target) const override {
    ++reads;
    if (reads <= failures_) throw WorldError("the disk is away");
    std::ranges::fill(target, static_cast<std::byte>(reads <= failures_ + wrong_ ? 99 : id));
  }
  std::optional<std::string> difference(SampleId id, std::span<const std::byte> bytes) const override {
    if (!has_checksums) return std::nullopt;
    return difference_of(checksum_of(std::vector(4, static_cast<std::byte>(id))), checksum_of(bytes));
  }
  std::string name(SampleId) const override { return "a/file"; }
  mutable int reads = 0;
  bool has_checksums = true;

 private:
  int failures_;
  int wrong_;
};

class CheckedReads : public ::testing::Test {
 protected:
  std::vector<std::byte> target_ = std::vector<std::byte>(4);
  TemporaryFolder folder_;
};

TEST_F(CheckedReads, AGoodSampleIsReadOnce) {
  const BadSource source(0, 0);
  EXPECT_EQ(read_checked(source, 7, target_, quick), std::nullopt);
  EXPECT_EQ(source.reads, 1);
  EXPECT_EQ(target_, std::vector(4, std::byte{7}));
}

TEST_F(CheckedReads, AreTriedAgain) {
  const BadSource source(1, 1);
  EXPECT_EQ(read_checked(source, 7, target_, quick), std::nullopt);
  EXPECT_EQ(source.reads, 3);
  EXPECT_EQ(target_, std::vector(4, std::byte{7}));
}

TEST_F(CheckedReads, NameWhatCannotBeRead) {
  const BadSource source(5, 0);
  EXPECT_THAT(read_checked(source, 7, target_, quick).value_or(""),
              AllOf(HasSubstr("sample 7 (a/file): the disk is away"), HasSubstr("3 attempts")));
  EXPECT_EQ(source.reads, 3);
}

TEST_F(CheckedReads, NameWhatIsExpectedAndFound) {
  BadSource source(0, 5);
  EXPECT_THAT(read_checked(source, 7, target_, quick).value_or(""),
              AllOf(HasSubstr("sample 7 (a/file)"), HasSubstr("expected the checksum"), HasSubstr("found ")));
  source.has_checksums = false;
  EXPECT_EQ(read_checked(source, 7, target_, quick), std::nullopt) << "nothing to compare with";
}

TEST_F(CheckedReads, ChangedRecordsAreNoticed) {
  const auto dataset =
      load_dataset({.name = "synthetic", .directory = "", .train_samples = 12, .test_samples = 4, .seed = 1});
  const RecordStore store(folder_.path("records.bin"), *dataset);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("records.bin"))) << "nothing is left of a killed process";
  std::vector<std::byte> record(static_cast<std::size_t>(store.size(3).count()));
  EXPECT_EQ(read_checked(store, 3, record, quick), std::nullopt);
  ASSERT_TRUE(corrupt_unnamed("records.bin"));
  EXPECT_THAT(read_checked(store, 3, record, quick).value_or(""),
              AllOf(HasSubstr("record 3 of "), HasSubstr("expected the checksum")));
}

TEST(QuickChecksum, ChangesWithEveryBitAndTheSize) {
  for (const std::size_t size : {1U, 7U, 8U, 31U, 32U, 33U, 100U}) {
    std::vector<std::byte> bytes(size, std::byte{17});
    const std::uint32_t sum = quick_checksum(bytes);
    EXPECT_EQ(quick_checksum(bytes), sum);
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      EXPECT_NE(quick_checksum(bytes), sum) << size << ' ' << bit;
      bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    }
    std::swap(bytes.front(), bytes.back());
    bytes.push_back(std::byte{0});
    EXPECT_NE(quick_checksum(bytes), sum) << size;
  }
}

class TierFiles : public CheckedReads {
 protected:
  std::vector<std::byte> read(const TierFile& tier, SampleId id) const {
    std::vector<std::byte> bytes(100);
    tier.read(id, bytes);
    return bytes;
  }
  const cache::Manifest manifest_{.samples = 8, .each = Bytes(100)};
  const std::vector<std::byte> five_ = std::vector(100, std::byte{5});
};

TEST_F(TierFiles, HaveWhatWasWrittenAndNothingElse) {
  TierFile tier(folder_.path("tier.bin"), manifest_);
  EXPECT_TRUE(tier.write(5, five_));
  EXPECT_EQ(read(tier, 5), five_);
  EXPECT_THROW(read(tier, 4), WorldError);
  tier.remove(5);
  EXPECT_THROW(read(tier, 5), WorldError);
}

TEST_F(TierFiles, NoticeWhatWasChanged) {
  TierFile tier(folder_.path("tier.bin"), manifest_);
  tier.write(5, five_);
  ASSERT_TRUE(corrupt_unnamed("tier.bin"));
  EXPECT_THROW(read(tier, 5), WorldError);
  EXPECT_TRUE(tier.write(5, five_));
  EXPECT_EQ(read(tier, 5), five_);
}

TEST_F(TierFiles, OfAKilledProcessDoNoHarm) {
  folder_.write("tier.bin", std::string(800, 'x'));
  const TierFile tier(folder_.path("tier.bin"), manifest_);
  EXPECT_THROW(read(tier, 5), WorldError);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("tier.bin"))) << "and leave none";
}

TEST_F(TierFiles, SayThatTheirDiskIsFull) {
  std::filesystem::create_symlink("/dev/full", folder_.path("tier.bin"));
  TierFile tier(folder_.path("tier.bin"), manifest_);
  EXPECT_FALSE(tier.write(5, five_));
  EXPECT_THROW(read(tier, 5), WorldError);
  EXPECT_TRUE(std::filesystem::exists("/dev/full"));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
