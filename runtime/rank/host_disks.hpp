// The emulated disks of a host, which its ranks share. The state of the disks' queues is in memory that
// these ranks map together: an access of one rank delays those of the others, as in a simulation.
#pragma once

#include <mpi.h>

#include "policies/vocabulary/units.hpp"
#include "workloads/cost/disk_queue.hpp"

namespace tandem {

class HostDisks {
 public:
  /// `host`: the same number for ranks of one host, negative for a rank without one. `disks`: number of
  /// disks of its host. When ranks of one host run on several machines, only ranks of the same machine share
  /// the disks. Collective over `communicator`. Errors: WorldError.
  HostDisks(MPI_Comm communicator, int host, int disks);
  ~HostDisks();
  HostDisks(const HostDisks&) = delete;
  HostDisks& operator=(const HostDisks&) = delete;

  /// As DiskQueue::serve, by the clock of the machine. Pre: 0 <= disk < disks.
  Seconds serve(int disk, Seconds arrival, const DiskService& service, std::int64_t requests, Seconds moving);

 private:
  struct Queue;

  MPI_Win window_ = MPI_WIN_NULL;
  Queue* queues_ = nullptr;  ///< one per disk
  int disks_ = 0;
};

}  // namespace tandem
