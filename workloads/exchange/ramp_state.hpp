// The position of the learning rate between two values after a change of the number of workers, as part of a
// state.
#pragma once

#include "policies/recovery/scaling.hpp"
#include "workloads/vectors/state_archive.hpp"

namespace tandem {

/// Nothing without a ramp.
inline void serialise(StateArchive& state, recovery::RateRamp& ramp) {
  if (!ramp.is_enabled()) return;
  state.number("ramp.from", ramp.state().from);
  state.number("ramp.to", ramp.state().to);
  state.number("ramp.since", ramp.state().since);
}

}  // namespace tandem
