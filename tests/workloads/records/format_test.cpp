// Formatting of numbers for people.
#include "workloads/records/format.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tandem {
namespace TANDEM_FILE {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Format, ThreeDigits) {
  EXPECT_EQ(three_digits(0), "0");
  EXPECT_EQ(three_digits(1), "1.00");
  EXPECT_EQ(three_digits(9.999), "10.0");
  EXPECT_EQ(three_digits(12.34), "12.3");
  EXPECT_EQ(three_digits(99.96), "100");
  EXPECT_EQ(three_digits(0.04561), "0.0456");
  EXPECT_EQ(three_digits(0.0009999), "0.00100");
  EXPECT_EQ(three_digits(999.6), "1,000");
  EXPECT_EQ(three_digits(1234.5), "1,230");
  EXPECT_EQ(three_digits(-1234567), "-1,230,000");
  EXPECT_EQ(three_digits(1e-7), "1e-07");
  EXPECT_EQ(three_digits(nan), "-");
}

TEST(Format, AnyNumberOfDigitsHasSeparatorsAndNoExponent) {
  EXPECT_EQ(significant(10'750.4, 4), "10,750");
  EXPECT_EQ(significant(10'754, 4), "10,750");
  EXPECT_EQ(significant(1'074.96, 5), "1,075.0");
  EXPECT_EQ(significant(999.96, 4), "1,000");
  EXPECT_EQ(significant(-0.5, 2), "-0.50");
  EXPECT_EQ(significant(123'456.7, 7), "123,456.7");
  EXPECT_EQ(significant(nan, 4), "-");
  EXPECT_EQ(with_separators(-1'234'567), "-1,234,567");
}

TEST(Format, Percent) {
  EXPECT_EQ(percent(0), "0 %");
  EXPECT_EQ(percent(0.0421), "4.21 %");
  EXPECT_EQ(signed_percent(0.123), "+12.3 %");
  EXPECT_EQ(signed_percent(-1.5), "-150 %");
  EXPECT_EQ(signed_percent(0), "0 %");
  EXPECT_EQ(signed_percent(nan), "-");
}

TEST(Format, UnitsShareTheScaleOfTheReference) {
  EXPECT_EQ(with_unit(0.0213, Unit::seconds), "21.3 ms");
  EXPECT_EQ(with_unit(0.998, Unit::seconds, 1.02), "0.998 s");
  EXPECT_EQ(with_unit(1.02, Unit::seconds, 0.998), "1,020 ms");
  EXPECT_EQ(with_unit(0, Unit::seconds, 0), "0 s");
  EXPECT_EQ(with_unit(3e-7, Unit::seconds), "300 ns");
  EXPECT_EQ(with_unit(178'000, Unit::bytes), "178 kB");
  EXPECT_EQ(with_unit(12, Unit::bytes), "12.0 B");
  EXPECT_EQ(with_unit(0, Unit::bytes), "0 B");
  EXPECT_EQ(with_unit(3254, Unit::samples_per_second), "3,254 samples/s");
  EXPECT_EQ(with_unit(1234, Unit::count), "1,234");
  EXPECT_EQ(with_unit(12.5, Unit::count), "12.5");
  EXPECT_EQ(with_unit(0.9, Unit::ratio), "90.0 %");
}

}  // namespace TANDEM_FILE
}  // namespace tandem
