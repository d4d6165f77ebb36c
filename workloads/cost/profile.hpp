// What `tandem calibrate` measured on a machine: the figures that the simulator uses instead of guesses,
// bound to the machine and software they were measured on. Plain data with a JSON form.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/rng.hpp"
#include "policies/vocabulary/units.hpp"
#include "workloads/context.hpp"

namespace tandem {

struct Profile {
  static constexpr int schema_version = 10;
  std::string machine;   ///< processor name, cores, kernel: what must match for the profile to be fresh
  std::string software;  ///< version of Tandem, then those of the libraries that ranks use
  std::string date;
  std::string command;          ///< that measured it
  double cpu_wait_share = 0.0;  ///< of the time, in which the measuring rank waited for a CPU core
  double other_load = 0.0;      ///< share of all cores' time that other processes used

  /// Seconds of one piece of work on this machine's native device; medians with spread. All of them alone,
  /// but for those that were also measured in the midst of messages.
  struct ComputeEntry {
    std::string model;  ///< of compress and decompress, the method with its options instead
    Work::Kind kind;
    int bucket;
    int samples;         ///< 0 where the kind has none
    std::int64_t bytes;  ///< 0 where the kind has none
    double median_s;
    double spread;  ///< interquartile range / median
    std::vector<double> raw_s;
    double first_s = 0.0;  ///< the first time ever, which is not among the raw ones
    /// While messages went from and to the rank without a break; each is the mean of some steps. Empty: not
    /// measured.
    std::vector<double> disturbed_raw_s = {};
  };
  std::vector<ComputeEntry> compute;
  std::int64_t disturbing_bytes = 0;  ///< size of the messages that disturbed

  /// Speed of the hosts' native devices, where ranks of several hosts, or kinds of hosts, were calibrated.
  /// Not empty then.
  struct HostEntry {
    std::string host;  ///< empty: of a rank without one
    double ratio;      ///< median time of a step's work over that of the host that `compute` is of
    double spread;     ///< interquartile range / median
    std::vector<double> raw_s;
    std::string kind = {};  ///< see DevicePlan::kind_of; empty: any
    /// The same for one kind of work: a GPU is not faster than a processor by one factor.
    struct OfWork {
      Work::Kind work;
      double ratio;
      double first_ratio;  ///< of what first executions take longer
    };
    std::vector<OfWork> works = {};  ///< a kind that is not among them has the step's ratio
    double ratio_of(Work::Kind work) const;
    double first_ratio_of(Work::Kind work) const;
  };
  std::vector<HostEntry> hosts;

  /// When ranks began their first operation, counted from the first rank that left the barrier at time zero;
  /// one entry per rank.
  struct StartOffsets {
    std::string model;  ///< that the ranks made; empty when math was modelled
    std::vector<double> raw_s;
  };
  StartOffsets start_offsets;

  /// One-way time of a message, per size; from round trips. And how long the call that sends it keeps its
  /// rank from anything else: the overhead of LogP (Culler et al., PPoPP 1993), which is part of the one-way
  /// time.
  struct MessageEntry {
    std::int64_t bytes;
    double median_s;
    double spread;
    std::vector<double> raw_s;
    double send_s = 0.0;  ///< median
    std::vector<double> send_raw_s = {};
    double sent_s = 0.0;  ///< until its buffer was the sender's again: median
    std::vector<double> sent_raw_s = {};
  };
  /// Part of a piecewise fit: from `from_bytes` upwards, seconds = alpha_s + bytes * beta_s.
  struct NetworkSegment {
    std::int64_t from_bytes;
    double alpha_s;
    double beta_s;
  };
  /// One kind of way between two ranks, by what the platform file says of it, and what was measured there.
  struct Path {
    std::string from;  ///< hosts of the two ranks
    std::string to;
    int links = 0;                 ///< on the way; 0: within one host, or one machine for all
    double bandwidth = 0.0;        ///< of the narrowest link, bytes per second; 0 without links
    std::int64_t eager_bytes = 0;  ///< largest message that leaves before its receive is posted
    std::vector<MessageEntry> messages;
    std::vector<NetworkSegment> segments;
    /// Of a large message, what the transport still holds for its sender when the send is over: socket
    /// buffers, say. 0: a send is over when its message arrived.
    std::int64_t held_bytes = 0;
    /// Of the two hosts, see DevicePlan::kind_of: messages leave a GPU's memory otherwise than a processor's.
    /// Empty: any.
    std::string from_kind = {};
    std::string to_kind = {};
    /// Whether it is between hosts of these kinds, in either direction.
    bool is_between(const std::string& one, const std::string& other) const;
  };
  /// The first one is that of ranks 0 and 1.
  std::vector<Path> paths;

  /// Seconds of MPI's own all-reduce among the first ranks of the job, from when the last one started it.
  struct AllReduceEntry {
    int ranks;
    std::int64_t bytes;
    double median_s;
    double spread;
    std::vector<double> raw_s;
    double behind_s;                    ///< that each of several at once adds to the first
    std::vector<double> at_once_raw_s;  ///< of all of these
  };
  std::vector<AllReduceEntry> all_reduces;  ///< by ranks, then by bytes
  std::string cluster;  ///< platform file of the emulated cluster it was measured on; empty: none

  /// Between the memory of rank 0's device and pinned memory of its host, by the device's own clock. Empty
  /// where they are one memory.
  struct CopyEntry {
    std::int64_t bytes;
    bool out;  ///< from the device
    double median_s;
    double spread;
    std::vector<double> raw_s;
  };
  std::vector<CopyEntry> copies;
  std::string device = "host";  ///< that rank 0 computed on

  /// Storage of this machine, through the page cache as a job meets it.
  struct StorageEntry {
    std::int64_t bytes;
    bool write;
    double median_s;
    double spread;
    std::vector<double> raw_s;
  };
  std::vector<StorageEntry> storage;

  /// How much later than due ranks noticed the end of emulated work, while all of them worked and exchanged
  /// messages.
  std::vector<double> lateness_s;
  /// How unequally messages that met on one link shared it: standard deviation of the logarithm of their
  /// weights.
  double share_spread = 0.0;

  /// Seconds for the work, if measured: exact sample count, or interpolated between measured ones.
  std::optional<Seconds> price(const std::string& model, const Work& work) const;
  /// One of the measured times of the piece of work that is nearest in size, over their median: how much
  /// longer or shorter than usual it took that time. 1 where nothing was measured.
  double draw_variation(const std::string& model, const Work& work, Rng& random) const;
  /// One of the measured latenesses; 0 where none was measured.
  Seconds draw_lateness(Rng& random) const;
  /// How many times as long work of this kind takes amid messages: the medians of its pieces disturbed, over
  /// those alone. At least 1, which it also is where nothing was measured.
  double slowdown(const std::string& model, Work::Kind kind) const;
  /// How much longer than usual the first execution of this kind and bucket takes.
  Seconds first_extra(const std::string& model, const Work& work) const;
  /// What was measured of the host or, failing that, of the first one of its kind; null: nothing, so that it
  /// is as fast as the host that `compute` is of.
  const HostEntry* host_entry(const std::string& host, const std::string& kind) const;
  /// What an all-reduce of MPI's own takes: linear between measured sizes and numbers of ranks, beyond the
  /// largest size as the last two tell. Nothing where more, or fewer, ranks were not measured.
  std::optional<Seconds> all_reduce(int ranks, Bytes size) const;
  /// What it adds at least to one that was in progress when it began.
  std::optional<Seconds> all_reduce_behind(int ranks, Bytes size) const;
  /// As draw_variation, of the measured all-reduce that is nearest among those not above in ranks and size.
  double draw_all_reduce_variation(int ranks, Bytes size, Rng& random) const;
  /// When a rank begins that makes this model (empty: math is modelled): one of the measured times, or their
  /// median without a generator; 0 where another model, or none, was measured.
  Seconds begin(const std::string& model, Rng* random) const;

 private:
  std::optional<Seconds> all_reduce(double AllReduceEntry::*what, int ranks, Bytes size) const;
  /// Measured pieces of the kind: the largest not above the work in size, and the smallest not below; null
  /// when there is none.
  std::pair<const ComputeEntry*, const ComputeEntry*> around(const std::string& model,
                                                             const Work& work) const;
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
