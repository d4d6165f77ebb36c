#include "policies/prices/flows.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "policies/vocabulary/check.hpp"

namespace tandem::prices {
namespace {

/// The rate of one transfer of each class that is open: equal shares, but no more than its own link has; what
/// that leaves goes to the others. `by_rate`: the classes in the order of their own rates.
std::vector<double> fair_rates(std::span<const FlowClass> classes, std::span<const std::size_t> by_rate,
                               const std::vector<double>& left, double shared) {
  std::vector<double> rates(classes.size(), 0.0);
  double open = 0.0;
  for (const std::size_t c : by_rate) open += left[c] > 0 ? classes[c].count : 0;
  for (const std::size_t c : by_rate) {
    if (left[c] <= 0) continue;
    rates[c] = std::min(classes[c].rate.count(), shared / open);
    shared -= rates[c] * classes[c].count;
    open -= classes[c].count;
  }
  return rates;
}

}  // namespace

std::vector<Seconds> ends_of_flows(std::span<const FlowClass> classes, BytesPerSecond shared) {
  TANDEM_CHECK(shared.count() > 0, "rate", shared.count());
  std::vector<std::size_t> by_rate(classes.size());
  std::iota(by_rate.begin(), by_rate.end(), 0);
  std::ranges::sort(by_rate, {}, [&](std::size_t c) { return classes[c].rate.count(); });
  std::vector<double> left;
  for (const FlowClass& of : classes) left.push_back(of.count > 0 ? of.bytes : 0.0);
  std::vector<Seconds> ends(classes.size());
  double now_s = 0.0;
  while (std::ranges::any_of(left, [](double bytes) { return bytes > 0; })) {
    const auto rates = fair_rates(classes, by_rate, left, shared.count());
    double next_s = std::numeric_limits<double>::infinity();
    std::size_t first = 0;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (left[c] <= 0 || left[c] / rates[c] >= next_s) continue;
      next_s = left[c] / rates[c];
      first = c;
    }
    now_s += next_s;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (left[c] <= 0) continue;
      left[c] -= rates[c] * next_s;
      // What rounding leaves is not a transfer.
      if (c == first || left[c] < 1e-9 * classes[c].bytes) {
        left[c] = 0.0;
        ends[c] = Seconds(now_s);
      }
    }
  }
  return ends;
}

}  // namespace tandem::prices
