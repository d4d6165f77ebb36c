// 16-bit floats by the definition of their format, converted like CUDA: to nearest, ties to even, infinity on
// overflow; NaN becomes 0x7fff, and 0x7fffffff as a float.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tandem::cuda_on_host {

struct SmallFormat {
  int mantissa_bits;
  int bias;
};
constexpr SmallFormat binary16{10, 15};
constexpr SmallFormat bfloat16{7, 127};

inline unsigned short rounded(float value, SmallFormat format) {
  if (std::isnan(value)) return 0x7fffU;
  const unsigned sign = std::signbit(value) ? 0x8000U : 0U;
  const int infinity = 0x8000 - (1 << format.mantissa_bits);
  if (std::isinf(value)) return static_cast<unsigned short>(sign | static_cast<unsigned>(infinity));
  const double magnitude = std::abs(static_cast<double>(value));
  const double least_normal = std::ldexp(1.0, 1 - format.bias);
  const int exponent = magnitude < least_normal ? 1 - format.bias : std::ilogb(magnitude);
  // In units of the last place at this exponent; a carry increments the exponent bits.
  const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  const double least_units = std::ldexp(1.0, format.mantissa_bits);
  const double bits = units < least_units ? units : (exponent + format.bias - 1) * least_units + units;
  return static_cast<unsigned short>(
      sign | static_cast<unsigned>(bits < infinity ? static_cast<int>(bits) : infinity));
}

inline float widened(unsigned short bits, SmallFormat format) {
  const int magnitude = bits & 0x7fff;
  const int field = magnitude >> format.mantissa_bits;
  const int fraction = magnitude & ((1 << format.mantissa_bits) - 1);
  const int last_field = 0x7fff >> format.mantissa_bits;
  if (field == last_field && fraction != 0) return std::bit_cast<float>(0x7fffffffU);
  const double value = field == last_field ? std::numeric_limits<double>::infinity()
                       : field == 0        ? std::ldexp(fraction, 1 - format.bias - format.mantissa_bits)
                                           : std::ldexp(fraction + (1 << format.mantissa_bits),
                                                        field - format.bias - format.mantissa_bits);
  return static_cast<float>((bits & 0x8000) != 0 ? -value : value);
}

}  // namespace tandem::cuda_on_host
