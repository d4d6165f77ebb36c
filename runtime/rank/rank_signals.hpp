// Signals by which a rank learns that its machine, or the whole job, will end.
#pragma once

#include <signal.h>

#include <chrono>
#include <deque>
#include <optional>

#include "policies/vocabulary/units.hpp"
#include "runtime/process/signals.hpp"

namespace tandem {

/// To one rank: its machine will be taken away.
inline constexpr int warning_signal = SIGUSR1;

/// Blocks the signals from its construction on. Construct it before MPI starts threads: these then block the
/// signals, too.
class RankSignals {
 public:
  /// Errors: WorldError when the system has no descriptor left.
  RankSignals() : reader_({warning_signal, end_signal}) {}

  /// Takes the oldest warning that was not taken yet, as the longest time since its arrival: the time since
  /// the check before it.
  std::optional<Seconds> take_warning();
  /// Whether the whole job is to end soon.
  bool is_end_requested();

 private:
  using Clock = std::chrono::steady_clock;

  void read();

  SignalReader reader_;
  Clock::time_point looked_ = Clock::now();
  std::deque<Clock::time_point> warnings_;  ///< not taken yet: a time before the arrival of each
  bool ends_ = false;
};

}  // namespace tandem
