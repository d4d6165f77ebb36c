// Splits what arrives on a pipe into lines, without blocking.
#pragma once

#include <functional>
#include <string>

#include "runtime/process/descriptor.hpp"

namespace tandem {

class LineReader {
 public:
  /// Makes the descriptor non-blocking. Errors: WorldError.
  LineReader(Descriptor descriptor, std::function<void(const std::string&)> on_line);

  /// To poll; -1 after the end of the stream.
  int descriptor() const { return descriptor_.number(); }
  bool is_open() const { return descriptor_.is_open(); }
  /// Reads what has arrived, at most 256 KiB, and calls `on_line` for each complete line; at the end of the
  /// stream also for an incomplete last line.
  void read_available();

 private:
  Descriptor descriptor_;
  std::function<void(const std::string&)> on_line_;
  std::string rest_;  ///< the beginning of an incomplete line
};

}  // namespace tandem
