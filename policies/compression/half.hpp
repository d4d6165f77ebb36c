// 16-bit floats: IEEE binary16, and bfloat16, the upper half of a float. Rounded to nearest, ties to even;
// finite numbers that are too large become the largest finite one.
#pragma once

#include <bit>
#include <cstdint>

namespace tandem::compression {

struct Fp16 {
  static std::uint16_t narrow(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16U) & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    return static_cast<std::uint16_t>(sign | narrow_magnitude(magnitude));
  }
  static float widen(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000U) << 16U;
    const std::uint32_t magnitude = half & 0x7fffU;
    std::uint32_t bits = 0;
    if (magnitude >= infinity)
      bits = float_infinity | ((magnitude & 0x3ffU) << 13U);
    else if (magnitude < smallest_normal)
      bits = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1.0p-24F);
    else
      bits = (magnitude << 13U) + rebias;
    return std::bit_cast<float>(sign | bits);
  }

 private:
  static constexpr std::uint32_t float_infinity = 0x7f800000U;
  static constexpr std::uint32_t infinity = 0x7c00U;
  static constexpr std::uint32_t largest = 0x7bffU;
  static constexpr std::uint32_t smallest_normal = 0x400U;
  static constexpr std::uint32_t rebias = (127U - 15U) << 23U;

  static std::uint32_t narrow_magnitude(std::uint32_t magnitude) {
    constexpr std::uint32_t beyond_largest = 0x477ff000U;  // 65520: from here on, numbers round to 65536
    constexpr std::uint32_t least_normal = 0x38800000U;    // 2^-14
    constexpr std::uint32_t one_half = 0x3f000000U;        // its last bit is the smallest subnormal, 2^-24
    if (magnitude > float_infinity) return infinity | 0x200U;
    if (magnitude == float_infinity) return infinity;
    if (magnitude >= beyond_largest) return largest;
    if (magnitude < least_normal)
      return std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - one_half;
    return (magnitude + 0xfffU + ((magnitude >> 13U) & 1U) - rebias) >> 13U;
  }
};

struct Bf16 {
  static std::uint16_t narrow(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > infinity) return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);
    const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U;
    const bool overflowed = (rounded & 0x7fffU) == (infinity >> 16U) && magnitude != infinity;
    return static_cast<std::uint16_t>(overflowed ? rounded - 1 : rounded);
  }
  static float widen(std::uint16_t half) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16U);
  }

 private:
  static constexpr std::uint32_t infinity = 0x7f800000U;
};

}  // namespace tandem::compression
