// 16-bit floats against the definitions of their formats: every one of them, and the values in between.
#include "policies/compression/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "policies/vocabulary/rng.hpp"

namespace tandem::compression {
namespace TANDEM_FILE {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// By the definition of binary16: 1 sign bit, 5 exponent bits, 10 fraction bits.
double fp16_value(std::uint32_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>((bits >> 10U) & 31U);
  const auto fraction = static_cast<double>(bits & 1023U);
  if (exponent == 31) return fraction == 0.0 ? sign * static_cast<double>(infinity) : std::nan("");
  return exponent == 0 ? sign * std::ldexp(fraction, -24)
                       : sign * std::ldexp(1024.0 + fraction, exponent - 25);
}

TEST(Fp16Numbers, EveryValueFollowsFromItsBitsAndRoundTrips) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = Fp16::widen(half);
    if (std::isnan(fp16_value(bits))) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(Fp16::widen(Fp16::narrow(value)))) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), fp16_value(bits)) << bits;
      ASSERT_EQ(Fp16::narrow(value), half) << bits;
    }
  }
}

TEST(Fp16Numbers, RoundsToNearestWithTiesToEven) {
  for (std::uint32_t bits = 0; bits < 0x7bffU; ++bits) {
    const double low = fp16_value(bits), high = fp16_value(bits + 1);
    const auto middle = static_cast<float>((low + high) / 2);
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(Fp16::narrow(middle), even) << bits;
    ASSERT_EQ(Fp16::narrow(std::nextafter(middle, 0.0F)), bits) << bits;
    ASSERT_EQ(Fp16::narrow(std::nextafter(middle, infinity)), bits + 1) << bits;
    ASSERT_EQ(Fp16::narrow(-middle), even | 0x8000U) << bits;
  }
}

TEST(Fp16Numbers, FiniteValuesStayFinite) {
  for (const float large : {65504.0F, 65519.0F, 65520.0F, 1e6F, std::numeric_limits<float>::max()}) {
    EXPECT_EQ(Fp16::widen(Fp16::narrow(large)), 65504.0F);
    EXPECT_EQ(Fp16::widen(Fp16::narrow(-large)), -65504.0F);
  }
  EXPECT_EQ(Fp16::widen(Fp16::narrow(infinity)), infinity);
  EXPECT_EQ(Fp16::widen(Fp16::narrow(-infinity)), -infinity);
  EXPECT_EQ(Fp16::narrow(1e-10F), 0U);
  EXPECT_EQ(Fp16::narrow(-0.0F), 0x8000U);
}

TEST(Bf16Numbers, EveryValueRoundTrips) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = Bf16::widen(half);
    if (std::isnan(value))
      ASSERT_TRUE(std::isnan(Bf16::widen(Bf16::narrow(value)))) << bits;
    else
      ASSERT_EQ(Bf16::narrow(value), half) << bits;
  }
}

TEST(Bf16Numbers, RoundsToNearestWithTiesToEven) {
  Rng random(7);
  for (int i = 0; i < 100000; ++i) {
    const auto value =
        static_cast<float>(std::ldexp(random.uniform() - 0.5, static_cast<int>(random.below(80)) - 40));
    const double error =
        std::abs(static_cast<double>(Bf16::widen(Bf16::narrow(value))) - static_cast<double>(value));
    ASSERT_LE(error, std::abs(static_cast<double>(value)) * 0x1.0p-8) << value;
  }
  EXPECT_EQ(Bf16::narrow(1.0F + 0x1.0p-8F), 0x3f80U) << "a tie rounds to even";
  EXPECT_EQ(Bf16::narrow(1.0F + 0x3.0p-8F), 0x3f82U);
  EXPECT_EQ(Bf16::narrow(std::numeric_limits<float>::max()), 0x7f7fU);
  EXPECT_EQ(Bf16::narrow(-std::numeric_limits<float>::max()), 0xff7fU);
  EXPECT_EQ(Bf16::widen(Bf16::narrow(infinity)), infinity);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::compression
