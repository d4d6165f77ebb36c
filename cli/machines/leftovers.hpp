// Removes what killed jobs left on this machine.
#pragma once

#include <string>

namespace tandem::cli {

/// Removes everything that is provably left over from killed jobs, except commits in memory. Nothing that a
/// living process uses is touched; what cannot be removed is reported and stays. `reports`: writes removals
/// to standard error.
void remove_leftovers(bool reports = true);

struct CleanOptions {
  bool dry_run = false;
  std::string results;  ///< folder below which incomplete results are removed, too; empty: none
};
/// Removes the same, and commits in memory. Prints what it did. Returns the exit code. Errors: ConfigError.
int clean(const CleanOptions& options);

}  // namespace tandem::cli
