// Linear least squares against systems solved by hand, and with coefficients of at least 0 against all
// choices of the columns that count.
#include "policies/estimates/least_squares.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "policies/vocabulary/rng.hpp"

namespace tandem::estimates {
namespace TANDEM_FILE {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using Vector = std::vector<double>;

double squares(const Matrix& rows, const Vector& values, const Vector& coefficients) {
  double sum = 0.0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    double rest = values[row];
    for (std::size_t column = 0; column < coefficients.size(); ++column)
      rest -= coefficients[column] * rows[row][column];
    sum += rest * rest;
  }
  return sum;
}

/// 1, 2 and 4 over 0, 1 and 2: slope 3/2 through the means 1 and 7/3.
TEST(LeastSquares, OfALineByHand) {
  const auto found = least_squares({{1, 0}, {1, 1}, {1, 2}}, {1, 2, 4});
  ASSERT_TRUE(found);
  EXPECT_THAT(found->coefficients, ElementsAre(DoubleNear(5.0 / 6, 1e-12), DoubleNear(1.5, 1e-12)));
}

/// Columns at an angle of 30 degrees: the part of the second one that the first does not make up is 1/2.
TEST(LeastSquares, TellHowNearlyColumnsDepend) {
  const auto found = least_squares({{1e9, std::sqrt(3.0) / 2}, {0, 0.5}}, {1, 1});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->condition, 2.0, 1e-9);
  EXPECT_FALSE(least_squares({{1, 2}, {2, 4}, {3, 6}}, {1, 2, 3})) << "dependent columns";
  EXPECT_FALSE(least_squares({{1, 2}}, {1})) << "fewer rows than columns";
  EXPECT_FALSE(least_squares({{1, 0}, {2, 0}}, {1, 2})) << "a column of zeros";
}

/// Without the bound 2 and -1; with it the second column is left out: (2 + 1) / (1 + 1).
TEST(NonNegativeLeastSquares, ByHand) {
  EXPECT_THAT(non_negative_least_squares({{1, 0}, {0, 1}, {1, 1}}, {2, -1, 1}),
              ElementsAre(DoubleNear(1.5, 1e-12), 0.0));
}

TEST(NonNegativeLeastSquares, AreTheBestOfAllChoicesOfColumns) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Rng random(seed);
    constexpr std::size_t columns = 4;
    Matrix rows(7, Vector(columns));
    Vector values(rows.size());
    for (Vector& row : rows)
      for (double& value : row) value = random.normal() + (seed % 2 == 0 ? 2.0 : 0.0);
    for (double& value : values) value = random.normal();
    double least = squares(rows, values, Vector(columns, 0.0));
    for (unsigned chosen = 1; chosen < 1U << columns; ++chosen) {
      Matrix part(rows.size());
      for (std::size_t row = 0; row < rows.size(); ++row)
        for (std::size_t column = 0; column < columns; ++column)
          if ((chosen >> column & 1U) != 0) part[row].push_back(rows[row][column]);
      const Vector found = least_squares(part, values).value().coefficients;
      bool is_allowed = true;
      for (const double value : found) is_allowed = is_allowed && value >= 0.0;
      if (is_allowed) least = std::min(least, squares(part, values, found));
    }
    const Vector found = non_negative_least_squares(rows, values);
    for (const double value : found) EXPECT_GE(value, 0.0) << "seed " << seed;
    EXPECT_NEAR(squares(rows, values, found), least, 1e-9) << "seed " << seed;
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::estimates
