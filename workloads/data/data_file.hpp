// Reads a data set's file from front to back, gzip or plain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tandem {

/// An open file. Every error is a ConfigError that names the file, what was expected and what was found.
class DataFile {
 public:
  /// `kind`: the file's description in errors. Errors: cannot be opened.
  DataFile(const std::string& kind, const std::string& path);

  /// "IDX file '/data/train-images-idx3-ubyte.gz'".
  const std::string& name() const { return name_; }

  /// Fills `into` with the next bytes, or with the rest of the file. Returns their number. Errors: corrupt.
  std::size_t read_some(std::span<std::byte> into);
  /// The next `count` bytes, called `what` in errors. Errors: truncated or corrupt.
  std::vector<std::byte> read(std::size_t count, const std::string& what);
  /// Errors: more bytes follow `what`, or the checksum of a gzip file is wrong.
  void expect_end(const std::string& what);

 private:
  struct Close {
    void operator()(void* file) const;
  };
  std::string name_;
  std::unique_ptr<void, Close> file_;
};

}  // namespace tandem
