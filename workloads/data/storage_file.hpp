// A file that is read in parts, by several threads at the same time, through the kernel's page cache or past
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "policies/vocabulary/units.hpp"
#include "workloads/files/file_transfer.hpp"

namespace tandem {

/// Whether reads of a file use the page cache.
enum class PageCache : std::uint8_t {
  used,        ///< warm: parts that were read before come from memory
  direct,      ///< cold: O_DIRECT
  dropped,     ///< cold: the pages are dropped before each read (POSIX_FADV_DONTNEED)
  unavoidable  ///< cold reads were asked for, and the file system has its files in memory or keeps the pages
};

class StorageFile {
 public:
  /// `cold`: reads bypass the page cache if the file system allows it. Bytes that were written into the file
  /// so far go to the disk first. Errors of all functions: WorldError naming the file.
  StorageFile(std::string path, bool cold);
  /// Reads in the same way as another file of the same file system, which was opened before. Saves the
  /// trials.
  StorageFile(std::string path, PageCache like);
  ~StorageFile();
  StorageFile(const StorageFile&) = delete;
  StorageFile& operator=(const StorageFile&) = delete;

  PageCache page_cache() const { return page_cache_; }
  const std::string& path() const { return path_; }
  /// Errors: the file has another size, because it was changed.
  void expect_size(Bytes expected) const;
  /// Fills `target` with the bytes from `offset` on. Errors: also for a file that ends before.
  void read(std::int64_t offset, std::span<std::byte> target) const;
  /// The same read as data; nullopt unless reads are direct. Others also copy from the page cache, which
  /// belongs on a thread. The file must outlive it.
  std::optional<PlannedRead> plan(std::int64_t offset, std::span<std::byte> target) const;
  /// The same read as a transfer for Context::read. The file must outlive it.
  std::function<void()> reading(std::int64_t offset, std::span<std::byte> target) const;

 private:
  bool opens_directly();
  void find_alignment();
  PlannedRead plan_direct(std::int64_t offset, std::span<std::byte> target) const;
  void check(std::int64_t result, std::int64_t needed, std::int64_t end) const;
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  int file_ = -1;
  PageCache page_cache_ = PageCache::used;
  /// Of direct reads; usual disks ask for 512 or 4096.
  std::int64_t block_ = 4096;             ///< of offset and size
  std::int64_t memory_alignment_ = 4096;  ///< of memory
};

/// Whether cold reads of a new file in `directory` use the page cache. Errors: WorldError.
PageCache cold_reads_in(const std::string& directory);
/// "past the page cache (O_DIRECT)" and the like.
const char* describe(PageCache page_cache);

}  // namespace tandem
