#include "workloads/data/storage_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

/// Of offset, size and memory of direct reads. Disks ask for 512 or 4096.
constexpr std::int64_t alignment = 4096;

std::int64_t aligned_down(std::int64_t offset) { return offset / alignment * alignment; }
std::int64_t aligned_up(std::int64_t offset) { return aligned_down(offset + alignment - 1); }

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};
std::unique_ptr<std::byte, Free> aligned_memory(std::int64_t size) {
  std::unique_ptr<std::byte, Free> memory(static_cast<std::byte*>(
      std::aligned_alloc(static_cast<std::size_t>(alignment), static_cast<std::size_t>(size))));
  if (!memory) throw WorldError("no memory for reads of " + std::to_string(size) + " bytes");
  return memory;
}

/// Its files have no other place than the page cache.
bool is_in_memory(int file) {
  constexpr long tmpfs = 0x01021994, ramfs = 0x858458f6;
  struct statfs system {};
  return fstatfs(file, &system) == 0 && (system.f_type == tmpfs || system.f_type == ramfs);
}

/// Of the first pages.
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
}

StorageFile::~StorageFile() {
  if (file_ >= 0) ::close(file_);
}

/// Some file systems refuse O_DIRECT when the file is opened, others when it is read.
bool StorageFile::opens_directly() {
  const int direct = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  if (direct < 0) return false;
  const auto memory = aligned_memory(alignment);
  if (::pread(direct, memory.get(), static_cast<std::size_t>(alignment), 0) < 0) {
    ::close(direct);
    return false;
  }
  ::close(std::exchange(file_, direct));
  return true;
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

/// As many bytes as there are, up to the end of the file.
std::size_t StorageFile::read_some(std::int64_t offset, std::span<std::byte> target) const {
  std::size_t done = 0;
  while (done < target.size()) {
    const ssize_t count =
        ::pread(file_, target.data() + done, target.size() - done, offset + static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot read");
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
    // A direct read ends within a block at the end of the file only.
    if (page_cache_ == PageCache::direct && count % alignment != 0) break;
  }
  return done;
}

void StorageFile::read(std::int64_t offset, std::span<std::byte> target) const {
  if (page_cache_ == PageCache::direct) return read_directly(offset, target);
  if (page_cache_ == PageCache::dropped) {
    const std::int64_t begin = aligned_down(offset);
    posix_fadvise(file_, begin, aligned_up(offset + std::ssize(target)) - begin, POSIX_FADV_DONTNEED);
  }
  if (read_some(offset, target) < target.size())
    throw WorldError("'" + path_ + "' ends before byte " + std::to_string(offset + std::ssize(target)));
}

void StorageFile::read_directly(std::int64_t offset, std::span<std::byte> target) const {
  const std::int64_t begin = aligned_down(offset), end = aligned_up(offset + std::ssize(target));
  const std::int64_t before = offset - begin;
  const bool fits = before == 0 && end - begin == std::ssize(target) &&
                    reinterpret_cast<std::uintptr_t>(target.data()) % alignment == 0;
  const auto memory = fits ? nullptr : aligned_memory(end - begin);
  std::byte* const blocks = fits ? target.data() : memory.get();
  const std::size_t there = read_some(begin, {blocks, static_cast<std::size_t>(end - begin)});
  if (static_cast<std::int64_t>(there) < before + std::ssize(target))
    throw WorldError("'" + path_ + "' ends before byte " + std::to_string(offset + std::ssize(target)));
  if (!fits) std::memcpy(target.data(), blocks + before, target.size());
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
