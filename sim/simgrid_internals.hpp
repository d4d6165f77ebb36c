// Functions of SimGrid's kernel that ranks need and that its public interface does not offer. The only file
// of this folder that names the actors of the kernel.
#pragma once

#include <simgrid/forward.h>

#include <functional>

namespace tandem::sim {

/// Puts an actor to sleep and wakes it. A semaphore would do the same, in two switches between the actor and
/// the kernel instead of one.
class ActorSleep {
 public:
  /// Runs `code` in the kernel. If it returns true, the calling actor sleeps until `wake`. Pre: always the
  /// same actor calls.
  void after(const std::function<bool()>& code);
  /// Pre: the actor sleeps, and has not been killed. Kernel context.
  void wake();

 private:
  simgrid::kernel::actor::ActorImpl* actor_ = nullptr;  ///< from the first sleep on
};

/// SimGrid may search all messages between hosts whenever one ends (simgrid_version.hpp), which takes most
/// of the time of a simulation with many ranks. Takes this message off its list. It then behaves like one
/// that is sent for the second time. Pre: made by Comm::sendto_init and never started.
void take_off_list(simgrid::s4u::Comm& message);

}  // namespace tandem::sim
