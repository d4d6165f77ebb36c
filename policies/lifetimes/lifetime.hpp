// The interface of every lifetime model: the time until a machine is taken away. Times and ages are seconds,
// rates are per second. Pure.
#pragma once

#include <limits>

#include "policies/vocabulary/rng.hpp"

namespace tandem::lifetimes {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// The distribution of a lifetime T. Immutable.
class Lifetime {
 public:
  virtual ~Lifetime() = default;

  /// S(t) = P(T > t). Not increasing, continuous from the right. Pre: t >= 0.
  virtual double survival(double t) const = 0;
  /// h(t) = -S'(t) / S(t), where S has a slope; times at which S jumps have no hazard. Infinite where S is 0.
  virtual double hazard(double t) const = 0;
  /// The first time t with S(t) <= s; infinity if there is none. Pre: 0 <= s <= 1.
  virtual double time_of_survival(double s) const = 0;
  /// The integral of S from `from` to `to`, which may be infinity; so may be the result. Pre: 0 <= from <=
  /// to.
  virtual double area(double from, double to) const = 0;
  /// A lifetime of a machine that starts at this time of the job; models without a clock ignore it.
  virtual double draw(Rng& rng, double start = 0.0) const;

  /// The first time t with F(t) = 1 - S(t) >= p. Pre: 0 <= p <= 1.
  double quantile(double p) const { return time_of_survival(1.0 - p); }
  double mean() const { return area(0.0, infinity); }
  /// E[min(T, limit)].
  double mean_up_to(double limit) const { return area(0.0, limit); }
};

}  // namespace tandem::lifetimes
