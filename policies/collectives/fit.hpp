// The cost of an all-reduce as a formula, fitted to measured times: a fixed start, and costs per hop and per
// byte. The formula also gives the cost for numbers of ranks that were not measured.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/collectives/schedule.hpp"

namespace tandem::collectives {

struct MeasuredTime {
  int ranks;
  std::int64_t bytes;
  double seconds;
};

/// The schedule of the catalogue that an all-reduce of this size among `ranks` ranks uses.
using ScheduleChoice = std::function<std::string(int ranks, std::int64_t bytes)>;

/// The schedules of a library, by its own description; none: not known. Open MPI 4.1 (component tuned), from
/// 8 KiB: four ranks and more fold onto a power of two, then halve and double (Rabenseifner). Two and three
/// ranks use a ring; from 256 KiB they send all to one rank and back, as a tree does. The times in
/// validation/reports/asynchronous.md agree.
std::optional<ScheduleChoice> library_choice(const std::string& software);

/// seconds = start + hops alpha + bytes beta + reduced gamma, where the numbers of hops, bytes and reduced
/// bytes are those of a schedule of the catalogue on a uniform network (`price`).
struct FittedCost {
  ScheduleChoice choice;  ///< with the best fit: one schedule for all, or a library's
  LinkCost cost;
  double mean_error = 0.0;  ///< relative, of the fitted times
};

/// Least squares of relative errors, with no negative cost, for each schedule that needs no groups; the one
/// with the smallest errors. Pre: at least two times, all above 0, of at least two ranks each.
/// Source: Lawson, Hanson: Solving Least Squares Problems. SIAM 1995, chapter 23 (non-negative least squares;
/// with four unknowns all sets of positive ones are tried).
FittedCost fit(std::span<const MeasuredTime> times);
/// The same for the schedules of a library.
FittedCost fit(std::span<const MeasuredTime> times, const ScheduleChoice& choice);

/// Pre: ranks >= 2.
Seconds predict(const FittedCost& fitted, int ranks, std::int64_t bytes);

}  // namespace tandem::collectives
