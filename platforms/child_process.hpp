// Runs a function in a forked copy of this process: its crash, abort or exit ends the copy alone. Used where
// SimGrid may crash; programs are started by runtime/process.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "policies/vocabulary/units.hpp"

namespace tandem::platforms {

struct ChildResult {
  bool succeeded;      ///< the function returned without an exception
  std::string output;  ///< everything that it emitted, even if it failed later
  std::string
      errors;  ///< standard output and standard error; the text of an uncaught exception is the last line
  int signal;  ///< the signal that ended it, or 0
};

/// Sends bytes to the parent immediately, so that a later crash does not lose them.
using Emit = std::function<void(std::string_view)>;

/// Limits of a child: its processor time, its time, and its memory in addition to that of this process.
constexpr Seconds child_cpu_limit{120.0};
constexpr Seconds child_time_limit{600.0};
constexpr Bytes child_memory_limit{std::int64_t{8} << 30};
/// The report of a child that reaches the limit of memory.
std::string over_memory_limit();
/// The limit of time that ended a child, as text; empty if none did.
std::string over_time_limit(const ChildResult& result);

/// Blocks until the copy has ended. The copy ends when this process does. Errors: WorldError when the system
/// cannot start a process or make a pipe.
ChildResult run_in_child(const std::function<void(const Emit&)>& task);

}  // namespace tandem::platforms
