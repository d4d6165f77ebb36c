// A place where one machine after the other may be, each with an occupant, as the steward knows it.
#pragma once

#include <algorithm>

#include "workloads/context.hpp"
#include "workloads/job/placement/roster.hpp"
#include "workloads/membership/machines.hpp"

namespace tandem {

struct Place {
  Rank rank = 0;
  Roster::Role role = Roster::Role::worker;
  int worker = -1;                     ///< its slot among workers; -1: of another role
  const Machines* machines = nullptr;  ///< where its machines are; null: its occupant stays
  int machine = -1;                    ///< its slot among those machines
  int incarnation = 0;                 ///< of its last machine
  int announced = 0;                   ///< incarnation of its last occupant
  int before = 0;                      ///< incarnations before the first one that this launch knows
  bool is_gone = false;                ///< the machine of its last occupant is gone
  bool departs_by_itself = false;      ///< its occupant knows when it departs
  /// The incarnation in the numbers of this launch.
  int in_launch(int of_job) const { return of_job - before; }
  void begin_launch() { before = std::max(0, announced - 1); }
};

}  // namespace tandem
