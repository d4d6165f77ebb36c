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
    finished,  ///< the rank reported that it ends after the job
    failed,    ///< the rank reported that it ends because of an error
    exited,    ///< no report; a library ended it with exit code `number`
    signal,    ///< signal `number` ended it
    unknown    ///< it disappeared before its exit status could be read
  };
  Rank rank = -1;
  How how = How::unknown;
  int number = 0;
  bool operator==(const RankEnd&) const = default;
};

/// An end with its time. Ends on different machines are compared, so the time has an uncertainty.
struct TimedEnd {
  RankEnd end;
  Seconds at{0};           ///< since an arbitrary moment, the same for all
  Seconds uncertainty{0};  ///< half of the time in which the machine answered
};

/// The end that broke a job: of a rank that was killed, or that disappeared, before any other rank ended.
/// Ranks that end because of it end later: those that lose their connection to it exit, and the launcher
/// ends the others by SIGTERM. None when the first rank to end, apart from ranks that had finished, reported
/// its end or exited.
std::optional<RankEnd> killed_first(const std::vector<TimedEnd>& ends);

/// Adds the signal that mpirun saw to an `end` of unknown status, if it is of the same rank. The daemon of
/// mpirun may collect the status of a rank before the process that watches the machine can read it.
RankEnd completed(RankEnd end, const std::optional<EndBySignal>& seen_by_mpirun);

/// "was ended by signal 9 (Killed): ...". Pre: of killed_first.
std::string describe(const RankEnd& end);

}  // namespace tandem::machines
