#include "policies/checkpointing/interval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "policies/vocabulary/check.hpp"

namespace tandem::checkpointing {
namespace {

void expect_rate(Seconds cost, Seconds mtbf) {
  TANDEM_CHECK(cost.count() >= 0.0 && mtbf.count() > 0.0 && std::isfinite(mtbf.count()), "cost", cost.count(),
               "mtbf", mtbf.count());
}

/// -log(1 - x) - x without cancellation. Pre: 0 <= x < 1.
double log_excess(double x) {
  if (x > 0.1) return -std::log1p(-x) - x;
  double sum = 0.0;
  double power = x;
  for (int k = 2; k < 20; ++k) sum += (power *= x) / k;
  return sum;
}

/// 1 + W(-exp(-c - 1)), the root x of -log(1 - x) - x = c in [0, 1). Newton's method on this form keeps all
/// digits for small c, where adding 1 to W would cancel them. The left side is convex and the first guess is
/// above the root, so the guesses decrease towards it.
double one_plus_lambert(double c) {
  double x = std::min(std::sqrt(2.0 * c), -std::expm1(-c - 1.0));
  if (x == 0.0 || x >= 1.0) return x;
  for (int step = 0; step < 60; ++step) {
    const double change = (log_excess(x) - c) * (1.0 - x) / x;
    x -= change;
    if (change <= 2.0 * std::numeric_limits<double>::epsilon() * x) break;
  }
  return x;
}

}  // namespace

Seconds young_interval(Seconds cost, Seconds mtbf) {
  expect_rate(cost, mtbf);
  return Seconds(std::sqrt(2.0 * cost.count() * mtbf.count()));
}

Seconds daly_interval(Seconds cost, Seconds mtbf) {
  expect_rate(cost, mtbf);
  const double share = cost / mtbf;
  if (share >= 2.0) return mtbf;
  return young_interval(cost, mtbf) * (1.0 + std::sqrt(share / 2.0) / 3.0 + share / 18.0) - cost;
}

Seconds optimal_interval(Seconds cost, Seconds mtbf) {
  expect_rate(cost, mtbf);
  return mtbf * one_plus_lambert(cost / mtbf);
}

Seconds segment_time(Seconds work, const Costs& costs, Seconds mtbf) {
  expect_rate(costs.commit, mtbf);
  return (mtbf + costs.downtime) * (std::exp(costs.load / mtbf) * std::expm1((work + costs.commit) / mtbf));
}

Seconds job_time(Seconds work, int segments, const Costs& costs, Seconds mtbf) {
  TANDEM_CHECK(segments >= 1, segments);
  return segment_time(work / segments, costs, mtbf) * segments;
}

}  // namespace tandem::checkpointing
