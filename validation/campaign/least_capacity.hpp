// The least capacity of a cache with which workers wait for samples no longer than a given share of their
// time. Pure: a given function returns the wait for a capacity.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::validation {

struct LeastCapacity {
  std::optional<Bytes> capacity;  ///< none: even the capacity of the whole data set does not suffice
  Bytes step{0};                  ///< between capacities; one step less has a longer stall
  /// Capacities with their stalls; none: the job is not possible with it.
  std::vector<std::pair<Bytes, std::optional<double>>> tried;
};

/// Limit of the number of steps between 0 and `whole`.
inline constexpr std::int64_t most_capacity_steps = 200;

/// Searches by bisection. Pre: the stall does not rise with the capacity; whole > 0. `smallest`: a smaller
/// cache holds nothing. A capacity for which no stall is known does not suffice.
LeastCapacity find_least_capacity(double stall, Bytes whole, Bytes smallest,
                                  const std::function<std::optional<double>(Bytes)>& stall_with);

}  // namespace tandem::validation
