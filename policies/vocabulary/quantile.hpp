// One definition of quantile and median for summaries and comparisons. Pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace tandem {

/// The value below which a share `p` of the values lies, interpolated linearly between order statistics
/// (definition 7 of Hyndman and Fan 1996). NaN when there are no values. Pre: 0 <= p <= 1.
inline double quantile(std::vector<double> values, double p) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double position = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), nth, values.end());
  if (below + 1 == values.size()) return *nth;
  const double above = *std::min_element(nth + 1, values.end());
  return *nth + (position - static_cast<double>(below)) * (above - *nth);
}

/// The middle value; of an even number of values, the upper one of the middle two. Pre: not empty.
template <class Value>
Value upper_median(std::vector<Value> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace tandem
