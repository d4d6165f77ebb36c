// Reads one IDX file (the format of MNIST), gzip or plain: a header with the extents, then unsigned bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tandem {

/// An open file, read from front to back. Every error is a ConfigError that names the file, what was expected
/// and what was found.
class IdxFile {
 public:
  /// Reads the header. Errors: cannot be opened; not IDX with unsigned bytes and `dimensions` extents.
  IdxFile(std::string path, int dimensions);

  const std::string& path() const { return path_; }
  /// Number of items, then the extents of each.
  const std::vector<std::int64_t>& extents() const { return extents_; }
  std::int64_t items() const { return extents_.front(); }
  std::int64_t item_bytes() const;

  /// The next `count` items. Errors: truncated or corrupt.
  std::vector<std::byte> read(std::int64_t count);
  /// Errors: more bytes follow, or the checksum of a gzip file is wrong.
  void expect_end();

 private:
  std::size_t read_some(std::span<std::byte> into);
  struct Close {
    void operator()(void* file) const;
  };
  std::string path_;
  std::unique_ptr<void, Close> file_;
  std::vector<std::int64_t> extents_;
};

}  // namespace tandem
