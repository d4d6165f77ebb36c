// The elements that an all-reduce adds up: their type and size on the wire. The device in whose memory the
// elements are does the additions.
#pragma once

#include <cstdint>

namespace tandem::collectives {

struct Element {
  /// fp16 and bf16 are rounded after each addition. Bytes are never added, as in an all-gather.
  enum class Kind : std::uint8_t { float32, fp16, bf16, bytes } kind = Kind::bytes;
  std::int64_t bytes = 1;
  bool operator==(const Element&) const = default;
  bool is_gathered() const { return kind == Kind::bytes; }
};

inline constexpr Element float_element{Element::Kind::float32, 4};
inline constexpr Element fp16_element{Element::Kind::fp16, 2};
inline constexpr Element bf16_element{Element::Kind::bf16, 2};
inline constexpr Element byte_element{Element::Kind::bytes, 1};

}  // namespace tandem::collectives
