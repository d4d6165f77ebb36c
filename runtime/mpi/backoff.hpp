// How a rank waits without occupying a CPU core that another rank needs: it first polls continuously, then
// yields the core between polls, then sleeps for a small fraction of the time that it has waited. Does not
// use MPI.
#pragma once

#include <chrono>
#include <optional>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// Duration of each stage of a wait, from its start or the last event.
struct Patience {
  std::chrono::nanoseconds spin;   ///< poll without pause
  std::chrono::nanoseconds yield;  ///< then yield the core between polls, until this time; then sleep
  bool poll_yields;                ///< a poll that finds nothing yields the core itself
  /// For a machine with `cores` that `ranks` share. Pre: both positive.
  static Patience of(int cores, int ranks, bool poll_yields);
};

class Backoff {
 public:
  explicit Backoff(Patience patience);
  /// A wait begins, or an event occurred during a wait.
  void restart() { start_ = std::chrono::steady_clock::now(); }
  /// Call between two polls. `to_deadline`: the call must return within this time. `only_deadline`: nothing
  /// else can end the wait, and there is nothing to poll.
  void pause(std::optional<Seconds> to_deadline, bool only_deadline);

 private:
  void yield(bool only_deadline) const;
  Patience patience_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace tandem
