// The share of a Gamma distribution between two points. Pure.
#pragma once

#include <cmath>

namespace tandem::lifetimes {

namespace detail {

/// x^a e^(-x) / Gamma(a + 1).
inline double gamma_term(double a, double x) { return std::exp(a * std::log(x) - x - std::lgamma(a + 1.0)); }

/// P(a, x) by its series; for x below about a + 1.
inline double lower_gamma_series(double a, double x) {
  if (x <= 0.0) return 0.0;
  double term = 1.0, sum = 1.0;
  for (double n = a + 1.0; term > sum * 1e-17; n += 1.0) sum += term *= x / n;
  return sum * gamma_term(a, x);
}

/// Q(a, x) = 1 - P(a, x) by its continued fraction, evaluated as Lentz (1976) does; for x above about a + 1.
inline double upper_gamma_fraction(double a, double x) {
  if (std::isinf(x)) return 0.0;
  constexpr double tiny = 1e-300;
  double b = x + 1.0 - a, c = 1.0 / tiny, d = 1.0 / b, value = d;
  for (int i = 1; i < 10'000; ++i) {
    const double factor = -i * (i - a);
    b += 2.0;
    d = factor * d + b;
    c = b + factor / c;
    d = 1.0 / (std::abs(d) < tiny ? tiny : d);
    if (std::abs(c) < tiny) c = tiny;
    value *= d * c;
    if (std::abs(d * c - 1.0) < 1e-16) break;
  }
  return value * a * gamma_term(a, x);
}

}  // namespace detail

/// P(x < G <= y) for G of the Gamma distribution with shape a. Exact also where both tails are small. Pre: a
/// > 0, 0 <= x <= y.
inline double gamma_between(double a, double x, double y) {
  const double middle = a + 1.0;
  if (x >= middle) return detail::upper_gamma_fraction(a, x) - detail::upper_gamma_fraction(a, y);
  const double below = detail::lower_gamma_series(a, x);
  if (y < middle) return detail::lower_gamma_series(a, y) - below;
  return 1.0 - below - detail::upper_gamma_fraction(a, y);
}

}  // namespace tandem::lifetimes
