// Reads one IDX file (the format of MNIST), gzip or plain: a header with the extents, then unsigned bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/data/data_file.hpp"

namespace tandem {

/// An open file, read from front to back. Every error is a ConfigError that names the file, what was expected
/// and what was found.
class IdxFile {
 public:
  /// Reads the header. Errors: cannot be opened; not IDX with unsigned bytes and `dimensions` extents.
  IdxFile(const std::string& path, int dimensions);

  /// "IDX file '/data/train-images-idx3-ubyte.gz'".
  const std::string& name() const { return file_.name(); }
  /// Number of items, then the extents of each.
  const std::vector<std::int64_t>& extents() const { return extents_; }
  std::int64_t items() const { return extents_.front(); }
  std::int64_t item_bytes() const;

  /// The next `count` items. Errors: truncated or corrupt.
  std::vector<std::byte> read(std::int64_t count);
  /// Errors: more bytes follow, or the checksum of a gzip file is wrong.
  void expect_end() { file_.expect_end(std::to_string(items()) + " items"); }

 private:
  DataFile file_;
  std::vector<std::int64_t> extents_;
};

}  // namespace tandem
