// The median, which benchmarks report of times that are now and then disturbed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tandem {

/// The upper one of two in the middle. Pre: not empty.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace tandem
