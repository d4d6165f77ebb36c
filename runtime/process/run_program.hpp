// Runs a program to its end and returns what it printed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/process/process.hpp"

namespace tandem {

struct ProgramResult {
  ExitStatus status;
  std::string output;      ///< standard output and standard error in the order of printing
  bool timed_out = false;  ///< it was killed because it ran longer than the limit
};

struct ProgramRun {
  std::string input = {};                  ///< standard input
  std::optional<Seconds> time_limit = {};  ///< the program and its process group are killed after this time
};

/// Runs `words` to the end. Input and output are files in memory: neither side waits for the other, however
/// much is printed, and a background process that the program leaves behind does not delay the return. With
/// a time limit the program has its own process group. Signals that this thread blocks stay blocked in the
/// program. Errors: as start_program.
ProgramResult run_program(const std::vector<std::string>& words, const ProgramRun& run = {});

}  // namespace tandem
