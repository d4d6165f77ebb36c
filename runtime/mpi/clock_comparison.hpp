// The clocks of the ranks of a job on several machines relative to that of rank 0: measured by round trips
// between machines, before and after the job. Ranks of one machine share its clock.
#pragma once

#include <mpi.h>

#include <functional>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// A rank's clock compared with the clock of rank 0 once.
struct ClockReading {
  Seconds own{};          ///< time of the comparison, by the rank's clock
  Seconds offset{};       ///< clock of rank 0 minus the rank's clock
  Seconds uncertainty{};  ///< of the offset: half of the shortest round trip; 0 on the machine of rank 0
};

/// Collective over `communicator`. `machine`: the ranks of it that share a clock. `now`: reads that clock.
/// Errors: WorldError.
ClockReading compare_clocks(MPI_Comm communicator, MPI_Comm machine, const std::function<Seconds()>& now);

/// Offset and drift of a rank's clock during a job: linear between two readings.
struct ClockLine {
  ClockReading before, after;

  /// A moment of the rank's clock by the clock of rank 0.
  Seconds on_rank_0(Seconds own) const;
  /// Seconds that the clock of rank 0 gains per second of the rank's clock; 0 if the readings are from one
  /// moment.
  double drift() const;
  /// Uncertainty of any moment between the readings.
  Seconds uncertainty() const;
};

}  // namespace tandem
