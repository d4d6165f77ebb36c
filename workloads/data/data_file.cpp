#include "workloads/data/data_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{4} << 20;

gzFile handle(void* file) { return static_cast<gzFile>(file); }

}  // namespace

void DataFile::Close::operator()(void* file) const { gzclose(handle(file)); }

DataFile::DataFile(const std::string& kind, const std::string& path)
    : name_(kind + " '" + path + "'"), file_(gzopen(path.c_str(), "rb")) {
  if (!file_) throw ConfigError(name_ + " cannot be opened: " + std::strerror(errno));
}

std::size_t DataFile::read_some(std::span<std::byte> into) {
  const int read = gzread(handle(file_.get()), into.data(), static_cast<unsigned>(into.size()));
  int code = Z_OK;
  const char* message = gzerror(handle(file_.get()), &code);
  // An incomplete gzip stream (Z_BUF_ERROR) is a truncated file; the caller reports what was expected.
  if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
    throw ConfigError(name_ + " is corrupt: " + message);
  return read < 0 ? 0 : static_cast<std::size_t>(read);
}

std::vector<std::byte> DataFile::read(std::size_t count, const std::string& what) {
  std::vector<std::byte> bytes;
  // Memory grows with the actual contents of the file: a corrupt header may state any size.
  while (bytes.size() < count) {
    const std::size_t before = bytes.size();
    const std::size_t next = std::min(chunk_bytes, count - before);
    bytes.resize(before + next);
    const std::size_t found = read_some(std::span(bytes).subspan(before));
    if (found < next)
      throw ConfigError(name_ + " is truncated: expected " + std::to_string(count) + " bytes for " + what +
                        ", found " + std::to_string(before + found));
  }
  return bytes;
}

void DataFile::expect_end(const std::string& what) {
  std::byte more{};
  if (read_some({&more, 1}) > 0)
    throw ConfigError(name_ + ": expected the end after " + what + ", found more bytes");
}

}  // namespace tandem
