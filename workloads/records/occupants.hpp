// Which machines were in the slots of a job's workers, and when: the rows of membership.csv as stays of
// machines. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/records/result_directory.hpp"

namespace tandem {

/// A machine that was in a slot, with one incarnation. None: the time was not recorded.
struct Occupant {
  int slot = 0;
  std::int64_t incarnation = 0;
  std::string host{};
  std::string cause{};                ///< of its departure: "left", "revoked", "lost"; empty: it stayed
  std::optional<Seconds> ready{};     ///< when it came up; none: it was there as the job began
  std::optional<Seconds> joined{};    ///< when it became a worker, the last time; none: never
  std::optional<Seconds> released{};  ///< when it stopped being a worker, and waited
  std::optional<Seconds> warned{};    ///< of its departure
  std::optional<Seconds> departed{};
  std::optional<Seconds> noticed{};  ///< when the job knew of the departure
  std::optional<Seconds> gone{};     ///< when the rank had given up all work of this worker

  /// Came up while the job ran, and became a worker.
  bool arrived() const { return ready && joined; }
  /// Time from coming up until the departure, by the job's clock. None if it stayed.
  std::optional<Seconds> lifetime() const;
};
/// By slot, then by incarnation. Empty if no machine may depart.
std::vector<Occupant> occupants_of(const Journal& journal);

/// The rank of each slot.
std::vector<Rank> ranks_of_slots(const RunInfo& info);

/// How many workers have a machine, from each of these times on; in the order of time.
std::vector<std::pair<Seconds, int>> live_workers(const std::vector<Occupant>& occupants);

/// By the number of workers, until the last step has ended.
std::vector<TimeOfWorkers> times_by_workers(const Journal& journal);

/// Times in which the slot has no worker with a machine, from its first worker until `end`, in the order of
/// time.
std::vector<std::pair<Seconds, Seconds>> absences(const std::vector<Occupant>& occupants, int slot,
                                                  Seconds end);

/// When the last step of a worker ended; 0 without steps.
Seconds end_of_training(const Journal& journal);

}  // namespace tandem
