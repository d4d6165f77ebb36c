// Linear least squares, with and without coefficients below 0. Pure.
// Sources: Businger, Golub: Linear least squares solutions by Householder transformations. Numerische
// Mathematik 7, 1965; Lawson, Hanson: Solving least squares problems. Prentice-Hall 1974, chapter 23.
#pragma once

#include <optional>
#include <vector>

namespace tandem::estimates {

/// Row by row, all of one length.
using Matrix = std::vector<std::vector<double>>;

struct LeastSquares {
  std::vector<double> coefficients;
  /// Of the columns at equal length, from below: largest over smallest diagonal element. 1: orthogonal.
  double condition;
};

/// The coefficients of the columns with the least squared differences to the values. None: fewer rows than
/// columns, or a column that the others make up (to 1e-9 of its length). Pre: as many values as rows.
std::optional<LeastSquares> least_squares(const Matrix& rows, const std::vector<double>& values);

/// The same with coefficients of at least 0; columns that others make up get 0.
std::vector<double> non_negative_least_squares(const Matrix& rows, const std::vector<double>& values);

}  // namespace tandem::estimates
