// The least capacity of a cache with which workers wait for samples no longer than a given share of their
// time. Pure: a function gives the wait for a capacity.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::validation {

struct LeastCapacity {
  std::optional<Bytes> capacity;  ///< none: not even that of the whole data set suffices
  Bytes step{0};                  ///< between capacities: with one step less, the stall is longer
  /// Capacities with their stalls; none: the job is not possible with it.
  std::vector<std::pair<Bytes, std::optional<double>>> tried;
};

/// Capacities between 0 and `whole`, in at most this many steps.
inline constexpr std::int64_t most_capacity_steps = 200;

/// Searches by bisection: the stall must not rise with the capacity. `smallest`: a cache that is smaller
/// holds nothing. A capacity without a stall does not suffice. Pre: whole > 0.
LeastCapacity find_least_capacity(double stall, Bytes whole, Bytes smallest,
                                  const std::function<std::optional<double>(Bytes)>& stall_with);

}  // namespace tandem::validation
