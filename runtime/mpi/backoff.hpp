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
  std::chrono::nanoseconds yield;  ///< then give the core away between polls, up to this age; then nap
  bool poll_yields;                ///< a poll that finds nothing gives the core away itself
  /// For a machine with `cores` that `ranks` share. Pre: both positive.
  static Patience of(int cores, int ranks, bool poll_yields);
};

class Backoff {
 public:
  explicit Backoff(Patience patience);
  /// A wait begins, or something happened while waiting.
  void restart() { start_ = std::chrono::steady_clock::now(); }
  /// Call between two polls. `to_deadline`: the wait must go on no later than after this time.
  /// `only_deadline`: nothing else can end the wait, and there is nothing to poll.
  void pause(std::optional<Seconds> to_deadline, bool only_deadline);

 private:
  void yield(bool only_deadline) const;
  Patience patience_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace tandem
