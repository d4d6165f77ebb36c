// What an MPI job leaves on this machine is removed, even if the process that has launched it is killed.
#pragma once

#include "runtime/process/descriptor.hpp"
#include "runtime/process/process.hpp"

namespace tandem {

/// While it exists, another process waits for this one to be killed. Then it waits until all programs are
/// gone that this process started meanwhile, and removes shared memory and session directories of Open MPI
/// that no process uses.
class KilledJobGuard {
 public:
  /// Also sets a variable in the environment of the programs that are started from then on. Pre: this process
  /// has no other threads. Errors: WorldError when the system cannot start a process.
  KilledJobGuard();
  KilledJobGuard(const KilledJobGuard&) = delete;
  KilledJobGuard& operator=(const KilledJobGuard&) = delete;

 private:
  Descriptor life_;  ///< closed when this process ends
  Process guard_;    ///< killed when this object ends
};

}  // namespace tandem
