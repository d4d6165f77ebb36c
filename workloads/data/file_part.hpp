// Reads parts of a file at their places; several threads may do that at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "policies/vocabulary/units.hpp"

namespace tandem {

class FilePart {
 public:
  /// Errors of all functions: WorldError naming the file.
  explicit FilePart(std::string path);
  ~FilePart();
  FilePart(const FilePart&) = delete;
  FilePart& operator=(const FilePart&) = delete;

  const std::string& path() const { return path_; }
  Bytes size() const;
  /// Errors: also for another size, because the file was changed.
  void expect_size(Bytes expected) const;
  /// Fills `target` with the bytes from `offset` on. Errors: also for a file that ends before.
  void read(std::int64_t offset, std::span<std::byte> target) const;

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace tandem
