// How far counts are from equal counts.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>

#include "policies/vocabulary/check.hpp"

namespace tandem {

/// Kullback-Leibler divergence in nats of how often each sample was delivered from equal shares; 0: all
/// samples were delivered equally often. Pre: some were delivered.
template <class Count>
double divergence_from_uniform(std::span<const Count> deliveries) {
  const auto all =
      static_cast<double>(std::accumulate(deliveries.begin(), deliveries.end(), std::int64_t{0}));
  TANDEM_CHECK(all > 0, all);
  double divergence = 0.0;
  for (const Count count : deliveries) {
    const double share = static_cast<double>(count) / all;
    if (count > 0) divergence += share * std::log(share * static_cast<double>(deliveries.size()));
  }
  return divergence;
}

}  // namespace tandem
