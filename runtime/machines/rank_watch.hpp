// Notices the end of each rank of a job on this machine. Every rank holds a connection to the process that
// watches the machine. The kernel closes the connection however the rank ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "runtime/machines/rank_ends.hpp"
#include "runtime/process/descriptor.hpp"

namespace tandem::machines {

/// The side of the process that watches. Not thread-safe.
class RankWatch {
 public:
  struct Seen {
    RankEnd end;
    std::chrono::steady_clock::time_point at;
  };

  /// `mark`: of the job (new_launch_mark). Sees no ranks when another process already watches them.
  explicit RankWatch(const std::string& mark);

  /// To poll for input.
  std::vector<int> descriptors() const;
  /// Accepts new connections and reads what arrived on the others. Does not block.
  void read_available();
  /// The ends of the ranks that were connected, in the order in which they ended.
  const std::vector<Seen>& ends() const { return ends_; }

 private:
  struct Connected {
    Descriptor connection;
    pid_t process = 0;
    Rank rank = -1;  ///< -1: not known yet
    bool is_ending = false;
  };
  void accept_all();
  /// False: the connection has ended.
  bool read_from(Connected& one);

  Descriptor listener_;
  std::vector<Connected> connected_;
  std::vector<Seen> ends_;
};

/// The side of a rank.
class RankRegistration {
 public:
  /// Connects to the process that watches the job named in the environment, if there is one. Does nothing
  /// when it is connected. Does not block.
  void connect_as(Rank rank);
  bool is_connected() const { return connection_.is_open(); }
  /// Reports that the rank ends by itself; `failed`: because of an error.
  void announce_end(bool failed);

 private:
  Descriptor connection_;
};

}  // namespace tandem::machines
