#include "workloads/data/tier_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {

TierFile::TierFile(std::string path, const cache::Manifest& manifest) : path_(std::move(path)) {
  begin_of_.push_back(0);
  for (SampleId id = 0; id < manifest.samples; ++id)
    begin_of_.push_back(begin_of_.back() + manifest.size_of(id).count());
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file_ < 0) throw WorldError("cannot create the cache tier " + path_ + ": " + std::strerror(errno));
}

TierFile::~TierFile() {
  if (file_ >= 0) ::close(file_);
  ::unlink(path_.c_str());
}

void TierFile::fail(const char* what, SampleId id) const {
  throw WorldError(std::string("cannot ") + what + " sample " + std::to_string(id) + " of the cache tier " +
                   path_ + ": " + std::strerror(errno));
}

void TierFile::write(SampleId id, std::span<const std::byte> record) {
  std::int64_t at = begin_of_.at(static_cast<std::size_t>(id));
  while (!record.empty()) {
    const ssize_t count = ::pwrite(file_, record.data(), record.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("write", id);
    record = record.subspan(static_cast<std::size_t>(count));
    at += count;
  }
}

void TierFile::read(SampleId id, std::span<std::byte> target) const {
  std::int64_t at = begin_of_.at(static_cast<std::size_t>(id));
  while (!target.empty()) {
    const ssize_t count = ::pread(file_, target.data(), target.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = ENODATA;
    if (count <= 0) fail("read", id);
    target = target.subspan(static_cast<std::size_t>(count));
    at += count;
  }
}

void TierFile::remove(SampleId id) {
  const auto index = static_cast<std::size_t>(id);
  const std::int64_t size = begin_of_[index + 1] - begin_of_[index];
  // A file system that cannot do it keeps the bytes, which is no error.
  if (size > 0) ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin_of_[index], size);
}

}  // namespace tandem
