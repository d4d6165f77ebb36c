// The results of `tandem calibrate`: figures that the simulator uses instead of estimates. They are valid
// for the machine and software on which they were measured. Plain data with a JSON form.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/rng.hpp"
#include "policies/vocabulary/units.hpp"
#include "workloads/context.hpp"

namespace tandem {

struct Profile {
  static constexpr int schema_version = 16;
  std::string machine;   ///< processor name, cores, kernel: a fresh profile has those of this machine
  std::string software;  ///< version of Tandem, then those of the libraries that ranks use
  std::string date;
  std::string command;          ///< that measured it
  double cpu_wait_share = 0.0;  ///< of the time, in which the measuring rank waited for a CPU core
  double other_load = 0.0;      ///< share of all cores' time that other processes used
  double launch_s = 0.0;        ///< from the launch of the ranks until all were ready; 0: not measured

  /// Seconds of one operation on this machine's native device: medians with spread, measured alone; some also
  /// while messages are in flight.
  struct ComputeEntry {
    std::string model;  ///< of compress and decompress, the method with its options instead
    Work::Kind kind;
    int bucket;
    int samples;         ///< 0 where the kind has none
    std::int64_t bytes;  ///< 0 where the kind has none
    double median_s;
    double spread;  ///< interquartile range / median
    std::vector<double> raw_s;
    double first_s = 0.0;  ///< the first execution, which `raw_s` does not have
    /// Times while messages were continuously in flight from and to the rank; each is the mean of some steps.
    /// Empty: not measured.
    std::vector<double> disturbed_raw_s = {};
    std::int64_t stored = 0;  ///< of decode: bytes of the images as they are stored; 0: these were records
  };
  std::vector<ComputeEntry> compute;
  std::int64_t disturbing_bytes = 0;  ///< size of those messages

  /// Relative speed of the hosts' native devices. Not empty if ranks of several hosts, or kinds of hosts,
  /// were calibrated.
  struct HostEntry {
    std::string host;  ///< empty: of a rank without one
    double ratio;      ///< median time of a step's work over that of the host of `compute`
    double spread;     ///< interquartile range / median
    std::vector<double> raw_s;
    std::string kind = {};  ///< see DevicePlan::kind_of; empty: any
    /// The same for one kind of work, because a GPU's speed relative to a processor differs by kind.
    struct OfWork {
      Work::Kind work;
      double ratio;
      double first_ratio;  ///< of the additional time of first executions
    };
    std::vector<OfWork> works = {};  ///< a kind without an entry has the step's ratio
    double ratio_of(Work::Kind work) const;
    double first_ratio_of(Work::Kind work) const;
  };
  std::vector<HostEntry> hosts;

  /// When ranks began their first operation, counted from the first rank that left the barrier at time zero;
  /// one entry per rank.
  struct StartOffsets {
    std::string model;  ///< model of the ranks; empty when math was modelled
    std::vector<double> raw_s;
  };
  StartOffsets start_offsets;

  /// One-way time of a message, per size, from round trips; and how long the send call keeps the rank busy:
  /// the overhead of LogP (Culler et al., PPoPP 1993), which is part of the one-way time.
  struct MessageEntry {
    std::int64_t bytes = 0;
    double median_s = 0.0;
    double spread = 0.0;
    std::vector<double> raw_s;
    double send_s = 0.0;  ///< median
    std::vector<double> send_raw_s = {};
    double sent_s = 0.0;  ///< median time until the sender may reuse its buffer
    std::vector<double> sent_raw_s = {};
  };
  /// Part of a piecewise fit: from `from_bytes` upwards, seconds = alpha_s + bytes * beta_s.
  struct NetworkSegment {
    std::int64_t from_bytes;
    double alpha_s;
    double beta_s;
  };
  /// One kind of route between two ranks, as the platform file describes it, and its measurements.
  struct Path {
    std::string from;  ///< hosts of the two ranks
    std::string to;
    int links = 0;                 ///< on the route; 0: within one host, or all ranks on one machine
    double bandwidth = 0.0;        ///< of the narrowest link, bytes per second; 0 without links
    std::int64_t eager_bytes = 0;  ///< largest message that leaves before its receive is posted
    std::vector<MessageEntry> messages;
    std::vector<NetworkSegment> segments;
    /// Bytes of a large message that the transport still buffers when the send is complete (socket buffers,
    /// for example). 0: a send is complete when its message has arrived.
    std::int64_t held_bytes = 0;
    /// Kinds of the two hosts, see DevicePlan::kind_of, because messages from GPU memory take other times
    /// than from host memory. Empty: any.
    std::string from_kind = {};
    std::string to_kind = {};
    /// Whether the path is between hosts of these kinds, in either direction.
    bool is_between(const std::string& one, const std::string& other) const;
  };
  /// The first one is that of ranks 0 and 1. Empty: see has_tables_alone().
  std::vector<Path> paths;

  /// How messages between ranks of one machine travelled, by size, ascending. Runs with this profile on an
  /// equal machine repeat it. Empty: there were no such messages.
  struct NodeRoute {
    std::int64_t up_to_bytes;
    std::string by;
  };
  std::vector<NodeRoute> node_routes;

  /// Seconds of MPI's own all-reduce among the first ranks of the job, from when the last one started it.
  struct AllReduceEntry {
    int ranks;
    std::int64_t bytes;
    double median_s;
    double spread;
    std::vector<double> raw_s;
    double behind_s;                    ///< time that each further concurrent one adds to the first
    std::vector<double> at_once_raw_s;  ///< of all concurrent ones together
  };
  std::vector<AllReduceEntry> all_reduces;  ///< by ranks, then by bytes
  std::string cluster;  ///< platform file of the cluster it was measured on; empty: none, but one machine
  std::vector<std::string> machines;  ///< of a real cluster, by rank; empty: the cluster is emulated, or none

  /// Copies between the memory of rank 0's device and pinned memory of its host, by the device's own clock.
  /// Empty if both are one memory.
  struct CopyEntry {
    std::int64_t bytes;
    bool out;  ///< from the device
    double median_s;
    double spread;
    std::vector<double> raw_s;
  };
  std::vector<CopyEntry> copies;
  std::string device = "host";  ///< that rank 0 computed on

  /// Storage of this machine, through the page cache as in a job.
  struct StorageEntry {
    std::int64_t bytes;
    bool write;
    double median_s;
    double spread;
    std::vector<double> raw_s;
  };
  std::vector<StorageEntry> storage;

  /// A disk of this machine: random reads of a file, and what follows from them (see fit_disk).
  struct DiskEntry {
    struct Reads {
      std::int64_t bytes;  ///< of each
      int depth;           ///< requests at the same time
      double per_second;   ///< median
      double spread;       ///< interquartile range / median
    };
    bool cold = false;        ///< past the page cache; writes until they are on the disk
    double latency_s = 0.0;   ///< of a request, besides its bytes
    int parallel = 1;         ///< requests served at the same time
    double read_rate = 0.0;   ///< bytes per second
    double write_rate = 0.0;  ///< the same
    std::vector<Reads> reads = {};
  };
  std::vector<DiskEntry> disks;  ///< warm, then cold where the file system lets reads avoid the page cache
  /// The measurement of cold or of warm reads; the other one if that was not possible. Null: none.
  const DiskEntry* disk(bool cold) const;

  /// Delays with which ranks noticed the end of emulated work, while all ranks worked and exchanged messages.
  std::vector<double> lateness_s;
  /// Distance between the end of a message and its end with an equal share of a link: standard deviation in
  /// bytes. It does not grow with the size of messages, because links serve flows in turn, some packets at a
  /// time.
  double share_jitter_bytes = 0.0;

  /// Transfers of equal size into or out of rank 0's host that start one after the other.
  struct OffsetEntry {
    std::int64_t bytes;
    bool out;        ///< of rank 0's host
    int transfers;   ///< to or from as many hosts
    double alone_s;  ///< median duration of one transfer alone
    double start_s;  ///< between the starts of two successive transfers
    /// Of each repetition, when each transfer ended, in the order of their starts, counted from the first
    /// start.
    std::vector<std::vector<double>> ends_s;
  };
  std::vector<OffsetEntry> offsets;  ///< empty: not measured

  /// It was not measured on a machine: it has tables of all-reduces of another program. A simulation
  /// combines them with the links and devices of its platform.
  bool has_tables_alone() const { return paths.empty(); }
  /// One of the measured latenesses; 0 where none was measured.
  Seconds draw_lateness(Rng& random) const;
  /// The measurement of the host or, if there is none, of the first host of its kind. Null: no measurement;
  /// the host is then as fast as the host of `compute`.
  const HostEntry* host_entry(const std::string& host, const std::string& kind) const;
  /// Start-up delay of a rank that creates this model (empty: math is modelled): one of the measured delays,
  /// or their median if `random` is null; 0 if this model was not measured.
  Seconds begin(const std::string& model, Rng* random) const;
};

nlohmann::json to_json(const Profile& profile);
Profile profile_from_json(const nlohmann::json& json);
/// Errors: ConfigError when missing or of another schema version.
Profile load_profile(const std::string& path);
void save_profile(const std::string& path, const Profile& profile);
/// Identity of this machine and its software, to compare with a profile's.
std::string this_machine();
std::string this_software();

}  // namespace tandem
