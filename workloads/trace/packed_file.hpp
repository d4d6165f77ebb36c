// The unpacked bytes of a trace. The content of the file shows whether it is packed with gzip; its name does
// not count.
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

  /// Fills the span with the next bytes. Returns fewer only at the end, or where the packed bytes are
  /// broken.
  std::size_t read(std::span<char> into);
  /// Why no more bytes can be unpacked; empty: the file has ended, or has not been read to its end.
  const std::string& broken() const { return broken_; }
  /// The share of the packed file that has been read, 0 to 1.
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
