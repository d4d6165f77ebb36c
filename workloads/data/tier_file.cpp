#include "workloads/data/tier_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/data/checked_read.hpp"

namespace tandem {

TierFile::TierFile(std::string path, const cache::Manifest& manifest, Begin begin) : path_(std::move(path)) {
  begin_of_.push_back(0);
  for (SampleId id = 0; id < manifest.samples; ++id)
    begin_of_.push_back(begin_of_.back() + manifest.size_of(id).count());
  written_.resize(static_cast<std::size_t>(manifest.samples));
  const int replaces = begin == Begin::as_left ? 0 : O_TRUNC;
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | replaces, 0600);
  if (file_ < 0) throw WorldError("cannot create the cache tier " + path_ + ": " + std::strerror(errno));
  if (begin == Begin::nameless) ::unlink(path_.c_str());
}

TierFile::~TierFile() {
  if (file_ >= 0) ::close(file_);
}

void TierFile::fail(const char* what, SampleId id) const {
  throw WorldError(std::string("cannot ") + what + " sample " + std::to_string(id) + " of the cache tier " +
                   path_ + ": " + std::strerror(errno));
}

bool TierFile::write(SampleId id, std::span<const std::byte> record) {
  Written& written = written_.at(static_cast<std::size_t>(id));
  written = {.is_there = false, .checksum = quick_checksum(record)};
  std::int64_t at = begin_of_.at(static_cast<std::size_t>(id));
  while (!record.empty()) {
    const ssize_t count = ::pwrite(file_, record.data(), record.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) return false;
    if (count <= 0) fail("write", id);
    record = record.subspan(static_cast<std::size_t>(count));
    at += count;
  }
  written.is_there = true;
  return true;
}

void TierFile::read(SampleId id, std::span<std::byte> target) const {
  const Written& written = written_.at(static_cast<std::size_t>(id));
  errno = ENODATA;
  if (!written.is_there) fail("read", id);
  if (!read_from(file_, id, target)) fail("read", id);
  errno = EILSEQ;
  if (quick_checksum(target) != written.checksum) fail("read", id);
}

/// False: it cannot be read, and errno says why.
bool TierFile::read_from(int file, SampleId id, std::span<std::byte> target) const {
  std::int64_t at = begin_of_.at(static_cast<std::size_t>(id));
  while (!target.empty()) {
    const ssize_t count = ::pread(file, target.data(), target.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = ENODATA;
    if (count <= 0) return false;
    target = target.subspan(static_cast<std::size_t>(count));
    at += count;
  }
  return true;
}

std::vector<TierEntry> TierFile::take_over(const std::string& from, std::span<const TierEntry> samples) {
  const bool is_own = from == path_;
  const int file = is_own ? file_ : ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
  std::vector<TierEntry> here;
  std::vector<std::byte> record;
  for (const TierEntry& sample : samples) {
    record.resize(size_of(sample.id));
    const bool is_sound =
        file >= 0 && read_from(file, sample.id, record) && quick_checksum(record) == sample.checksum;
    if (is_sound && is_own)
      written_[static_cast<std::size_t>(sample.id)] = {.is_there = true, .checksum = sample.checksum};
    if (is_sound && (is_own || write(sample.id, record))) here.push_back(sample);
  }
  if (!is_own && file >= 0) ::close(file);
  return here;
}

void TierFile::remove(SampleId id) {
  const auto index = static_cast<std::size_t>(id);
  const std::int64_t size = begin_of_[index + 1] - begin_of_[index];
  written_[index].is_there = false;
  // A file system that cannot do it keeps the bytes, which is no error.
  if (size > 0) ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin_of_[index], size);
}

}  // namespace tandem
