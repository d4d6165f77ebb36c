// The machines of workers that may depart: whether simulation and measurement had the same ones, when they
// departed and arrived, and how much work was lost with them. Reads records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "validation/compare/statistics.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::validation {

/// The machine of a slot with one incarnation. Times are seconds of the job's clock; none: it did not happen.
struct ComparedOccupant {
  int slot = 0;
  std::int64_t incarnation = 0;
  std::string host{};
  std::string cause{};  ///< of its departure, in the simulation if it departed there; empty: it stayed
  BothWorlds joined{};
  BothWorlds departed{};
  BothWorlds noticed_after{};  ///< the departure: until the job knew of it
  BothWorlds gone_after{};     ///< the departure: until its rank had given up all work
};

/// On the learning rate, when it has followed the number of workers that are present (recovery.scale_rate).
double rate_factor_of(const Experiment& experiment, int workers);

/// A number of the whole run. `measured`: mean over repetitions.
struct MembersFigure {
  double simulated = 0;
  double measured = 0;
};

struct Members {
  /// By slot and incarnation; measured: of the first repetition.
  std::vector<ComparedOccupant> occupants{};
  MembersFigure departures{};
  MembersFigure arrivals{};      ///< while the job ran
  MembersFigure lost_samples{};  ///< NaN: not known
  int batch = 0;                 ///< of a worker's step
  /// In words, the machines and departures in which the simulation and a measured run differ, though both
  /// draw the same. Empty: none.
  std::vector<std::string> differences{};
  /// Departures and arrivals in only one of the two, after training had ended in the other.
  int after_the_end = 0;

  /// Largest difference of the time of a departure that both have; none: no such departure.
  std::optional<double> largest_shift() const;
  /// Mean over the departures with this lag.
  BothWorlds mean(BothWorlds ComparedOccupant::*lag) const;
  /// Difference of the lost samples (simulated - measured) per departure; none without departures.
  std::optional<double> lost_per_departure() const;
  /// The same in steps of a worker.
  std::optional<double> lost_steps_per_departure() const;
};

/// None where no machine may depart. Pre: the results are of the same job, and one is measured.
std::optional<Members> compare_members(const Results& simulated, const std::vector<Results>& measured);

}  // namespace tandem::validation
