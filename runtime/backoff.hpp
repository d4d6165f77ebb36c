// How a rank waits without burning a core that another rank needs: polls at full speed for a moment, then
// gives the core away between polls, then naps for a small part of the time it has waited already. Knows
// nothing of MPI.
#pragma once

#include <chrono>
#include <optional>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// How long each stage of a wait lasts, counted from its begin or the last event.
struct Patience {
  std::chrono::nanoseconds spin;   ///< poll without pause
  std::chrono::nanoseconds yield;  ///< then sched_yield between polls, up to this age
  /// For a machine with `cores` that `ranks` share. Pre: both positive.
  static Patience of(int cores, int ranks);
};

class Backoff {
 public:
  explicit Backoff(Patience patience);
  /// A wait begins, or something happened while waiting.
  void restart() { start_ = std::chrono::steady_clock::now(); }
  /// Call between two polls. `to_deadline`: the wait must go on no later than after this time.
  /// `may_sleep_through`: nothing but the deadline can end the wait, so there is no need to poll before it.
  void pause(std::optional<Seconds> to_deadline, bool may_sleep_through);

 private:
  Patience patience_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace tandem
