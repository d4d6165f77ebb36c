// Reads of parts of a file, warm and cold: the same bytes, whatever the alignment.
#include "workloads/data/storage_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem {
namespace TANDEM_FILE {

std::byte byte_at(std::int64_t position) { return static_cast<std::byte>((position * 2654435761) >> 13); }

std::string written(const testing::TemporaryFolder& folder, std::int64_t size) {
  std::string text;
  for (std::int64_t i = 0; i < size; ++i) text.push_back(static_cast<char>(byte_at(i)));
  return folder.write("data.bin", text);
}

void expect_bytes(const StorageFile& file, std::int64_t offset, std::int64_t size) {
  std::vector<std::byte> found(static_cast<std::size_t>(size));
  file.read(offset, found);
  for (std::int64_t i = 0; i < size; ++i)
    ASSERT_EQ(found[static_cast<std::size_t>(i)], byte_at(offset + i)) << "from " << offset << ", " << size;
}

class StorageFiles : public ::testing::TestWithParam<bool> {};

TEST_P(StorageFiles, AreReadAtAnyPlace) {
  const testing::TemporaryFolder folder;
  constexpr std::int64_t size = 100'123;
  const StorageFile file(written(folder, size), GetParam());
  for (const auto& [offset, bytes] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {0, size}, {0, 1}, {size - 1, 1}, {4095, 2}, {4096, 4096}, {8191, 4097}, {98'304, 1819}, {5, 0}})
    expect_bytes(file, offset, bytes);
  Rng random(7);
  for (int i = 0; i < 300; ++i) {
    const auto offset = static_cast<std::int64_t>(random.below(size));
    expect_bytes(file, offset,
                 static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(size - offset) + 1)));
  }
  std::vector<std::byte> more(10);
  EXPECT_THROW(file.read(size - 9, more), WorldError);
  EXPECT_THROW(file.read(size + 5000, more), WorldError);
}

TEST_P(StorageFiles, AreReadByThreadsAtTheSameTime) {
  const testing::TemporaryFolder folder;
  const StorageFile file(written(folder, 200'000), GetParam());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&file, thread] {
      for (int i = 0; i < 100; ++i) expect_bytes(file, 1000 * i + thread, 7000);
    });
  for (auto& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(WarmAndCold, StorageFiles, ::testing::Bool(),
                         [](const auto& instance) { return std::string(instance.param ? "Cold" : "Warm"); });

TEST(StorageFile, SaysWhetherReadsAreCold) {
  const testing::TemporaryFolder folder;
  const std::string path = written(folder, 100'000);
  EXPECT_EQ(StorageFile(path, false).page_cache(), PageCache::used);
  const StorageFile cold(path, true);
  EXPECT_NE(cold.page_cache(), PageCache::used);
  EXPECT_EQ(cold.page_cache(), cold_reads_in(folder.path().string()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1)
      << "the test file stays";
}

/// As with `read`: the same bytes at any place and to any memory, and the same errors.
TEST(StorageFile, APlannedReadIsTheSameRead) {
  const testing::TemporaryFolder folder;
  constexpr std::int64_t size = 100'123;
  const std::string path = written(folder, size);
  EXPECT_FALSE(StorageFile(path, false).plan(0, {})) << "the page cache's bytes are copied on a thread";
  const StorageFile file(path, true);
  if (file.page_cache() != PageCache::direct) GTEST_SKIP() << describe(file.page_cache());
  std::vector<std::byte> memory(60'000);
  Rng random(5);
  for (int i = 0; i < 300; ++i) {
    const bool is_aligned = i % 3 == 0;
    const auto offset = static_cast<std::int64_t>(random.below(10)) * 4096 + (is_aligned ? 0 : i);
    const std::span<std::byte> target = std::span(memory).subspan(
        static_cast<std::size_t>(i % 2), is_aligned ? 8192U : 1U + random.below(20'000));
    const auto planned = file.plan(offset, target);
    ASSERT_TRUE(planned);
    planned->finish(read_and_wait(planned->read));
    for (std::size_t at = 0; at < target.size(); ++at)
      ASSERT_EQ(target[at], byte_at(offset + static_cast<std::int64_t>(at))) << offset;
  }
  const auto past = file.plan(size - 9, std::span(memory).first(10));
  EXPECT_THROW(past->finish(read_and_wait(past->read)), WorldError);
  EXPECT_THROW(past->finish(-EIO), WorldError);
  EXPECT_THROW(file.reading(size - 9, std::span(memory).first(10))(), WorldError);
}

/// Others go through memory of their own.
TEST(StorageFile, APlannedReadOfWholeBlocksGoesIntoAlignedMemory) {
  const testing::TemporaryFolder folder;
  constexpr std::size_t block = 4096;
  const StorageFile file(written(folder, 100'123), true);
  if (file.page_cache() != PageCache::direct) GTEST_SKIP() << describe(file.page_cache());
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte*>(std::aligned_alloc(block, 4 * block)), &std::free);
  const std::span<std::byte> aligned(memory.get(), 4 * block);
  const auto expect_read = [&](std::int64_t offset, std::span<std::byte> target, bool goes_there) {
    const auto planned = file.plan(offset, target);
    ASSERT_TRUE(planned);
    EXPECT_EQ(planned->read.target.data() == target.data(), goes_there) << offset;
    planned->finish(read_and_wait(planned->read));
    for (std::size_t at = 0; at < target.size(); ++at)
      ASSERT_EQ(target[at], byte_at(offset + static_cast<std::int64_t>(at))) << offset;
  };
  expect_read(2 * block, aligned.first(3 * block), true);
  expect_read(2 * block, aligned.subspan(1, block), false);
  expect_read(2 * block, aligned.first(block + 1), false);
  expect_read(2 * block + 1, aligned.first(block), false);
  // The file ends within its last block.
  const auto past = file.plan(24 * block, aligned.first(block));
  EXPECT_THROW(past->finish(read_and_wait(past->read)), WorldError);
}

/// A file in memory cannot be read past it.
TEST(StorageFile, MemoryIsUnavoidable) {
  if (!std::filesystem::is_directory("/dev/shm") || access("/dev/shm", W_OK) != 0)
    GTEST_SKIP() << "no /dev/shm";
  EXPECT_EQ(cold_reads_in("/dev/shm"), PageCache::unavoidable);
  EXPECT_NE(std::string(describe(PageCache::unavoidable)).find("does not let"), std::string::npos);
}

/// Cold reads leave no page behind, warm ones do.
TEST(StorageFile, ColdReadsDoNotFillThePageCache) {
  const testing::TemporaryFolder folder;
  const std::string path = written(folder, 64 * 4096);
  const auto pages = [&] {
    const int file = ::open(path.c_str(), O_RDONLY);
    void* const map = mmap(nullptr, 64 * 4096, PROT_READ, MAP_SHARED, file, 0);
    std::vector<unsigned char> resident(64);
    mincore(map, 64 * 4096, resident.data());
    munmap(map, 64 * 4096);
    ::close(file);
    return std::ranges::count_if(resident, [](unsigned char page) { return (page & 1U) != 0; });
  };
  const StorageFile cold(path, true);
  if (cold.page_cache() != PageCache::direct) GTEST_SKIP() << describe(cold.page_cache());
  const int file = ::open(path.c_str(), O_RDONLY);
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  ::close(file);
  const auto before = pages();
  expect_bytes(cold, 1000, 100'000);
  EXPECT_EQ(pages(), before);
  expect_bytes(StorageFile(path, false), 1000, 100'000);
  EXPECT_GT(pages(), before);
}

TEST(StorageFile, ErrorsNameTheFile) {
  try {
    const StorageFile file("/nowhere/at/all", true);
    FAIL();
  } catch (const WorldError& error) {
    EXPECT_STREQ(error.what(), "cannot open '/nowhere/at/all': No such file or directory");
  }
}

TEST(StorageFile, ReadLikeAnotherFileOfTheFileSystem) {
  const testing::TemporaryFolder folder;
  const std::string path = written(folder, 200'000);
  const PageCache found = StorageFile(path, true).page_cache();
  const StorageFile like(path, found);
  EXPECT_EQ(like.page_cache(), found);
  expect_bytes(like, 1000, 100'000);
  EXPECT_THROW(StorageFile("/nowhere/at/all", found), WorldError);
}

TEST(StorageFile, FilesOfAnotherSizeWereChanged) {
  const testing::TemporaryFolder folder;
  const StorageFile file(written(folder, 1000), false);
  file.expect_size(Bytes(1000));
  EXPECT_THROW(file.expect_size(Bytes(999)), WorldError);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
