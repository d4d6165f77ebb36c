#include "workloads/data/tar.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <string_view>

#include "policies/vocabulary/check.hpp"

namespace tandem::tar {
namespace {

struct Field {
  std::size_t offset;
  std::size_t bytes;
};
// POSIX.1-2017, pax, "ustar Interchange Format".
constexpr Field name_field{0, 100}, mode_field{100, 8}, owner_field{108, 8}, group_field{116, 8},
    size_field{124, 12}, time_field{136, 12}, sum_field{148, 8}, type_field{156, 1}, magic_field{257, 6},
    version_field{263, 2};
constexpr std::string_view magic("ustar", 6);

void put(Block& block, const Field& field, std::string_view text) {
  TANDEM_CHECK(text.size() <= field.bytes, text, field.bytes);
  std::memcpy(block.data() + field.offset, text.data(), text.size());
}

/// Octal digits that fill all of the field but its last byte.
void put_number(Block& block, const Field& field, std::uint64_t number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, 8).ptr;
  const std::string_view text(digits, static_cast<std::size_t>(end - digits));
  TANDEM_CHECK(text.size() < field.bytes, number, field.bytes);
  put(block, field, std::string(field.bytes - 1 - text.size(), '0') + std::string(text));
}

std::string_view text_in(std::span<const std::byte, block_bytes> block, const Field& field) {
  return {reinterpret_cast<const char*>(block.data()) + field.offset, field.bytes};
}

std::optional<std::uint64_t> number_in(std::span<const std::byte, block_bytes> block, const Field& field) {
  std::string_view text = text_in(block, field);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 8);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

/// The sum of all bytes, with blanks in place of the sum itself.
std::uint64_t sum_of(std::span<const std::byte, block_bytes> block) {
  const auto add = [](std::uint64_t sum, std::byte byte) { return sum + std::to_integer<unsigned>(byte); };
  const auto own = block.subspan(sum_field.offset, sum_field.bytes);
  const std::uint64_t all = std::accumulate(block.begin(), block.end(), std::uint64_t{0}, add);
  return all - std::accumulate(own.begin(), own.end(), std::uint64_t{0}, add) + sum_field.bytes * ' ';
}

}  // namespace

Block header_of(const std::string& name, Bytes size) {
  Block block{};
  put(block, name_field, name);
  put_number(block, mode_field, 0644);
  put_number(block, owner_field, 0);
  put_number(block, group_field, 0);
  put_number(block, size_field, static_cast<std::uint64_t>(size.count()));
  // The same samples make the same archive at any time.
  put_number(block, time_field, 0);
  put(block, type_field, "0");
  put(block, magic_field, magic);
  put(block, version_field, "00");
  put_number(block, sum_field, sum_of(block));
  return block;
}

std::optional<Bytes> size_in(std::span<const std::byte, block_bytes> block) {
  if (text_in(block, magic_field).substr(0, 5) != magic.substr(0, 5)) return std::nullopt;
  if (number_in(block, sum_field) != sum_of(block)) return std::nullopt;
  const auto size = number_in(block, size_field);
  if (!size) return std::nullopt;
  return Bytes(static_cast<std::int64_t>(*size));
}

}  // namespace tandem::tar
