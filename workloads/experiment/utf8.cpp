#include "workloads/experiment/utf8.hpp"

#include <cstdint>

namespace tandem {
namespace {

/// Bytes of the character that begins with this one, by the number of its leading one bits; 0: none does.
std::size_t length_of(std::uint8_t first) {
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return 2;
  if (first < 0xF0) return 3;
  return first < 0xF5 ? 4 : 0;
}

/// The second byte rules out overlong forms, surrogates and what lies above U+10FFFF.
bool second_fits(std::uint8_t first, std::uint8_t second) {
  switch (first) {
    case 0xE0:
      return second >= 0xA0;
    case 0xED:
      return second < 0xA0;
    case 0xF0:
      return second >= 0x90;
    case 0xF4:
      return second < 0x90;
    default:
      return true;
  }
}

}  // namespace

std::optional<std::size_t> first_not_utf8(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_of(byte(at));
    if (length == 0 || at + length > text.size()) return at;
    for (std::size_t i = 1; i < length; ++i)
      if ((byte(at + i) & 0xC0) != 0x80) return at;
    if (length > 1 && !second_fits(byte(at), byte(at + 1))) return at;
    at += length;
  }
  return std::nullopt;
}

}  // namespace tandem
