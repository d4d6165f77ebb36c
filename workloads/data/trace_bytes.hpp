// The bytes of a trace, in order: of a file as it is, or unpacked on the way (.zst).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tandem {

class TraceBytes {
 public:
  virtual ~TraceBytes() = default;
  /// Reads the next bytes: as many as fit, fewer only at the end. Errors: ConfigError for a file that cannot
  /// be unpacked.
  virtual std::size_t read(std::span<char> bytes) = 0;
  /// The size of the trace; 0: not known.
  virtual std::size_t size() const { return 0; }
  /// Share of the file that was read.
  virtual double share_read() = 0;
};

/// Files whose name ends in .zst or .zst.NN are unpacked. Errors: ConfigError for a file that is missing or
/// empty.
std::unique_ptr<TraceBytes> open_trace(const std::string& path);
/// The name without .zst or .zst.NN.
std::string without_compression(const std::string& path);

}  // namespace tandem
