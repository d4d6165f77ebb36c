// Cleans up on this machine after an MPI job whose launching process was killed, and saves the commits of
// the job that are in memory.
#pragma once

#include "runtime/process/commit_memory.hpp"
#include "runtime/process/descriptor.hpp"
#include "runtime/process/process.hpp"

namespace tandem {

/// While it exists, another process waits in case this one is killed. Then that process waits until all
/// programs that this one started are gone, removes shared memory and session directories of Open MPI that
/// no process uses, and ends the commit memory.
class KilledJobGuard {
 public:
  /// Also sets a variable in the environment of the programs that are started from then on. `memory`: of the
  /// job, which must outlive this; null: none. Pre: this process has no other threads. Errors: WorldError
  /// when the system cannot start a process.
  explicit KilledJobGuard(CommitMemory* memory = nullptr);
  /// Ends the memory, then the waiting process.
  ~KilledJobGuard();
  KilledJobGuard(const KilledJobGuard&) = delete;
  KilledJobGuard& operator=(const KilledJobGuard&) = delete;

 private:
  CommitMemory* memory_;
  Descriptor life_;  ///< closed when this process ends
  Process guard_;    ///< killed when this object ends
};

}  // namespace tandem
