// Whether one process may copy straight out of another's memory here, as Open MPI's shared memory likes to
// do.
#pragma once

namespace tandem {

/// Tries it between two short-lived children: containers may forbid it, and Open MPI then fails in
/// mid-message instead of falling back.
bool single_copy_permitted();

}  // namespace tandem
