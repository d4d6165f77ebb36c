// Headers of tar archives (POSIX ustar), as shards have them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "policies/vocabulary/units.hpp"

namespace tandem::tar {

/// Headers and contents begin at multiples of it; two empty ones end an archive.
inline constexpr std::int64_t block_bytes = 512;
using Block = std::array<std::byte, block_bytes>;

/// The size of the content in whole blocks.
constexpr Bytes padded(Bytes size) {
  return Bytes((size.count() + block_bytes - 1) / block_bytes * block_bytes);
}
/// The header of a plain file. Pre: the name has at most 100 bytes, the size at most 8 GiB.
Block header_of(const std::string& name, Bytes size);
/// The size of the file with this header; none: it is no header.
std::optional<Bytes> size_in(std::span<const std::byte, block_bytes> block);

}  // namespace tandem::tar
