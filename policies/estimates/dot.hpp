// The scalar product of two vectors, for fits.
#pragma once

#include <cstddef>
#include <vector>

namespace tandem::estimates {

/// Of the elements at `from` and after. Pre: equal lengths.
inline double dot(const std::vector<double>& a, const std::vector<double>& b, std::size_t from = 0) {
  double sum = 0.0;
  for (std::size_t i = from; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace tandem::estimates
