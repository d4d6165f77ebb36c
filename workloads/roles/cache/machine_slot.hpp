// The slot of a rank without workers whose machine may depart: it has one occupant after the other.
#pragma once

#include <functional>

#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/membership/steward_line.hpp"
#include "workloads/protocol.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class MachineSlot {
 public:
  /// The arguments must outlive it.
  MachineSlot(const Job& job, Context& context, Journal& journal);

  /// Runs one occupant of that incarnation from its beginning to its end. Must let OccupantDeparted pass.
  using Live = std::function<void(Context& context, int incarnation)>;
  /// Returns when the steward says that the job has ended.
  void run(const Live& live);

 private:
  void live(const Live& live, const protocol::Occupancy& occupancy);

  const Job& job_;
  Context& context_;
  Journal& journal_;
  StewardLine steward_;
};

}  // namespace tandem
