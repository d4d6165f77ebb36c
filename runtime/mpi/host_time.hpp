// The clock of a rank's machine, and how a rank waits by it. Two implementations, of which a program links
// one: the machine's own (host_time.cpp) and that of a simulated machine (sim/witness/).
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>

#include "policies/vocabulary/units.hpp"
#include "runtime/mpi/backoff.hpp"

namespace tandem {

class HostTime {
 public:
  virtual ~HostTime() = default;
  /// Time since a fixed moment.
  virtual Seconds now() const = 0;
  /// A wait begins, or an event occurred during a wait.
  virtual void restart() = 0;
  /// Call between two polls for messages. `to_deadline`: the call must return within this time.
  /// `only_deadline`: nothing else can end the wait, and there is nothing to poll.
  virtual void pause(std::optional<Seconds> to_deadline, bool only_deadline) = 0;
};

/// The patience that suits the cores which the ranks of `communicator` on this node may use together.
/// Collective over it. Not for a simulated machine. Errors: WorldError.
Patience patience_of_node(MPI_Comm communicator);

/// For the calling rank. Collective over `communicator`. `patience`: none: that of its ranks; a simulated
/// machine needs none. Errors: WorldError.
std::unique_ptr<HostTime> host_time(MPI_Comm communicator, const std::optional<Patience>& patience);

}  // namespace tandem
