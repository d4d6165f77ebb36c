// Sizes, times and amounts of work as text: exact values, errors, and round trips.
#include "policies/vocabulary/quantity_text.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "policies/vocabulary/rng.hpp"
#include "tests/support/seeds.hpp"

namespace tandem {
namespace TANDEM_FILE {

TEST(QuantityText, Sizes) {
  EXPECT_EQ(parse_bytes("0"), Bytes(0));
  EXPECT_EQ(parse_bytes("1048576"), Bytes(1048576));
  EXPECT_EQ(parse_bytes("4MiB"), Bytes(4 << 20));
  EXPECT_EQ(parse_bytes("4 MiB"), Bytes(4 << 20));
  EXPECT_EQ(parse_bytes("1.5GB"), Bytes(1'500'000'000));
  EXPECT_EQ(parse_bytes("0.5KiB"), Bytes(512));
  EXPECT_EQ(parse_bytes("2TiB"), Bytes(std::int64_t{2} << 40));
  EXPECT_EQ(parse_bytes("9223372036854775807"), Bytes(std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(parse_bytes("31.46752MB"), Bytes(31'467'520));
}

TEST(QuantityText, InvalidSizes) {
  for (const char* text : {"", "MiB", "4Mib", "4 apples", "0.5", "1.5B", "0.0001kB", "1e30",
                           "9223372036854775808", "9999999999GiB", "nan", "inf", "4MiB4", "0x10"})
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
}

TEST(QuantityText, Rates) {
  EXPECT_EQ(parse_rate("1.2GBps"), BytesPerSecond(1.2e9));
  EXPECT_EQ(parse_rate("4096"), BytesPerSecond(4096));
  EXPECT_EQ(parse_rate("2 MiBps"), BytesPerSecond(2 * 1048576.0));
  EXPECT_EQ(parse_rate("10Gbps"), BytesPerSecond(1.25e9));
  for (const char* text : {"", "1GB", "1GB/s", "1ms", "fast", "1gbps", "inf"})
    EXPECT_EQ(parse_rate(text), std::nullopt) << text;
}

TEST(QuantityText, Times) {
  EXPECT_EQ(parse_seconds("10"), Seconds(10));
  EXPECT_EQ(parse_seconds("10s"), Seconds(10));
  EXPECT_EQ(parse_seconds("5min"), Seconds(300));
  EXPECT_EQ(parse_seconds("1.5d"), Seconds(129600));
  EXPECT_EQ(parse_seconds("1.5h"), Seconds(5400));
  EXPECT_EQ(parse_seconds("250ms"), Seconds(0.25));
  EXPECT_EQ(parse_seconds("3us"), Seconds(3e-6));
  EXPECT_EQ(parse_seconds("7ns"), Seconds(7e-9));
  for (const char* text : {"", "s", "5m", "5 minutes", "nan", "inf", "1e999", "1e308h"})
    EXPECT_EQ(parse_seconds(text), std::nullopt) << text;
}

TEST(QuantityText, Work) {
  EXPECT_EQ(parse_flops("20Mflop"), Flops(2e7));
  EXPECT_EQ(parse_flops("4.1Gflop"), Flops(4.1e9));
  EXPECT_EQ(parse_flops("12"), Flops(12));
  EXPECT_EQ(parse_flops("1e3 kflop"), Flops(1e6));
  EXPECT_EQ(parse_flops("1.5E+3Mflop"), Flops(1.5e9));
  EXPECT_EQ(parse_flops("1e308Tflop"), std::nullopt);
  EXPECT_EQ(parse_flops("20Mflops"), std::nullopt);
}

TEST(QuantityText, ShortestForm) {
  EXPECT_EQ(to_text(Bytes(0)), "0B");
  EXPECT_EQ(to_text(Bytes(1001)), "1001B");
  EXPECT_EQ(to_text(Bytes(128 << 10)), "128KiB");
  EXPECT_EQ(to_text(Bytes(1 << 20)), "1MiB");
  EXPECT_EQ(to_text(Bytes(1'500'000'000)), "1500MB");
  EXPECT_EQ(to_text(Seconds(0.25)), "0.25s");
  EXPECT_EQ(to_text(Seconds(300)), "300s");
  EXPECT_EQ(to_text(Flops(2e7)), "20Mflop");
  EXPECT_EQ(to_text(Flops(1001)), "1001flop");
  EXPECT_EQ(to_text(Flops(0)), "0flop");
}

TEST(QuantityText, RoundTrips) {
  for (const auto seed : testing::seeds(200)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    for (int i = 0; i < 50; ++i) {
      // Any magnitude, and often a multiple of a unit.
      std::int64_t size = static_cast<std::int64_t>(rng.next() >> (1 + rng.below(62)));
      if (size < (1 << 30) && rng.below(2) == 0) size *= rng.below(2) == 0 ? 1024 * 1024 : 1'000'000;
      EXPECT_EQ(parse_bytes(to_text(Bytes(size))), Bytes(size)) << to_text(Bytes(size));
      const double number = std::abs(std::bit_cast<double>(rng.next()));
      if (!std::isfinite(number)) continue;
      EXPECT_EQ(parse_seconds(to_text(Seconds(number))), Seconds(number)) << to_text(Seconds(number));
      EXPECT_EQ(parse_flops(to_text(Flops(number))), Flops(number)) << to_text(Flops(number));
    }
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
