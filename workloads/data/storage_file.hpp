// A file that is read in parts, by several threads at the same time, through the kernel's page cache or past
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// How reads of a file meet the page cache.
enum class PageCache : std::uint8_t {
  used,        ///< warm: what was read before comes from memory
  direct,      ///< cold: O_DIRECT
  dropped,     ///< cold: the pages are dropped before each read (POSIX_FADV_DONTNEED)
  unavoidable  ///< cold reads were asked for, and the file system has its files in memory or keeps the pages
};

class StorageFile {
 public:
  /// `cold`: reads pass by the page cache where the file system allows it. What was written into the file so
  /// far goes to the disk first. Errors of all functions: WorldError naming the file.
  StorageFile(std::string path, bool cold);
  /// Reads as another file of the same file system does, which was opened before. Saves its trials.
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

 private:
  bool opens_directly();
  void read_directly(std::int64_t offset, std::span<std::byte> target) const;
  std::size_t read_some(std::int64_t offset, std::span<std::byte> target) const;
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  int file_ = -1;
  PageCache page_cache_ = PageCache::used;
};

/// How cold reads of a new file in `directory` meet the page cache. Errors: WorldError.
PageCache cold_reads_in(const std::string& directory);
/// "past the page cache (O_DIRECT)" and the like.
const char* describe(PageCache page_cache);

}  // namespace tandem
