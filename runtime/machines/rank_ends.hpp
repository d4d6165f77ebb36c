// How ranks end, and which end broke the job. Pure.
#pragma once

#include <optional>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "runtime/launcher/mpirun_errors.hpp"

namespace tandem::machines {

/// The end of a rank, as the process that watches its machine saw it.
struct RankEnd {
  enum class How {
    finished,  ///< the rank said that it is about to end after the job
    failed,    ///< the rank said that it is about to end because of an error
    exited,    ///< it did not; a library ended it, with `number` as exit code
    signal,    ///< signal `number` ended it
    unknown    ///< it disappeared before its exit status could be read
  };
  Rank rank = -1;
  How how = How::unknown;
  int number = 0;
  bool operator==(const RankEnd&) const = default;
};

/// The same with its moment. Ends on different machines are compared, so the moment has an uncertainty.
struct TimedEnd {
  RankEnd end;
  Seconds at{0};           ///< since any moment, the same for all
  Seconds uncertainty{0};  ///< half of the time in which the machine answered
};

/// The end that broke a job: a rank that was killed, or that disappeared, before any other rank ended. The
/// ranks that end because of it end later: those that lose their connection to it exit, and the launcher ends
/// the others by SIGTERM. None when the first rank to end, but for those that had
/// finished, said so or exited.
std::optional<RankEnd> killed_first(const std::vector<TimedEnd>& ends);

/// `end` with the signal that mpirun saw, where it saw one of that rank and the status of `end` is unknown:
/// the daemon of mpirun may collect a rank before the process that watches the machine can read its status.
RankEnd completed(RankEnd end, const std::optional<EndBySignal>& seen_by_mpirun);

/// "was ended by signal 9 (Killed): ...". Pre: of killed_first.
std::string describe(const RankEnd& end);

}  // namespace tandem::machines
