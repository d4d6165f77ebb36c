// The bytes of a trace, unpacked. Whether a file is packed with gzip is seen in its content, never in its
// name.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tandem::trace {

class PackedFile {
 public:
  /// Errors: ConfigError for a file that cannot be opened.
  explicit PackedFile(const std::string& path);

  /// Reads the next bytes: as many as fit, fewer only at the end, or where the packed bytes are broken.
  std::size_t read(std::span<char> into);
  /// Why no more bytes can be unpacked; empty: the file has ended, or has not been read to its end.
  const std::string& broken() const { return broken_; }
  /// Of the packed file, 0 to 1.
  double share_read() const;

 private:
  struct Close {
    void operator()(void* file) const;
  };

  std::unique_ptr<void, Close> file_;  ///< of zlib
  std::uint64_t size_ = 0;             ///< packed
  std::string broken_;
};

}  // namespace tandem::trace
