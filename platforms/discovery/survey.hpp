// Finds the network between machines from messages alone: which trials to run, and what their rates say.
// Pure: trials are run by a Bench. The rates of single flows give the cables of machines; permutations, in
// which each machine sends to one other and receives from one, slow down exactly the flows that cross a cable
// which several machines share; flows of a whole group give the bandwidth of such a cable. Groups then take
// the place of machines, and so on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "platforms/discovery/tree.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::discovery {

/// Machine numbers. A number of at least the count of machines is a second process on a machine: the first
/// such number is on machine 0.
struct Flow {
  int from;
  int to;
  Bytes chunk;    ///< size of its messages
  int in_flight;  ///< messages that are in flight at a time
  Bytes most;     ///< bytes after which it ends; at least what it sends alone while the trial lasts
};

/// Flows that run concurrently.
struct Trial {
  std::vector<Flow> flows;
  Seconds duration;
};

class Bench {
 public:
  virtual ~Bench() = default;
  /// The rate of each flow in bytes per second, while all flows are in flight.
  virtual std::vector<double> rates(const Trial& trial) = 0;
  /// One-way time of a message of one byte.
  virtual Seconds latency(int from, int to) = 0;
};

/// A group that the user knows: machines and other groups.
struct KnownGroup {
  std::string name;
  std::vector<int> machines;
  std::vector<int> groups;  ///< numbers of groups that are earlier in the list
};

struct SurveySetting {
  Seconds single{0.25};                ///< duration of one flow alone; each is measured two or three times
  Seconds group{0.5};                  ///< of the flows of a group
  std::uint64_t seed = 1;              ///< of the permutations
  bool has_companions = false;         ///< a second process on each machine: loopbacks are measured
  std::vector<KnownGroup> known = {};  ///< not empty: no other groups are looked for
};

/// Called with the share of the survey that is done.
using Progress = std::function<void(double)>;

/// Pre: at least one machine. Shared cables are found if they slow down permutations by 15 %, which needs at
/// least two machines on both sides of them.
Tree survey(int machines, Bench& bench, const SurveySetting& setting, const Progress& progress = {});

}  // namespace tandem::discovery
