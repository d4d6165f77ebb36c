// Runs the bodies of all ranks under the simulated clock of SimGrid. The only interface of the simulator:
// files that include this header do not see SimGrid.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/cost/disk_queue.hpp"
#include "workloads/cost/profile.hpp"

namespace tandem::sim {

/// The time of an all-reduce of the library. All-reduces with a common member run one after the other, but
/// messages of a later one can fill gaps of an earlier one.
struct AllReduceTime {
  AllReduceTime() = default;
  /// All-reduces that do not overlap at all.
  AllReduceTime(Seconds each) : alone(each), behind(each) {}
  AllReduceTime(Seconds alone_, Seconds behind_) : alone(alone_), behind(behind_) {}
  Seconds alone;
  Seconds behind;  ///< least time between its end and that of one that was in flight when it started
};

struct SimulationSetting {
  std::string platform_file;
  std::vector<std::string> hosts;  ///< of each rank; ranks on one host share its device
  /// Seconds that the work takes alone on the device of the rank. Called once for each compute.
  std::function<Seconds(Rank, const Work&)> price;
  std::function<void(Context&)> body;  ///< run by every rank
  /// The device of the rank does sums and compressions of buckets in a second queue (is_of_finished_bucket);
  /// null: none does.
  std::function<bool(Rank)> has_second_queue = {};
  /// Factor on the time of work while messages of the rank are in flight; at least 1. Called once for each
  /// compute; empty: messages do not slow work down. Not under SMPI.
  std::function<double(Rank, const Work&)> slowdown = {};
  bool measures_overlap = false;  ///< SimulationResult::overlap. Not under SMPI
  bool stops_work = false;        ///< bodies may call Context::stop_work
  /// Time of an all-reduce of the library once all its members have started it. Called once for each. Needed
  /// where a body starts one; not under SMPI, which sends its messages.
  std::function<AllReduceTime(std::span<const Rank> members, Bytes size)> all_reduce = {};
  std::vector<Seconds> start_offsets = {};  ///< start-up delay of each rank; empty: none. Not under SMPI
  /// How a disk of the rank's host serves requests; all ranks of the host share it. Null: one at a time,
  /// without latency.
  std::function<DiskService(Rank, int disk)> disk_service = {};
  /// The time that the bytes of an access alone take; null: at the rate that the platform file gives the
  /// disk.
  std::function<Seconds(Rank, int disk, const DiskAccess&, bool write)> disk_moving = {};
  /// How late the rank notices the end of an access to a disk, which is free by then. Called once for each
  /// access; null: not late.
  std::function<Seconds(Rank, int disk, const DiskAccess&)> disk_delay = {};
  /// Measured cost of a message by its size, for each kind of path; empty: only the links of the platform
  /// (CM02).
  std::vector<Profile::Path> network = {};
  /// Kind of each host by name, as in the paths of `network`; a host that is not listed has the kind "".
  std::map<std::string, std::string> host_kinds = {};
  /// Time that a message loses when it starts on a link in use, see Profile::busy_start. Not under SMPI.
  Seconds busy_start{0};
  /// Message times vary as the measured ones of `network` did.
  struct Noise {
    std::uint64_t seed;
    double share_jitter_bytes = 0;  ///< see Profile; not under SMPI
  };
  std::optional<Noise> noise = {};
  /// Messages above this size move only once their receive is posted (MPI's rendezvous); the others start
  /// when they are sent.
  Bytes eager_limit{std::numeric_limits<std::int64_t>::max()};
  /// The simulation ends then, in the middle of whatever the ranks do. What happens at that very time still
  /// happens. Not under SMPI.
  std::optional<Seconds> until = {};
  std::function<void(Seconds)> progress =
      {};  ///< called with the simulated time several times per second of real time
};

struct SimulationResult {
  Seconds makespan;        ///< until the last body ended, or until SimulationSetting::until
  nlohmann::json physics;  ///< the network model and every flag that shapes times, as they were in effect
  std::vector<std::string> warnings = {};  ///< what a reader of the times must know
  bool is_cut = false;                     ///< SimulationSetting::until came before the last body had ended
  /// The longest time in which a rank computed in its first queue while messages of it moved, or while an
  /// all-reduce of the library was in progress on it.
  Seconds overlap{0};
  std::vector<Seconds> ends = {};  ///< of each rank's body; empty: not known (SMPI)
};

/// Simulates the job. Once per process: SimGrid keeps one engine. Errors: what a body threw; ConfigError for
/// a platform, host, route or disk that is missing; WorldError for a deadlock (it names each waiting rank and
/// its operation), a failed host or link, a second call.
SimulationResult simulate(const SimulationSetting& setting);

}  // namespace tandem::sim
