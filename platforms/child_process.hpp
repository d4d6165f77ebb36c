// Runs a function in a forked copy of this process, which its crash, abort or exit ends alone. Used where
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

/// Sends bytes to the parent immediately, so that they survive a later crash.
using Emit = std::function<void(std::string_view)>;

/// Limits of a child: of its processor time, of its time, and of the memory that it takes in addition to this
/// process's.
constexpr Seconds child_cpu_limit{120.0};
constexpr Seconds child_time_limit{600.0};
constexpr Bytes child_memory_limit{std::int64_t{8} << 30};
/// What a child that reaches the last limit reports.
std::string over_memory_limit();
/// The limit of time that ended a child, with what was found; empty if none did.
std::string over_time_limit(const ChildResult& result);

/// Blocks until the copy has ended. The copy ends when this process does. Errors: WorldError when the system
/// cannot start a process or make a pipe.
ChildResult run_in_child(const std::function<void(const Emit&)>& task);

}  // namespace tandem::platforms
