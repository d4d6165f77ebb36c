// Arrays in MATLAB files, versions 4 to 7.3, read by libmatio. The library is loaded on first use: it brings
// HDF5 and thirty more, which take tens of milliseconds to load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tandem {

class MatFile {
 public:
  /// Errors: ConfigError when the file is none of MATLAB's, or libmatio is not installed.
  explicit MatFile(std::string path);
  ~MatFile();
  MatFile(const MatFile&) = delete;
  MatFile& operator=(const MatFile&) = delete;

  const std::string& path() const { return path_; }
  /// The extents of an array, the fastest first. Errors (this and below): ConfigError when there is no array
  /// of that name, or it is damaged.
  std::vector<std::int64_t> extents(const std::string& name) const;
  /// An array of bytes, as it is stored: its first `count` along the last extent. Errors: also another type.
  std::vector<std::byte> bytes(const std::string& name, std::int64_t count) const;
  /// An array of whole numbers, of bytes or doubles. Errors: also another type.
  std::vector<std::int64_t> numbers(const std::string& name) const;

 private:
  struct Open;
  std::string path_;
  std::unique_ptr<Open> open_;
};

}  // namespace tandem
