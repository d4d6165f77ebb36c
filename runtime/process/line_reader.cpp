#include "runtime/process/line_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "policies/vocabulary/check.hpp"

namespace tandem {

LineReader::LineReader(Descriptor descriptor, std::function<void(const std::string&)> on_line)
    : descriptor_(std::move(descriptor)), on_line_(std::move(on_line)) {
  if (fcntl(descriptor_.number(), F_SETFL, O_NONBLOCK) != 0)
    throw WorldError(fmt::format("cannot make a pipe non-blocking: {}", std::strerror(errno)));
}

void LineReader::read_available() {
  std::array<char, 4096> buffer;
  // Bounded, so that a flood of lines cannot keep the caller from a signal; more than a pipe holds.
  for (int reads = 0; is_open() && reads < 64; ++reads) {
    const auto count = ::read(descriptor_.number(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      if (!rest_.empty()) on_line_(rest_);
      rest_.clear();
      descriptor_.close();
      return;
    }
    rest_.append(buffer.data(), static_cast<std::size_t>(count));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1)
      on_line_(rest_.substr(begin, end - begin));
    rest_.erase(0, begin);
  }
}

}  // namespace tandem
