// What happened, in one schema for both worlds: steps, evaluations, staleness, decisions and operations.
// Roles fill a Journal; result_directory.hpp writes the files. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "workloads/context.hpp"

namespace tandem {

/// Where a step's time goes; the phases of a step add up to its duration.
enum class Phase : std::uint8_t { load, forward, backward, update, query, exchange };
inline constexpr int phase_count = 6;
inline constexpr std::array<const char*, phase_count> phase_names = {"load",   "forward", "backward",
                                                                     "update", "query",   "exchange"};

/// One optimiser step of a worker. steps.csv, one row each.
struct StepRecord {
  Rank rank = 0;
  int step = 0;     ///< 0-based, per rank
  int round = 0;    ///< exchanges finished by this rank before this step
  int version = 0;  ///< of the model the step started from
  Seconds start{};
  std::array<Seconds, phase_count> phases{};
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

/// One evaluation of a checkpoint. evaluations.csv.
struct EvaluationRecord {
  std::int64_t round = 0;
  std::int64_t samples = 0;   ///< processed by all workers up to the checkpoint
  Seconds checkpoint_time{};  ///< when the model was taken
  Seconds time{};             ///< when the result was there
  double accuracy = 0.0;      ///< NaN when math is modelled
  double loss = 0.0;
};

/// One policy call. decisions.csv. Texts as printed by the policy's to_text.
struct DecisionRecord {
  Rank rank = 0;
  std::string side = {};  ///< "server", "worker", "cache"; "guard": what a worker leaves out as not finite
  std::string event = {};
  std::string decisions = {};
};

/// One operation of the context. operations.csv.
struct OperationRecord {
  Rank rank = 0;
  /// "compute", "send", "receive", "all-reduce", "read", "write", "sleep"; "copy": see record_of_copy.
  /// With " (cancelled)" or " (peer left)" behind it where the operation ended so.
  std::string kind = {};
  int peer = -1;             ///< rank, or disk number
  std::string channel = {};  ///< of a message or all-reduce: its stream, see protocol.hpp; else empty
  /// Of a compute: "forward", ...; of an all-reduce its members: "0-3 7"; of a copy "out" or "in"; else
  /// empty.
  std::string work = {};
  int bucket = -1;  ///< of the work, or the channel; -1: of none
  std::int64_t bytes = 0;
  int samples = 0;
  Seconds start{};
  Seconds end{};  ///< when the rank learned of the end
};

/// A part of a message or sum rather than an operation of its own: memory of the rank's device goes out to
/// the host's memory, or in from there. Noted when it has ended, and by measured worlds only: in a simulation
/// it is within the time of the message.
OperationRecord record_of_copy(Rank rank, bool out, std::int64_t bytes, Seconds start, Seconds end);
inline bool is_copy(const OperationRecord& record) { return record.kind == "copy"; }

/// Pushes of one worker that a server applied with one staleness. staleness.csv.
struct StalenessRecord {
  Rank rank = 0;      ///< worker
  int staleness = 0;  ///< version of the model that they were applied to - version that they were computed on
  std::int64_t pushes = 0;
  std::int64_t samples = 0;  ///< of these pushes
};

/// Requests of one worker served by a cache node, by class; they add up to the requests.
struct CacheRecord {
  Rank rank = 0;  ///< cache node
  std::int64_t epoch = 0;
  std::int64_t local = 0;
  std::int64_t storage = 0;
  std::int64_t local_bytes = 0;
  std::int64_t storage_bytes = 0;
  Seconds storage_time{};
};

/// What one rank noted. Not thread-safe; one a rank, merged by the world at the end.
struct Journal {
  bool keep_decisions = false;
  std::vector<StepRecord> steps;
  std::vector<EvaluationRecord> evaluations;
  std::vector<DecisionRecord> decisions;
  std::vector<CacheRecord> caches;
  std::vector<StalenessRecord> staleness;  ///< of the server's first shard; by worker, then by staleness
  std::vector<OperationRecord> operations;
  std::int64_t late_devices =
      0;                    ///< times an emulated device's real kernel took longer than its emulated time
  Seconds cpu_wait{};       ///< longest that a rank stood ready without a core; 0 under a simulated clock
  double other_load = 0.0;  ///< share of the cores' time that other programs had; 0 under a simulated clock
  std::int64_t skipped_steps = 0;    ///< of workers, left out because they were not finite
  std::int64_t dropped_samples = 0;  ///< of pushes that the server's first shard dropped, as too late

  /// A push of that worker became part of an update. See StalenessRecord.
  void note_applied(Rank worker, int staleness, std::int64_t samples);
  void append(Journal&& other);
};

}  // namespace tandem
