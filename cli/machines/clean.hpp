// What jobs leave on this machine when they are killed, and its removal.
#pragma once

#include <string>

namespace tandem::cli {

/// Removes everything that is provably left over from killed jobs, except commits in memory, and, if it
/// `tells`, says so on standard error. Nothing that a living process uses is touched; what cannot be removed
/// is reported and left.
void remove_leftovers(bool tells = true);

struct CleanOptions {
  bool dry_run = false;
  std::string results;  ///< folder below which incomplete results are removed, too; empty: none
};
/// The same on request, of commits in memory, too. Prints what it did. Returns the exit code. Errors:
/// ConfigError.
int clean(const CleanOptions& options);

}  // namespace tandem::cli
