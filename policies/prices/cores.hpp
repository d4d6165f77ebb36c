// When works end that share the cores of one host.
#pragma once

#include <span>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::prices {

struct CoreWork {
  Seconds ready;    ///< when it begins
  Seconds alone;    ///< its duration while every one of its threads has a core
  int threads = 1;  ///< each of which uses one core at most
};

/// When each work ends. While there are more threads than cores, all threads run at the same share of a core.
/// Exact for fair scheduling without overhead. Pre: at least one core, and one thread of each work.
std::vector<Seconds> ends_on_cores(std::span<const CoreWork> works, int cores);

}  // namespace tandem::prices
