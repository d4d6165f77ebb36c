// What jobs leave on this machine when they are killed, and its removal.
#pragma once

namespace tandem::cli {

/// Removes everything that is provably left over from killed jobs, except commits in memory, and, if it
/// `tells`, says so on standard error. Nothing that a living process uses is touched; what cannot be removed
/// is reported and left.
void remove_leftovers(bool tells = true);

}  // namespace tandem::cli
