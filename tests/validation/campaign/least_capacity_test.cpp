// The least capacity against closed forms of the stall.
#include "validation/campaign/least_capacity.hpp"

#include <gtest/gtest.h>

namespace tandem::validation {
namespace TANDEM_FILE {

constexpr double whole = 1e9, sample = 1e5;

/// MinIO: capacity / data set of the samples hit. Reading all of the others takes `read_s`, computing
/// `compute_s`.
struct MinIo {
  double read_s, compute_s;
  double operator()(Bytes capacity) const {
    const double read = read_s * (1 - static_cast<double>(capacity.count()) / whole);
    return read / (read + compute_s);
  }
};

LeastCapacity least_of(double stall, const std::function<double(Bytes)>& stall_with) {
  return find_least_capacity(stall, Bytes(static_cast<std::int64_t>(whole)),
                             Bytes(static_cast<std::int64_t>(sample)), stall_with);
}

/// read (1 - c) / (read (1 - c) + compute) = stall: 1 - c = compute / read * stall / (1 - stall).
TEST(LeastCapacity, IsTheClosedFormOfMinIo) {
  for (const double stall : {0.01, 0.05, 0.2, 0.6}) {
    const double share = 1 - 1.0 / 4.0 * stall / (1 - stall);
    const auto found = least_of(stall, MinIo{4, 1});
    ASSERT_TRUE(found.capacity) << stall;
    const auto least = static_cast<double>(found.capacity->count());
    EXPECT_GE(least, share * whole * (1 - 1e-12)) << stall;
    EXPECT_LE(least, share * whole + static_cast<double>(found.step.count())) << stall;
    EXPECT_LE(found.tried.size(), 10U) << stall;
  }
}

TEST(LeastCapacity, NoCacheIsNeededWhereComputingHidesReading) {
  const auto found = least_of(0.5, MinIo{1, 3});
  EXPECT_EQ(found.capacity, Bytes(0));
  EXPECT_EQ(found.tried.size(), 1U);
}

TEST(LeastCapacity, NoneSufficesWhereWorkersWaitForSomethingElse) {
  const auto found = least_of(0.1, [](Bytes capacity) { return 0.3 + 0.1 * MinIo{1, 1}(capacity); });
  EXPECT_FALSE(found.capacity);
  ASSERT_EQ(found.tried.size(), 2U);
  EXPECT_EQ(found.tried.back().first.count(), static_cast<std::int64_t>(whole));
}

/// A step is never less than a sample.
TEST(LeastCapacity, OfFewSamplesIsAWholeNumberOfThem) {
  const auto found = find_least_capacity(0.5, Bytes(30), Bytes(10),
                                         [](Bytes capacity) { return capacity >= Bytes(20) ? 0.5 : 0.6; });
  EXPECT_EQ(found.capacity, Bytes(20));
  EXPECT_EQ(found.step, Bytes(10));
}

/// As where a part of the cache must hold a whole package of samples: between 0 and 500 MB nothing works.
TEST(LeastCapacity, WithWhichTheJobIsNotPossibleDoesNotSuffice) {
  const auto found = find_least_capacity(0.2, Bytes(1'000'000'000), Bytes(100'000),
                                         [](Bytes capacity) -> std::optional<double> {
                                           if (Bytes(0) < capacity && capacity < Bytes(500'000'000))
                                             return std::nullopt;
                                           return capacity == Bytes(0) ? 0.5 : 0.1;
                                         });
  EXPECT_EQ(found.capacity, Bytes(500'000'000));
  EXPECT_TRUE(found.tried.front().second);
  EXPECT_FALSE(found.tried.at(1).second);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
