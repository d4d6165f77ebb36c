// Fits numbers above 0 (times, rates) to measured times by a prediction of the caller: from several starts,
// without the numbers that the table does not determine, with intervals, and with the rows that stay far off.
// Pure.
// Sources: Marquardt: An algorithm for least-squares estimation of nonlinear parameters. SIAM 11(2), 1963;
// Belsley, Kuh, Welsch: Regression diagnostics. Wiley 1980 (collinear columns);
// Bates, Watts: Nonlinear regression analysis and its applications. Wiley 1988, chapter 6 (profiles).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tandem::estimates {

/// A number that is looked for. Earlier ones count before later ones where the table cannot separate them.
struct FitNumber {
  std::string name;
  double start;  ///< the search begins here, and at up to 30 times more and less
  double given;  ///< its value if the table does not determine it; may be 0
};

struct FitEstimate {
  std::string name;
  double value;
  /// Of the interval; not finite without more rows than numbers. 0 and infinite where a number that is mixed
  /// with others has no bound.
  double lower, upper;
  bool is_determined;  ///< by the table; else `value` is the given one
  /// The rows hardly separate it from the others, but contradict its given value. Its interval has all values
  /// with which some values of the others suit the rows (profile likelihood), which are taken to have errors
  /// of 1 % at least.
  bool is_mixed = false;
};

struct PositiveFit {
  std::vector<FitEstimate> numbers;  ///< in the order of the caller's
  std::vector<double> predicted_s;   ///< by row
  double error = 0.0;                ///< root of the mean square of the relative errors
  int starts = 0;                    ///< of the search
  int agreeing = 0;                  ///< of these, with an error near the least one
  std::vector<std::size_t> missed;   ///< rows whose error is far above that of the others
};

/// The times of all rows, above 0.
using PredictTimes = std::function<std::vector<double>(const std::vector<double>& numbers)>;

/// Least squares of the logarithms of predicted over measured times. A number is not determined if no row
/// moves with it, or if others move all rows alike; it then keeps its given value, unless the rows contradict
/// that, which makes it one of the numbers with an interval. `confidence`: of the intervals, which take the
/// errors of rows as normal. Pre: at least one row and one number; measured times and starts above 0.
PositiveFit fit_positive(const std::vector<FitNumber>& numbers, const std::vector<double>& measured_s,
                         const PredictTimes& predict, double confidence = 0.95);

}  // namespace tandem::estimates
