// Quantities: arithmetic, and that units do not mix.
#include "policies/vocabulary/units.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace tandem {
namespace TANDEM_FILE {

static_assert(!std::is_convertible_v<double, Seconds> && !std::is_convertible_v<Seconds, double>);
static_assert(!std::is_convertible_v<Bytes, Seconds> && !std::is_constructible_v<Seconds, Bytes>);

TEST(Quantity, StartsAtZero) {
  EXPECT_EQ(Seconds().count(), 0.0);
  EXPECT_EQ(Bytes().count(), 0);
}

TEST(Quantity, AddsSubtractsAndScalesLikeNumbers) {
  Bytes size(10);
  size += Bytes(5);
  size -= Bytes(1);
  EXPECT_EQ(size, Bytes(14));
  EXPECT_EQ(size + Bytes(1), Bytes(15));
  EXPECT_EQ(size - Bytes(20), Bytes(-6));
  EXPECT_EQ(size * 3, Bytes(42));
  EXPECT_EQ(size / 4, Bytes(3));
  EXPECT_EQ(Seconds(3.0) / 4.0, Seconds(0.75));
}

TEST(Quantity, Compares) {
  EXPECT_LT(Seconds(1.0), Seconds(2.0));
  EXPECT_GE(Bytes(2), Bytes(2));
  EXPECT_NE(Flops(1.0), Flops(2.0));
}

TEST(Quantity, RatioOfLikeQuantitiesIsAPlainNumber) {
  static_assert(std::is_same_v<decltype(Bytes(1) / Bytes(2)), double>);
  EXPECT_EQ(Bytes(1) / Bytes(4), 0.25);
  EXPECT_EQ(Seconds(1.0) / Seconds(0.5), 2.0);
}

TEST(Quantity, AmountOverRateIsTime) {
  EXPECT_EQ(Bytes(1'000) / BytesPerSecond(500.0), Seconds(2.0));
  EXPECT_EQ(Flops(3e9) / FlopsPerSecond(1e9), Seconds(3.0));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
