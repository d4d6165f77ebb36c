// The median of measured times, which outliers do not affect.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tandem {

/// For an even number of values, the upper of the two middle ones. Pre: not empty.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace tandem
