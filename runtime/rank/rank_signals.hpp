// Signals by which a rank learns that its machine, or the whole job, will end.
#pragma once

#include <signal.h>

#include "runtime/process/signals.hpp"

namespace tandem {

/// To one rank: its machine will be taken away.
inline constexpr int warning_signal = SIGUSR1;

/// Holds the signals back from its construction on. To be made before MPI starts threads, which then hold
/// them back, too.
class RankSignals {
 public:
  /// Errors: WorldError when the system has no descriptor left.
  RankSignals() : reader_({warning_signal, end_signal}) {}

  /// Whether a warning has arrived that nobody has taken yet.
  bool take_warning();
  /// Whether the whole job is to end soon.
  bool is_end_requested();

 private:
  void read();

  SignalReader reader_;
  int warnings_ = 0;  ///< that nobody has taken
  bool ends_ = false;
};

}  // namespace tandem
