#include "workloads/trace/packed_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "policies/vocabulary/check.hpp"

namespace tandem::trace {
namespace {

gzFile handle(void* file) { return static_cast<gzFile>(file); }

}  // namespace

void PackedFile::Close::operator()(void* file) const { gzclose(handle(file)); }

// zlib passes on the bytes of a file that does not begin with the two bytes of gzip.
PackedFile::PackedFile(const std::string& path) : file_(gzopen(path.c_str(), "rb")) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown))
    throw ConfigError(path + ": expected a trace, found a directory; name its files, such as " + path +
                      "/*.json.gz");
  if (!file_)
    throw ConfigError(path + ": expected a trace, found no file that can be read: " + std::strerror(errno));
  const auto size = std::filesystem::file_size(path, unknown);
  if (!unknown) size_ = size;
  constexpr unsigned buffer = 1U << 18U;
  gzbuffer(handle(file_.get()), buffer);
}

double PackedFile::share_read() const {
  const auto passed = static_cast<double>(gzoffset(handle(file_.get())));
  return size_ == 0 ? 0.0 : std::clamp(passed / static_cast<double>(size_), 0.0, 1.0);
}

std::size_t PackedFile::read(std::span<char> into) {
  std::size_t count = 0;
  while (count < into.size() && broken_.empty()) {
    constexpr std::size_t most = std::size_t{1} << 30U;
    const auto wanted = static_cast<unsigned>(std::min(into.size() - count, most));
    const int found = gzread(handle(file_.get()), into.data() + count, wanted);
    if (found > 0) count += static_cast<std::size_t>(found);
    if (found == static_cast<int>(wanted)) continue;
    int code = Z_OK;
    gzerror(handle(file_.get()), &code);
    if (code == Z_BUF_ERROR)
      broken_ = "the file packed by gzip is truncated";
    else if (code == Z_ERRNO)
      broken_ = std::string("the file cannot be read: ") + std::strerror(errno);
    else if (code != Z_OK && code != Z_STREAM_END)
      broken_ = "the file packed by gzip is corrupt";
    break;
  }
  return count;
}

}  // namespace tandem::trace
