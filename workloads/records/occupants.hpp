// Who was in the slots of a job's workers, and when: the rows of membership.csv as stays of machines. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/records/result_directory.hpp"

namespace tandem {

/// The machine that was in a slot, with one incarnation. A time that is none was not recorded.
struct Occupant {
  int slot = 0;
  std::int64_t incarnation = 0;
  std::string host{};
  std::string cause{};                ///< of its departure: "left", "revoked", "lost"; empty: it stayed
  std::optional<Seconds> ready{};     ///< it has come up; none: it was there as the job began
  std::optional<Seconds> joined{};    ///< it is a worker; none: it never was. The last time, of several
  std::optional<Seconds> released{};  ///< it is none any more, and waits
  std::optional<Seconds> warned{};    ///< of its departure
  std::optional<Seconds> departed{};
  std::optional<Seconds> noticed{};  ///< the job knows of the departure
  std::optional<Seconds> gone{};     ///< the rank has given up all work of this worker

  /// Came up while the job ran, and became a worker.
  bool arrived() const { return ready && joined; }
  /// As the job's clock says, from coming up until the departure. None if it stayed.
  std::optional<Seconds> lifetime() const;
};
/// By slot, then by incarnation. Empty where no machine may depart.
std::vector<Occupant> occupants_of(const Journal& journal);

/// The rank of each slot.
std::vector<Rank> ranks_of_slots(const RunInfo& info);

/// How many workers have a machine, from each of these times on; in the order of time.
std::vector<std::pair<Seconds, int>> live_workers(const std::vector<Occupant>& occupants);

/// When the slot has no worker with a machine, from the first one on until `end`; in the order of time.
std::vector<std::pair<Seconds, Seconds>> absences(const std::vector<Occupant>& occupants, int slot,
                                                  Seconds end);

/// When the last step of a worker ended; 0 without steps.
Seconds end_of_training(const Journal& journal);

}  // namespace tandem
