// A file that warns a rank that its machine will be taken away. A script on the machine writes it, where the
// system cannot signal the process.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// "DIRECTORY/warning.rank_3".
std::string warning_path(const std::string& directory, int rank);

/// Checks for the file a few times per second, even when it is called more often.
class WarningFile {
 public:
  explicit WarningFile(std::string path) : path_(std::move(path)) {}

  struct Warning {
    Seconds notice;  ///< when the file was written
    Seconds age;     ///< since then
  };
  /// Returns a warning once for each file that appears, and removes the file. The number in the file is the
  /// seconds until the machine is taken away; without a number above 0 it is `usual`.
  std::optional<Warning> take(Seconds usual);

 private:
  using Clock = std::chrono::steady_clock;

  std::string path_;
  Clock::time_point looked_ = Clock::now();
  Clock::time_point next_look_{};
};

}  // namespace tandem
