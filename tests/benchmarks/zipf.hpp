// Draws from a Zipf(1) distribution over ids, whose popularity does not follow from the id.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "policies/vocabulary/rng.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::testing {

class Zipf {
 public:
  explicit Zipf(std::size_t ids) : cumulated_(ids), ids_(ids) {
    double sum = 0.0;
    for (std::size_t rank = 0; rank < ids; ++rank)
      cumulated_[rank] = sum += 1.0 / static_cast<double>(rank + 1);
    std::iota(ids_.begin(), ids_.end(), std::int64_t{0});
    Rng(2).shuffle(ids_);
  }
  std::int64_t draw(Rng& rng) const {
    const auto at = std::lower_bound(cumulated_.begin(), cumulated_.end(), rng.uniform() * cumulated_.back());
    return ids_[static_cast<std::size_t>(std::min(at, cumulated_.end() - 1) - cumulated_.begin())];
  }

 private:
  std::vector<double> cumulated_;
  std::vector<std::int64_t> ids_;
};

}  // namespace tandem::testing
