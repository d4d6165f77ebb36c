#include "runtime/process/descriptor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

Descriptor checked(int number, const std::string& action) {
  if (number < 0) throw WorldError(fmt::format("{}: {}", action, std::strerror(errno)));
  return Descriptor(number);
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this == &other) return *this;
  close();
  number_ = other.release();
  return *this;
}

void Descriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

int Descriptor::release() { return std::exchange(number_, -1); }

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw WorldError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Descriptor make_memory_file() {
  return checked(memfd_create("tandem", MFD_CLOEXEC), "cannot make a file in memory");
}

Descriptor create_file(const std::string& path) {
  return checked(open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644), "cannot write " + path);
}

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const auto count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw WorldError(fmt::format("cannot write: {}", std::strerror(errno)));
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string read_file_from_start(int descriptor) {
  std::string all;
  std::array<char, 65536> buffer{};
  for (off_t offset = 0;;) {
    const auto count = ::pread(descriptor, buffer.data(), buffer.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw WorldError(fmt::format("cannot read: {}", std::strerror(errno)));
    if (count == 0) return all;
    all.append(buffer.data(), static_cast<std::size_t>(count));
    offset += count;
  }
}

}  // namespace tandem
