// Checks whether a process may copy directly from the memory of another, as Open MPI does between ranks of a
// machine.
#pragma once

namespace tandem {

/// Tries a single copy between two short-lived child processes. Containers may forbid it. Open MPI then
/// fails during a message instead of choosing another method. Errors: WorldError when the system cannot
/// start a process.
bool single_copy_permitted();

}  // namespace tandem
