#include "workloads/data/storage_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

/// That always suffices for direct reads.
constexpr std::int64_t alignment = 4096;

std::int64_t rounded_down(std::int64_t offset, std::int64_t block) { return offset / block * block; }
std::int64_t rounded_up(std::int64_t offset, std::int64_t block) {
  return rounded_down(offset + block - 1, block);
}

/// Aligned memory for direct reads, which is used again: new memory has no pages, and the kernel needs longer
/// to provide those of 128 KiB than a good disk to read them.
class SpareBlocks {
 public:
  /// Any thread may release it.
  std::shared_ptr<std::byte> take(std::int64_t size) {
    const std::size_t whole = std::bit_ceil(static_cast<std::size_t>(std::max(size, alignment)));
    std::byte* memory = nullptr;
    {
      const std::lock_guard lock(mutex_);
      auto& spare = spare_[static_cast<std::size_t>(std::countr_zero(whole))];
      if (!spare.empty()) {
        memory = spare.back();
        spare.pop_back();
        kept_ -= whole;
      }
    }
    if (memory == nullptr)
      memory = static_cast<std::byte*>(std::aligned_alloc(static_cast<std::size_t>(alignment), whole));
    if (memory == nullptr) throw WorldError("no memory for reads of " + std::to_string(size) + " bytes");
    return {memory, [this, whole](std::byte* unused) { keep(unused, whole); }};
  }

 private:
  static constexpr std::size_t most_kept = std::size_t{32} << 20;

  void keep(std::byte* memory, std::size_t whole) {
    {
      const std::lock_guard lock(mutex_);
      if (kept_ + whole <= most_kept) {
        spare_[static_cast<std::size_t>(std::countr_zero(whole))].push_back(memory);
        kept_ += whole;
        return;
      }
    }
    std::free(memory);
  }

  std::mutex mutex_;
  std::array<std::vector<std::byte*>, 64> spare_;  ///< by the logarithm of the size
  std::size_t kept_ = 0;                           ///< bytes
};
SpareBlocks& spare_blocks() {
  // Never destroyed: threads may still release blocks when the process ends.
  static auto* const blocks = new SpareBlocks;
  return *blocks;
}

/// Its files have no other place than the page cache.
bool is_in_memory(int file) {
  constexpr long tmpfs = 0x01021994, ramfs = 0x858458f6;
  struct statfs system {};
  return fstatfs(file, &system) == 0 && (system.f_type == tmpfs || system.f_type == ramfs);
}

/// Whether the first pages are in memory.
bool has_pages_in_memory(int file) {
  constexpr std::size_t most = 64 * static_cast<std::size_t>(alignment);
  const off_t end = lseek(file, 0, SEEK_END);
  if (end <= 0) return false;
  const std::size_t size = std::min(most, static_cast<std::size_t>(end));
  void* const map = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  if (map == MAP_FAILED) return true;
  std::vector<unsigned char> pages((size + alignment - 1) / alignment, 0);
  const bool known = mincore(map, size, pages.data()) == 0;
  munmap(map, size);
  return !known || std::ranges::any_of(pages, [](unsigned char page) { return (page & 1U) != 0; });
}

}  // namespace

StorageFile::StorageFile(std::string path, bool cold)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (file_ < 0) fail("cannot open");
  if (!cold) return;
  page_cache_ = PageCache::unavoidable;
  if (is_in_memory(file_)) return;
  // Pages that were not written cannot be dropped.
  fdatasync(file_);
  if (opens_directly()) {
    page_cache_ = PageCache::direct;
    find_alignment();
    return;
  }
  posix_fadvise(file_, 0, 0, POSIX_FADV_RANDOM);
  posix_fadvise(file_, 0, 0, POSIX_FADV_DONTNEED);
  if (!has_pages_in_memory(file_)) page_cache_ = PageCache::dropped;
}

StorageFile::StorageFile(std::string path, PageCache like)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | (like == PageCache::direct ? O_DIRECT : 0))),
      page_cache_(like) {
  if (file_ < 0) fail("cannot open");
  if (like == PageCache::direct) find_alignment();
}

StorageFile::~StorageFile() {
  if (file_ >= 0) ::close(file_);
}

/// Some file systems refuse O_DIRECT when the file is opened, others when it is read.
bool StorageFile::opens_directly() {
  const int direct = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  if (direct < 0) return false;
  const auto memory = spare_blocks().take(alignment);
  if (::pread(direct, memory.get(), static_cast<std::size_t>(alignment), 0) < 0) {
    ::close(direct);
    return false;
  }
  ::close(std::exchange(file_, direct));
  return true;
}

/// Where the kernel knows it (Linux 6.1) and it is no more than usual.
void StorageFile::find_alignment() {
#ifdef STATX_DIOALIGN
  struct statx found {};
  if (::statx(file_, "", AT_EMPTY_PATH, STATX_DIOALIGN, &found) != 0) return;
  const auto is_usual = [](std::int64_t known) {
    return known > 0 && known <= alignment && std::has_single_bit(static_cast<std::uint64_t>(known));
  };
  if ((found.stx_mask & STATX_DIOALIGN) == 0 || !is_usual(found.stx_dio_mem_align) ||
      !is_usual(found.stx_dio_offset_align))
    return;
  memory_alignment_ = found.stx_dio_mem_align;
  block_ = found.stx_dio_offset_align;
#endif
}

void StorageFile::fail(const std::string& what) const {
  throw WorldError(what + " '" + path_ + "': " + std::strerror(errno));
}

void StorageFile::expect_size(Bytes expected) const {
  const off_t found = lseek(file_, 0, SEEK_END);
  if (found < 0) fail("cannot read");
  if (found != expected.count())
    throw WorldError("'" + path_ + "' was changed since the job began: expected " +
                     std::to_string(expected.count()) + " bytes, found " + std::to_string(found));
}

/// Checks the result of a read, whose wanted part is its first `needed` bytes, up to byte `end` of the file.
void StorageFile::check(std::int64_t result, std::int64_t needed, std::int64_t end) const {
  if (result < 0) {
    errno = static_cast<int>(-result);
    fail("cannot read");
  }
  if (result < needed) throw WorldError("'" + path_ + "' ends before byte " + std::to_string(end));
}

void StorageFile::read(std::int64_t offset, std::span<std::byte> target) const {
  if (page_cache_ == PageCache::direct) {
    const PlannedRead planned = plan_direct(offset, target);
    return planned.finish(read_and_wait(planned.read));
  }
  if (page_cache_ == PageCache::dropped) {
    const std::int64_t begin = rounded_down(offset, alignment);
    posix_fadvise(file_, begin, rounded_up(offset + std::ssize(target), alignment) - begin,
                  POSIX_FADV_DONTNEED);
  }
  check(read_and_wait({file_, offset, target}), std::ssize(target), offset + std::ssize(target));
}

std::optional<PlannedRead> StorageFile::plan(std::int64_t offset, std::span<std::byte> target) const {
  if (page_cache_ != PageCache::direct) return std::nullopt;
  return plan_direct(offset, target);
}

PlannedRead StorageFile::plan_direct(std::int64_t offset, std::span<std::byte> target) const {
  const std::int64_t end = offset + std::ssize(target);
  const std::int64_t first = rounded_down(offset, block_), last = rounded_up(end, block_);
  const bool fits = first == offset && last == end &&
                    reinterpret_cast<std::uintptr_t>(target.data()) % memory_alignment_ == 0;
  if (fits)
    return {{file_, offset, target, block_},
            [this, target, end](std::int64_t result) { check(result, std::ssize(target), end); }};
  const std::shared_ptr<std::byte> blocks = spare_blocks().take(last - first);
  const std::int64_t before = offset - first;
  return {{file_, first, {blocks.get(), static_cast<std::size_t>(last - first)}, block_},
          [this, target, end, before, blocks](std::int64_t result) {
            check(result, before + std::ssize(target), end);
            if (!target.empty()) std::memcpy(target.data(), blocks.get() + before, target.size());
          }};
}

std::function<void()> StorageFile::reading(std::int64_t offset, std::span<std::byte> target) const {
  auto planned = plan(offset, target);
  if (!planned) return [this, offset, target] { read(offset, target); };
  return FileTransfer{{planned->read},
                      [finish = std::move(planned->finish)](std::span<const std::int64_t> results) {
                        finish(results.front());
                        return std::function<void()>();
                      }};
}

PageCache cold_reads_in(const std::string& directory) {
  // mkstemp replaces the last six letters.
  std::string path = directory + "/cold-" + std::string(6, 'X');
  const int file = ::mkstemp(path.data());
  if (file < 0)
    throw WorldError("cannot make a file in '" + directory + "' to test cold reads: " + std::strerror(errno));
  const std::vector<char> bytes(2 * alignment, 'x');
  const bool is_written = ::write(file, bytes.data(), bytes.size()) == std::ssize(bytes);
  ::close(file);
  PageCache found = PageCache::unavoidable;
  if (is_written) found = StorageFile(path, true).page_cache();
  ::unlink(path.c_str());
  return found;
}

const char* describe(PageCache page_cache) {
  switch (page_cache) {
    case PageCache::used:
      return "through the page cache";
    case PageCache::direct:
      return "past the page cache (O_DIRECT)";
    case PageCache::dropped:
      return "past the page cache (pages are dropped before each read)";
    case PageCache::unavoidable:
      break;
  }
  return "through the page cache, which this file system does not let reads avoid";
}

}  // namespace tandem
