// A file by which a script on the machine of a rank says that this machine will be taken away, for systems
// that cannot signal the process.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// "DIRECTORY/warning.rank_3".
std::string warning_path(const std::string& directory, int rank);

/// Looks for the file a few times per second, however often it is asked.
class WarningFile {
 public:
  explicit WarningFile(std::string path) : path_(std::move(path)) {}

  struct Warning {
    Seconds notice;  ///< when the file was written
    Seconds age;     ///< since then
  };
  /// Once for each file that appears: the seconds in it until the machine is taken away, or `usual` if there
  /// is no number above 0 in it. Removes the file.
  std::optional<Warning> take(Seconds usual);

 private:
  using Clock = std::chrono::steady_clock;

  std::string path_;
  Clock::time_point looked_ = Clock::now();
  Clock::time_point next_look_{};
};

}  // namespace tandem
