// What happened during a job, in one schema for simulations and measurements: steps, evaluations, staleness,
// decisions and operations. Roles fill a Journal; result_directory.hpp writes the files. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "workloads/context.hpp"

namespace tandem {

/// The parts of a step's time; the phases of a step add up to its duration.
enum class Phase : std::uint8_t { load, forward, backward, update, query, exchange };
inline constexpr int phase_count = 6;
inline constexpr std::array<const char*, phase_count> phase_names = {"load",   "forward", "backward",
                                                                     "update", "query",   "exchange"};

/// One optimiser step of a worker: one row of steps.csv.
struct StepRecord {
  Rank rank = 0;
  int step = 0;     ///< 0-based, per rank
  int round = 0;    ///< exchanges that this rank finished before this step
  int version = 0;  ///< of the model that the step started from
  Seconds start{};
  std::array<Seconds, phase_count> phases{};
  Seconds decoding{};  ///< part of the phase load: the batch had arrived, and was being decoded
  int samples = 0;
  double loss = 0.0;            ///< mean over the batch; NaN when math is modelled
  std::int64_t bytes_sent = 0;  ///< by this rank during the step, payload
  std::int64_t bytes_received = 0;
  Seconds duration() const {
    Seconds total;
    for (const auto phase : phases) total += phase;
    return total;
  }
};

/// One evaluation of a checkpoint: one row of evaluations.csv.
struct EvaluationRecord {
  std::int64_t round = 0;
  std::int64_t samples = 0;   ///< processed by all workers up to the checkpoint
  Seconds checkpoint_time{};  ///< when the checkpoint was taken
  Seconds time{};             ///< when the evaluation ended
  double accuracy = 0.0;      ///< NaN when math is modelled
  double loss = 0.0;
  /// The class is among the five largest outputs. NaN when math is modelled, or for at most five classes.
  double top5_accuracy = std::numeric_limits<double>::quiet_NaN();
};

/// A state that the job has committed, when all ranks' parts of it are written: one row of commits.csv.
struct CommitRecord {
  std::int64_t round = 0;  ///< after which it was taken
  Seconds started{};
  Seconds ended{};    ///< when the last part was written
  Seconds blocked{};  ///< for which training waited
  std::int64_t bytes = 0;
  Seconds by_servers{};  ///< part of `blocked`, from the start: servers wrote, and replied afterwards
  friend auto operator<=>(const CommitRecord&, const CommitRecord&) = default;
};

/// One call of a policy: one row of decisions.csv. Texts as the policy's to_text prints them.
struct DecisionRecord {
  Rank rank = 0;
  /// "server", "worker", "cache", "checkpointing", "recovery"; "guard": a worker skipped values that are not
  /// finite.
  std::string side = {};
  std::string event = {};
  std::string decisions = {};
};

/// That the machine of a worker will be taken away, as it was drawn. Times since the job began.
struct DrawnWarning {
  Seconds at{0};
  Seconds departs{0};
  int slot = 0;  ///< of the worker with this index
};

/// A decision that is known before its time.
struct TimedDecision {
  Seconds at{};
  DecisionRecord record = {};
};

/// One operation of the context: one row of operations.csv.
struct OperationRecord {
  Rank rank = 0;
  /// "compute", "send", "receive", "all-reduce", "read", "write", "sleep"; "copy": see record_of_copy. With "
  /// (cancelled)" or " (peer left)" appended if the operation ended like that.
  std::string kind = {};
  int peer = -1;             ///< rank, or disk number
  std::string channel = {};  ///< of a message or all-reduce: its stream, see protocol.hpp; else empty
  /// Kind of computation ("forward", ...), members of an all-reduce ("0-3 7"), direction of a copy ("out" or
  /// "in"); else empty.
  std::string work = {};
  int bucket = -1;  ///< of the work, or the channel; -1: of none
  std::int64_t bytes = 0;
  int samples = 0;
  Seconds start{};
  Seconds end{};  ///< when the rank learned of the end
};

/// A copy between the memory of the rank's device and that of its host ("out" of the device or "in"), made
/// for a message or an all-reduce. Recorded when it has ended, and in measurements only: a simulation
/// includes it in the time of the message.
OperationRecord record_of_copy(Rank rank, bool out, std::int64_t bytes, Seconds start, Seconds end);
inline bool is_copy(const OperationRecord& record) { return record.kind == "copy"; }

/// Pushes of one worker that a server applied with the same staleness: one row of staleness.csv.
struct StalenessRecord {
  Rank rank = 0;      ///< worker
  int staleness = 0;  ///< model version they were applied to - model version they were computed on
  std::int64_t pushes = 0;
  std::int64_t samples = 0;  ///< of these pushes
};

/// Samples that a cache node delivered in one epoch from one place, or that cache_rows.hpp counts. One row of
/// caches.csv.
struct CacheRecord {
  Rank rank = 0;  ///< cache node; of rows "replaced": worker
  std::int64_t epoch = 0;
  /// "tier0" (memory), "tier1" (disk), "peer" (another cache node), "store" (that has the data set); or one
  /// of cache_rows.hpp.
  std::string from = {};
  std::int64_t samples = 0;
  std::int64_t bytes = 0;
  Seconds blocked{};  ///< of batches, from their requests until their last samples, which came from there
  Seconds reading{};  ///< during which samples were read there
};
/// The row of these; a new one if there is none.
CacheRecord& cache_record(std::vector<CacheRecord>& records, Rank rank, std::int64_t epoch,
                          const std::string& from);

/// A sample that a cache node was asked for: one row of requests.csv, which `tandem cache` replays.
struct RequestRecord {
  Rank rank = 0;  ///< cache node
  std::int64_t epoch = 0;
  std::int64_t id = 0;
  std::int64_t bytes = 0;
};

/// Which samples a cache node was asked for in one epoch, and which it delivered: one row of deliveries.csv.
struct DeliveryRecord {
  Rank rank = 0;  ///< cache node
  std::int64_t epoch = 0;
  std::int64_t set = 0;             ///< samples of the data set
  std::int64_t samples = 0;         ///< requested; as many were delivered
  std::int64_t bytes = 0;           ///< of the requested samples
  std::int64_t distinct_bytes = 0;  ///< the same, with each sample counted once
  std::string requested = {};       ///< their ids, as id_text() writes them
  std::string delivered = {};       ///< empty: the requested ones
};

/// The loss of a sample when a worker trained on it: one row of losses.csv.
struct LossRecord {
  Rank rank = 0;  ///< worker
  std::int64_t epoch = 0;
  std::int64_t id = 0;
  double loss = 0.0;
};

/// A change of the occupant of a slot: one row of membership.csv.
struct MembershipRecord {
  Seconds time{};
  int slot = 0;                  ///< a worker's place, by its index
  std::int64_t incarnation = 0;  ///< of the occupant, from 1
  std::string host = {};
  /// "joined", "warned", "departed", "noticed", "requested", "ready", "refused" (no machine is available),
  /// "gone" (the rank has given up all work of its occupant), "paused", "resumed".
  std::string event = {};
  std::string cause = {};  ///< of departures: "left", "revoked", "lost"
  std::int64_t view = 0;   ///< number of the view of the members: changes of their set so far
  /// Roles on the machine: "worker", "cache-node", "server and steward"; empty: the row is about all.
  std::string role = {};
  std::string region = {};  ///< of the host; in files alone, see with_places()
  std::string zone = {};    ///< the same
};

/// The state of the GPU of a rank at one moment, as the driver reports it, in measurements only: one row of
/// gpus.csv. Numbers that are not known are 0.
struct GpuRecord {
  Rank rank = 0;
  Seconds time{};
  int clock_mhz = 0;  ///< of its processors
  int memory_clock_mhz = 0;
  double power_w = 0.0;
  int temperature_c = 0;
  std::int64_t memory_bytes = 0;  ///< in use, by all processes
  std::string limits = {};        ///< why the clock is no higher: words of gpu_limits (gpu_figures.hpp)
};

/// The records of one rank. Not thread-safe: one per rank, merged at the end of the job. csv_columns.hpp
/// lists its parts for files, summary.json and the wire between ranks.
struct Journal {
  bool keep_decisions = false;
  bool keep_requests = false;
  std::vector<StepRecord> steps;
  std::vector<EvaluationRecord> evaluations;
  std::vector<CommitRecord> commits;
  std::vector<DecisionRecord> decisions;
  std::vector<CacheRecord> caches;
  std::vector<RequestRecord> requests;  ///< of each cache node in their order
  std::vector<DeliveryRecord> deliveries;
  std::vector<LossRecord> losses;          ///< of each worker in its order
  std::vector<StalenessRecord> staleness;  ///< of the first server shard; by worker, then by staleness
  std::vector<OperationRecord> operations;
  std::vector<MembershipRecord> membership;  ///< in the order of time
  std::vector<GpuRecord> gpus;               ///< of each rank in the order of time
  /// How often the real kernel or disk access behind an emulated device took longer than its emulated time.
  std::int64_t missed_deadlines = 0;
  Seconds cpu_wait{};       ///< longest time that a rank waited for a CPU core; 0 under a simulated clock
  double other_load = 0.0;  ///< share of CPU time that other programs used; 0 under a simulated clock
  std::int64_t failed_commits = 0;  ///< that were begun and not completed
  std::int64_t skipped_steps = 0;   ///< of workers, skipped because they were not finite
  /// Where workers may depart, by the first server shard or the workers that led at the end: rounds of the
  /// job, and samples of pushes that it has accepted for an update that never came.
  std::int64_t counted_rounds = 0;
  std::int64_t accepted_samples = 0;
  std::int64_t discarded_messages = 0;  ///< where workers may depart: see Context::discarded_messages
  std::int64_t dropped_samples = 0;     ///< of pushes that the first server shard dropped
  /// Of pushes that count at some servers, and were dropped by others. By the workers.
  std::int64_t split_samples = 0;

  /// Adds figures that are computed from the records of the rank, and need much time. Not sent to other
  /// ranks.
  std::vector<std::function<void(Journal&)>> later;

  /// Computes them, once. To be called on each rank when the time of the job has ended.
  void complete();
  /// Records that a push of `worker` became part of an update. See StalenessRecord.
  void note_applied(Rank worker, int staleness, std::int64_t samples);
  void append(Journal&& other);
};

}  // namespace tandem
