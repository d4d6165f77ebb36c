// Whether machines die together: deaths close to each other in time, over what independent deaths would give.
// Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace tandem::lifetimes {

/// A machine on the clock: when it was observed, in seconds since any fixed time.
struct Presence {
  double begin = 0.0;
  double end = 0.0;
  bool died = false;     ///< at the end
  std::size_t zone = 0;  ///< only deaths in one zone are compared
};

struct CorrelationIndex {
  std::int64_t pairs = 0;  ///< deaths in one zone at most `window` apart
  double expected = 0.0;   ///< if machines died independently, each zone with its own constant hazard
  double index = 0.0;      ///< pairs over expected; NaN if none are expected
};

/// Of two machines that are present together, either dies with its hazard, and the other one within the
/// window after it. So independent deaths give hazard^2 window pairs per second for each ordered pair of
/// machines.
CorrelationIndex correlation_index(const std::vector<Presence>& machines, double window = 60.0);

}  // namespace tandem::lifetimes
