// The ranks that run on the same machine, as reported by MPI's launcher.
#pragma once

#include <mpi.h>

#include "policies/vocabulary/units.hpp"

namespace tandem {

class MachineRanks {
 public:
  /// Collective over `communicator`. Errors: WorldError.
  explicit MachineRanks(MPI_Comm communicator);
  ~MachineRanks();
  MachineRanks(const MachineRanks&) = delete;
  MachineRanks& operator=(const MachineRanks&) = delete;

  /// A communicator of the ranks of this machine, in their order.
  MPI_Comm communicator() const { return machine_; }
  int size() const { return size_; }
  /// The first rank of this machine, in the communicator of all.
  Rank leader() const { return leader_; }
  /// This rank is the leader.
  bool leads() const { return leads_; }

 private:
  MPI_Comm machine_ = MPI_COMM_NULL;
  int size_ = 0;
  Rank leader_ = 0;
  bool leads_ = false;
};

/// How many machines have ranks. Collective over `communicator`. Errors: WorldError.
int count_machines(MPI_Comm communicator, const MachineRanks& machine);

}  // namespace tandem
