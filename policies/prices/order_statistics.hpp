// The time by which all, or some, of many workers are done that draw their times independently. Workers of
// one class have one distribution, so the cost does not depend on their number. Sources: David, Nagaraja:
// Order Statistics. Wiley 2003, chapter 3; Volkova: A refinement of the central limit theorem for sums of
// independent random indicators. Theory of Probability and its Applications 40(4), 1996.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::prices {

/// The distribution of a time.
class Spread {
 public:
  static Spread constant(Seconds value);
  static Spread exponential(Seconds mean);
  /// Pre: deviation > 0.
  static Spread normal(Seconds mean, Seconds deviation);
  /// `sigma`: standard deviation of the logarithm, above 0.
  static Spread log_normal(Seconds median, double sigma);
  /// Each value is as probable as the others. Pre: at least one value.
  static Spread of_values(std::vector<double> values_s);

  Seconds mean() const;
  /// Probability of a time above t; exact also where it is tiny.
  double above(Seconds t) const;
  /// Outside of these, the probability is below 1e-17.
  Seconds low() const;
  Seconds high() const;
  /// Where the probability jumps, in increasing order.
  std::span<const double> jumps_s() const { return values_s_; }

 private:
  enum class Kind { exponential, normal, log_normal, values };
  Spread(Kind kind, double location_s, double scale) : kind_(kind), location_s_(location_s), scale_(scale) {}

  Kind kind_;
  double location_s_;
  double scale_;
  std::vector<double> values_s_ = {};  ///< sorted
};

struct SpreadClass {
  Spread spread;
  int count = 1;  ///< workers with this distribution
};

/// Mean of the time by which all workers are done. Relative error below 1e-9. Pre: at least one worker.
Seconds mean_of_slowest(std::span<const SpreadClass> classes);
/// Mean of the time by which so many workers are done. Exact, but for rounding, for one class, for times
/// without spread, and where few workers are left or done; otherwise their number is taken as normal, with
/// its skewness. Pre: 1 <= done <= the number of workers.
Seconds mean_of_first(std::span<const SpreadClass> classes, std::int64_t done);

}  // namespace tandem::prices
