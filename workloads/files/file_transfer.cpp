#include "workloads/files/file_transfer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tandem {

FileRead ReadProgress::rest() const {
  // The kernel transfers less than 2 GiB per request, and io_uring counts in 32 bits.
  constexpr std::size_t most = std::size_t{1} << 30;
  FileRead rest = read_;
  rest.offset += done_;
  rest.target = read_.target.subspan(static_cast<std::size_t>(done_));
  rest.target = rest.target.first(std::min(rest.target.size(), most));
  return rest;
}

bool ReadProgress::take(std::int64_t result) {
  if (result == -EINTR) return true;
  if (result < 0) {
    error_ = result;
    return false;
  }
  done_ += result;
  return result > 0 && done_ < std::ssize(read_.target) && result % read_.block == 0;
}

std::int64_t read_and_wait(const FileRead& read) {
  ReadProgress progress(read);
  while (true) {
    const FileRead rest = progress.rest();
    const ssize_t count = ::pread(rest.file, rest.target.data(), rest.target.size(), rest.offset);
    if (!progress.take(count < 0 ? -std::int64_t{errno} : count)) return progress.result();
  }
}

void FileTransfer::operator()() const {
  std::vector<std::int64_t> results;
  results.reserve(reads.size());
  for (const FileRead& read : reads) results.push_back(read_and_wait(read));
  if (!then) return;
  if (const auto rest = then(results)) rest();
}

}  // namespace tandem
