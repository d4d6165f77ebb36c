// Runs a function in a forked copy of this process, so that its crash, abort or exit cannot reach us. Knows
// nothing of platforms.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tandem::platforms {

struct ChildResult {
  bool succeeded;      ///< the function returned
  std::string output;  ///< everything it emitted, also when it failed later
  std::string
      errors;  ///< its standard output and standard error; an uncaught exception's text is the last line
  int signal;  ///< that ended it, or 0
};

/// Emits bytes to the parent at once, so that they survive a crash of what follows.
using Emit = std::function<void(std::string_view)>;

/// Errors: WorldError when the system has no process or pipe left.
ChildResult run_in_child(const std::function<void(const Emit&)>& task);

}  // namespace tandem::platforms
