#include "workloads/data/idx.hpp"

#include <array>
#include <cstdio>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

constexpr std::uint32_t unsigned_bytes = 0x0800;

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

IdxFile::IdxFile(const std::string& path, int dimensions) : file_("IDX file", path) {
  std::vector<std::byte> header(4 + 4 * static_cast<std::size_t>(dimensions));
  const std::size_t found = file_.read_some(header);
  if (found < header.size())
    throw ConfigError(name() + " is truncated: expected a header of " + std::to_string(header.size()) +
                      " bytes, found " + std::to_string(found));
  const std::uint32_t expected_magic = unsigned_bytes + static_cast<std::uint32_t>(dimensions);
  const std::uint32_t magic = big_endian(header.data());
  if (magic != expected_magic)
    throw ConfigError(name() + ": expected magic number " + to_hexadecimal(expected_magic) +
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
  return file_.read(static_cast<std::size_t>(count * item_bytes()), std::to_string(count) + " items");
}

}  // namespace tandem
