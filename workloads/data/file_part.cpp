#include "workloads/data/file_part.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {

FilePart::FilePart(std::string path)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (file_ < 0) throw WorldError(fmt::format("cannot open '{}': {}", path_, std::strerror(errno)));
}

FilePart::~FilePart() { ::close(file_); }

Bytes FilePart::size() const {
  struct stat status {};
  if (fstat(file_, &status) != 0)
    throw WorldError(fmt::format("cannot read '{}': {}", path_, std::strerror(errno)));
  return Bytes(status.st_size);
}

void FilePart::expect_size(Bytes expected) const {
  if (const Bytes found = size(); found != expected)
    throw WorldError(fmt::format("'{}' was changed since the job began: expected {} bytes, found {}", path_,
                                 expected.count(), found.count()));
}

void FilePart::read(std::int64_t offset, std::span<std::byte> target) const {
  while (!target.empty()) {
    const ssize_t count = ::pread(file_, target.data(), target.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw WorldError(fmt::format("cannot read '{}': {}", path_, std::strerror(errno)));
    if (count == 0)
      throw WorldError(
          fmt::format("'{}' was changed since the job began: it ends at byte {}", path_, offset));
    target = target.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
}

}  // namespace tandem
