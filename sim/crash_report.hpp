// Turns a signal that would end a simulation silently (SimGrid crashes or aborts on some platforms) into a
// message and an exit code.
#pragma once

namespace tandem::sim {

/// The last operation of a rank.
struct LastOperation {
  int rank = -1;               ///< none yet
  const char* name = nullptr;  ///< a literal, which a signal handler can read
};
inline LastOperation last_operation;

/// From now on a crash or abort of this process prints its signal, the simulated time and the last operation,
/// and ends the process with the exit code of an environment error (70). Pre: the engine exists; it installs
/// a handler of its own.
void report_crashes();

}  // namespace tandem::sim
