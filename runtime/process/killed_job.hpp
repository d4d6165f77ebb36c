// What an MPI job leaves on this machine is removed, and its commits in memory are saved, even if the process
// that has launched it is killed.
#pragma once

#include "runtime/process/commit_memory.hpp"
#include "runtime/process/descriptor.hpp"
#include "runtime/process/process.hpp"

namespace tandem {

/// While it exists, another process waits for this one to be killed. Then it waits until all programs are
/// gone that this process started meanwhile, removes shared memory and session directories of Open MPI that
/// no process uses, and ends the commit memory.
class KilledJobGuard {
 public:
  /// Also sets a variable in the environment of the programs that are started from then on. `memory`: of the
  /// job, which must outlive this; null: none. Pre: this process has no other threads. Errors: WorldError
  /// when the system cannot start a process.
  explicit KilledJobGuard(CommitMemory* memory = nullptr);
  /// Ends the memory, and then the process that waits.
  ~KilledJobGuard();
  KilledJobGuard(const KilledJobGuard&) = delete;
  KilledJobGuard& operator=(const KilledJobGuard&) = delete;

 private:
  CommitMemory* memory_;
  Descriptor life_;  ///< closed when this process ends
  Process guard_;    ///< killed when this object ends
};

}  // namespace tandem
