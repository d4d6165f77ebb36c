// Tiers that outlive their process: which samples are there, and whether they are what was written.
#include "workloads/data/tier_index.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"
#include "workloads/data/tier_file.hpp"

namespace tandem {
namespace TANDEM_FILE {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class KeptTier : public ::testing::Test {
 protected:
  std::string directory() const { return folder_.path().string(); }
  std::string index() const { return tier_index_path(directory(), 0); }
  std::vector<TierEntry> read(const TierOrigin& origin = a_) const {
    return read_tier_index(index(), origin, manifest_);
  }
  void append(const std::string& text) const { std::ofstream(index(), std::ios::app) << text; }
  static std::vector<std::byte> record(int value) { return std::vector(100, static_cast<std::byte>(value)); }
  TierEntry write(TierFile& tier, SampleId id) const {
    EXPECT_TRUE(tier.write(id, record(static_cast<int>(id))));
    return {id, tier.checksum_of(id)};
  }
  inline static const TierOrigin a_{"a", "0123"};
  testing::TemporaryFolder folder_;
  const cache::Manifest manifest_{.samples = 8, .each = Bytes(100)};
};

TEST_F(KeptTier, HasWhatWasAddedLastAndNotRemoved) {
  {
    TierIndex log(index(), a_, manifest_, std::vector<TierEntry>{{7, 70}, {1, 10}});
    log.add({3, 30});
    log.remove(1);
    log.add({5, 50});
    log.add({7, 71});
    log.remove(6);
  }
  EXPECT_THAT(read(), ElementsAre(TierEntry{3, 30}, TierEntry{5, 50}, TierEntry{7, 71}));
}

TEST_F(KeptTier, IsReadUpToWhereItsProcessWasKilled) {
  { TierIndex(index(), a_, manifest_, std::vector<TierEntry>{{7, 70}, {1, 10}}); }
  append("+ 3 3");
  EXPECT_THAT(read(), ElementsAre(TierEntry{7, 70}, TierEntry{1, 10}));
  append("0\n+ 8 1\n+ 4 40\n");
  EXPECT_THAT(read(), ElementsAre(TierEntry{7, 70}, TierEntry{1, 10}, TierEntry{3, 30}));
}

TEST_F(KeptTier, IsOfOneDiskAndDataSet) {
  EXPECT_THAT(read(), IsEmpty());
  { TierIndex(index(), a_, manifest_, std::vector<TierEntry>{{7, 70}}); }
  EXPECT_EQ(read().size(), 1U);
  EXPECT_THAT(read({"b", a_.data_set}), IsEmpty());
  EXPECT_THAT(read({a_.host, "4567"}), IsEmpty());
  EXPECT_THAT(read_tier_index(index(), a_, {.samples = 8, .each = Bytes(99)}), IsEmpty());
  EXPECT_THAT(read_tier_index(index(), a_, {.samples = 9, .each = Bytes(100)}), IsEmpty());
  std::ofstream(index()) << std::string(1000, 'x');
  EXPECT_THAT(read(), IsEmpty());
}

TEST_F(KeptTier, WithoutRoomForItsLogKeepsNothing) {
  std::filesystem::create_symlink("/dev/full", index());
  TierIndex log(index(), a_, manifest_, {});
  log.add({1, 10});
  EXPECT_THAT(read(), IsEmpty());
}

TEST_F(KeptTier, GivesBackWhatIsAsItWasWritten) {
  const std::string path = tier_file_path(directory(), 0);
  std::vector<TierEntry> written;
  {
    TierFile tier(path, manifest_, TierFile::Begin::empty);
    for (const SampleId id : {5, 2, 6}) written.push_back(write(tier, id));
  }
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(250) << 'x';
  TierFile again(path, manifest_, TierFile::Begin::as_left);
  EXPECT_THAT(again.take_over(path, written), ElementsAre(written[0], written[2]));
  std::vector<std::byte> bytes(100);
  again.read(5, bytes);
  EXPECT_EQ(bytes, record(5));
  EXPECT_THROW(again.read(2, bytes), WorldError);
  // Another job takes a copy, and changes nothing there.
  TierFile other(tier_file_path(directory(), 1), manifest_, TierFile::Begin::empty);
  EXPECT_THAT(other.take_over(path, written), ElementsAre(written[0], written[2]));
  other.read(6, bytes);
  EXPECT_EQ(bytes, record(6));
  other.remove(6);
  again.read(6, bytes);
  EXPECT_EQ(bytes, record(6));
}

TEST_F(KeptTier, LacksWhatIsNotThere) {
  TierFile tier(tier_file_path(directory(), 0), manifest_, TierFile::Begin::empty);
  const std::vector<TierEntry> said = {{5, 50}};
  EXPECT_THAT(tier.take_over(tier_file_path(directory(), 3), said), IsEmpty());
  EXPECT_THAT(tier.take_over(tier_file_path(directory(), 0), said), IsEmpty());
  std::vector<std::byte> bytes(100);
  EXPECT_THROW(tier.read(5, bytes), WorldError);
}

/// So that a job which begins again does not look elsewhere for what is left.
TEST_F(KeptTier, OfALostDiskHasALogWithoutSamples) {
  { TierFile tier(tier_file_path(directory(), 0), manifest_, TierFile::Begin::empty); }
  { TierIndex(index(), a_, manifest_, std::vector<TierEntry>{{7, 70}}); }
  lose_tier(directory(), 0);
  lose_tier(directory(), 1);
  for (const int node : {0, 1}) {
    EXPECT_TRUE(std::filesystem::exists(tier_index_path(directory(), node)));
    EXPECT_FALSE(std::filesystem::exists(tier_file_path(directory(), node)));
    EXPECT_THAT(read_tier_index(tier_index_path(directory(), node), a_, manifest_), IsEmpty());
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
