#include "workloads/idx.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{4} << 20;
constexpr std::uint32_t unsigned_bytes = 0x0800;

gzFile handle(void* file) { return static_cast<gzFile>(file); }

std::uint32_t big_endian(const std::byte* bytes) {
  std::uint32_t value = 0;
  for (int index = 0; index < 4; ++index) value = value << 8 | std::to_integer<std::uint32_t>(bytes[index]);
  return value;
}

std::string to_hexadecimal(std::uint32_t value) {
  std::array<char, 11> text{};
  std::snprintf(text.data(), text.size(), "0x%08x", value);
  return text.data();
}

}  // namespace

void IdxFile::Close::operator()(void* file) const { gzclose(handle(file)); }

IdxFile::IdxFile(std::string path, int dimensions)
    : path_(std::move(path)), file_(gzopen(path_.c_str(), "rb")) {
  if (!file_) throw ConfigError("IDX file '" + path_ + "' cannot be opened: " + std::strerror(errno));
  std::vector<std::byte> header(4 + 4 * static_cast<std::size_t>(dimensions));
  const std::size_t found = read_some(header);
  if (found < header.size())
    throw ConfigError("IDX file '" + path_ + "' is truncated: expected a header of " +
                      std::to_string(header.size()) + " bytes, found " + std::to_string(found));
  const std::uint32_t expected_magic = unsigned_bytes + static_cast<std::uint32_t>(dimensions);
  const std::uint32_t magic = big_endian(header.data());
  if (magic != expected_magic)
    throw ConfigError("IDX file '" + path_ + "': expected magic number " + to_hexadecimal(expected_magic) +
                      " (unsigned bytes, " + std::to_string(dimensions) + " dimensions), found " +
                      to_hexadecimal(magic));
  for (std::size_t at = 4; at < header.size(); at += 4) extents_.push_back(big_endian(header.data() + at));
}

std::int64_t IdxFile::item_bytes() const {
  std::int64_t bytes = 1;
  for (std::size_t index = 1; index < extents_.size(); ++index) bytes *= extents_[index];
  return bytes;
}

std::vector<std::byte> IdxFile::read(std::int64_t count) {
  const auto wanted = static_cast<std::size_t>(count * item_bytes());
  std::vector<std::byte> bytes;
  // Memory grows with what the file really holds: a corrupt header may promise anything.
  while (bytes.size() < wanted) {
    const std::size_t before = bytes.size();
    const std::size_t next = std::min(chunk_bytes, wanted - before);
    bytes.resize(before + next);
    const std::size_t found = read_some(std::span(bytes).subspan(before));
    if (found < next)
      throw ConfigError("IDX file '" + path_ + "' is truncated: expected " + std::to_string(wanted) +
                        " bytes for " + std::to_string(count) + " items, found " +
                        std::to_string(before + found));
  }
  return bytes;
}

void IdxFile::expect_end() {
  std::byte more{};
  if (read_some({&more, 1}) > 0)
    throw ConfigError("IDX file '" + path_ + "': expected the end after " + std::to_string(items()) +
                      " items, found more bytes");
}

std::size_t IdxFile::read_some(std::span<std::byte> into) {
  const int read = gzread(handle(file_.get()), into.data(), static_cast<unsigned>(into.size()));
  int code = Z_OK;
  const char* message = gzerror(handle(file_.get()), &code);
  // A gzip stream that breaks off (Z_BUF_ERROR) is a truncated file; the caller knows what was expected.
  if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
    throw ConfigError("IDX file '" + path_ + "' is corrupt: " + message);
  return read < 0 ? 0 : static_cast<std::size_t>(read);
}

}  // namespace tandem
