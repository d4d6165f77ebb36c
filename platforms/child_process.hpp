// Runs a function in a forked copy of this process, which its crash, abort or exit ends alone. Used where
// SimGrid may crash; programs are started by runtime/process.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tandem::platforms {

struct ChildResult {
  bool succeeded;      ///< the function returned without an exception
  std::string output;  ///< everything that it emitted, even if it failed later
  std::string
      errors;  ///< standard output and standard error; the text of an uncaught exception is the last line
  int signal;  ///< the signal that ended it, or 0
};

/// Sends bytes to the parent immediately, so that they survive a later crash.
using Emit = std::function<void(std::string_view)>;

/// Blocks until the copy has ended. Errors: WorldError when the system cannot start a process or make a pipe.
ChildResult run_in_child(const std::function<void(const Emit&)>& task);

}  // namespace tandem::platforms
