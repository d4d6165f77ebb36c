// Accesses to a disk: their parts, and the writes that are left.
#include "workloads/roles/cache/sample_reads.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "tests/support/fake_context.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/records/recording_context.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::FakeWorld;
using testing::TemporaryFolder;

/// Sample n has 100 + n bytes n.
class NumberedSamples final : public SampleSource {
 public:
  Bytes size(SampleId id) const override { return Bytes(100 + id); }
  void read(SampleId id, std::span<std::byte> target) const override {
    EXPECT_EQ(std::ssize(target), 100 + id);
    std::ranges::fill(target, static_cast<std::byte>(id));
  }
};

/// Its operations have ended only when they were waited for.
class NeverDone final : public RecordingContext {
 public:
  using RecordingContext::RecordingContext;
  bool is_done(const Pending&) override { return false; }
};

class DiskSources : public ::testing::Test {
 protected:
  DiskSources() {
    for (SampleId id = 0; id < 10; ++id) sizes_.push_back(samples_.size(id));
    manifest_ = {.samples = 10, .sizes = sizes_};
  }
  struct Buffers {
    std::vector<std::vector<std::byte>> samples = {};
    SampleRead read = {};
  };
  Buffers reading(const std::vector<SampleId>& ids) const {
    Buffers buffers;
    buffers.read.ids = ids;
    buffers.samples.resize(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      buffers.samples[i].resize(static_cast<std::size_t>(manifest_.size_of(ids[i]).count()));
      buffers.read.targets.emplace_back(buffers.samples[i]);
      buffers.read.size += manifest_.size_of(ids[i]);
    }
    return buffers;
  }
  struct Done {
    std::vector<std::int64_t> parts = {};  ///< bytes
    int waits = 0;                         ///< by the caller
  };
  /// Of a disk that serves so many requests at the same time.
  template <class Recording>
  Done read_from(int parallel, const std::vector<SampleId>& ids) const {
    Buffers buffers = reading(ids);
    Done done;
    FakeWorld(1, 1).run([&](Context& inner) {
      std::vector<OperationRecord> operations;
      Recording context(inner, operations);
      DiskSource disk(context, manifest_, parallel, &samples_);
      disk.add(std::move(buffers.read));
      Pending wait;
      for (std::optional<SampleRead> ended; !ended; ++done.waits) {
        disk.put_next(wait);
        context.wait(wait);
        ended = disk.finish();
        if (ended) {
          EXPECT_EQ(ended->ids, ids);
        }
      }
      disk.put_next(wait);
      EXPECT_TRUE(wait.empty());
      disk.close(wait);
      for (const OperationRecord& operation : operations) done.parts.push_back(operation.bytes);
    });
    for (std::size_t i = 0; i < ids.size(); ++i)
      EXPECT_TRUE(
          std::ranges::all_of(buffers.samples[i], [&](std::byte b) { return b == std::byte(ids[i]); }));
    return done;
  }
  NumberedSamples samples_;
  std::vector<Bytes> sizes_;
  cache::Manifest manifest_;
  TemporaryFolder folder_;
};

TEST_F(DiskSources, ADiskThatServesOneRequestTransfersAnAccessAsAWhole) {
  const Done done = read_from<RecordingContext>(1, {1, 3, 5});
  EXPECT_EQ(done.parts, std::vector<std::int64_t>{309});
  EXPECT_EQ(done.waits, 1);
}

TEST_F(DiskSources, PartsOfAnAccessAreTransferredAtTheSameTime) {
  const Done done = read_from<RecordingContext>(2, {1, 3, 5, 7, 9});
  EXPECT_EQ(done.parts, (std::vector<std::int64_t>{204, 321}));
  EXPECT_EQ(done.waits, 1);
  EXPECT_EQ(read_from<RecordingContext>(256, {1, 3, 5}).parts, (std::vector<std::int64_t>{101, 103, 105}));
}

TEST_F(DiskSources, AnAccessEndsWithItsLastPart) {
  EXPECT_EQ(read_from<NeverDone>(1, {1, 3, 5}).waits, 1);
  EXPECT_EQ(read_from<NeverDone>(2, {1, 3, 5}).waits, 2);
  EXPECT_EQ(read_from<NeverDone>(8, {1, 3, 5}).waits, 3);
}

/// Samples of one size in a file, where sample 5 is not what it should be; sample 3 is in a file that is
/// gone. Only `read` brings these two.
class PlannedSamples final : public SampleSource {
 public:
  PlannedSamples(const TemporaryFolder& folder, std::size_t bytes) : bytes_(bytes) {
    std::string text;
    for (char id = 0; id < 10; ++id) text += std::string(bytes_, id == 5 ? 'x' : id);
    file_ = ::open(folder.write("samples.bin", text).c_str(), O_RDONLY);
  }
  ~PlannedSamples() override { ::close(file_); }
  PlannedSamples(const PlannedSamples&) = delete;
  PlannedSamples& operator=(const PlannedSamples&) = delete;

  Bytes size(SampleId) const override { return Bytes(static_cast<std::int64_t>(bytes_)); }
  void read(SampleId id, std::span<std::byte> target) const override {
    was_read.push_back(id);
    if (id == 9) throw WorldError("the disk is broken");
    std::ranges::fill(target, static_cast<std::byte>(id));
  }
  std::optional<PlannedRead> plan(SampleId id, std::span<std::byte> target) const override {
    const FileRead planned{id == 3 || id == 9 ? -1 : file_, static_cast<std::int64_t>(bytes_) * id, target};
    return PlannedRead{planned, [target](std::int64_t result) {
                         if (result != std::ssize(target)) throw WorldError("cannot be read");
                       }};
  }
  std::optional<std::string> difference(SampleId id, std::span<const std::byte> found) const override {
    const auto is_right = [id](std::byte byte) { return byte == static_cast<std::byte>(id); };
    return std::ranges::all_of(found, is_right) ? std::nullopt : std::optional<std::string>("other bytes");
  }
  mutable std::vector<SampleId> was_read;

 private:
  std::size_t bytes_;
  int file_;
};

/// The samples that `read` was asked for, in order, by a disk that serves two requests.
std::vector<SampleId> read_planned(const PlannedSamples& samples, const std::vector<SampleId>& ids,
                                   bool continues, std::vector<std::uint8_t>& failed) {
  const auto bytes = static_cast<std::size_t>(samples.size(0).count());
  const std::vector<Bytes> sizes(10, samples.size(0));
  const cache::Manifest manifest{.samples = 10, .sizes = sizes};
  std::vector<std::vector<std::byte>> targets(ids.size(), std::vector<std::byte>(bytes));
  FakeWorld(1, 1).run([&](Context& context) {
    DiskSource disk(context, manifest, 2, &samples, nullptr, continues);
    SampleRead read{.ids = ids, .targets = {targets.begin(), targets.end()}};
    read.size = Bytes(static_cast<std::int64_t>(bytes * ids.size()));
    disk.add(std::move(read));
    Pending wait;
    std::optional<SampleRead> ended;
    while (!ended) {
      disk.put_next(wait);
      context.wait(wait);
      ended = disk.finish();
    }
    failed = ended->failed;
  });
  for (std::size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(failed[i] == 0, !samples.difference(ids[i], targets[i])) << ids[i];
  std::vector<SampleId> was_read = samples.was_read;
  std::ranges::sort(was_read);
  return was_read;
}

TEST_F(DiskSources, WhatAPlannedReadDoesNotBringRightIsReadOnceMore) {
  const PlannedSamples samples(folder_, 1000);
  std::vector<std::uint8_t> failed;
  EXPECT_EQ(read_planned(samples, {1, 3, 4, 5, 7}, false, failed), (std::vector<SampleId>{3, 5}));
  EXPECT_EQ(failed, std::vector<std::uint8_t>(5, 0));
}

TEST_F(DiskSources, APlannedReadThatNeverComesRightIsAFailedSample) {
  const PlannedSamples samples(folder_, 1000);
  std::vector<std::uint8_t> failed;
  EXPECT_EQ(read_planned(samples, {1, 9, 2}, true, failed), (std::vector<SampleId>{9, 9, 9}));
  EXPECT_EQ(failed, (std::vector<std::uint8_t>{0, 1, 0}));
}

TEST_F(DiskSources, LargePartsAreReadByThreads) {
  const PlannedSamples samples(folder_, 40'000);
  std::vector<std::uint8_t> failed;
  EXPECT_EQ(read_planned(samples, {1, 2, 4, 6}, false, failed), (std::vector<SampleId>{1, 2, 4, 6}));
}

TEST_F(DiskSources, CountsWhatIsLeftToWrite) {
  TierFile tier(folder_.path("tier.bin"), manifest_);
  FakeWorld(1, 1).run([&](Context& context) {
    DiskSource disk(context, manifest_, 2, &samples_, &tier);
    const auto write = [&](const std::vector<SampleId>& ids) {
      SampleRead writing{.ids = ids, .what = SampleRead::What::to_tier};
      for (const SampleId id : ids) {
        writing.size += manifest_.size_of(id);
        auto& record = writing.records.emplace_back(static_cast<std::size_t>(manifest_.size_of(id).count()));
        samples_.read(id, record);
      }
      disk.add(std::move(writing));
    };
    write({1, 2, 3});
    write({4});
    Buffers back = reading({2, 4});
    back.read.what = SampleRead::What::from_tier;
    disk.add(std::move(back.read));
    EXPECT_EQ(disk.to_write(), Bytes(306 + 104));
    std::vector<Bytes> left;
    for (int access = 0; access < 3; ++access) {
      Pending wait;
      disk.put_next(wait);
      context.wait(wait);
      EXPECT_TRUE(disk.finish());
      left.push_back(disk.to_write());
    }
    EXPECT_EQ(left, (std::vector<Bytes>{Bytes(104), Bytes(0), Bytes(0)}));
    EXPECT_EQ(back.samples[0].back(), std::byte{2});
    EXPECT_EQ(back.samples[1].back(), std::byte{4});
  });
}

}  // namespace TANDEM_FILE
}  // namespace tandem
