// summary.json as data: what happened in a job as a whole. summary_fields.hpp has its keys; metrics.hpp and
// data_figures.hpp define the figures. Plain data; times are in seconds.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/money.hpp"
#include "workloads/experiment/field_kinds.hpp"
#include "workloads/records/ensemble.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

struct RunInfo;

/// NaN where there is no step.
struct TimeStatistics {
  std::size_t steps = 0;
  double mean = 0, median = 0, p95 = 0;

  friend bool operator==(const TimeStatistics&, const TimeStatistics&) = default;
};

struct PhaseTime {
  double mean_s = 0;
  double share = 0;  ///< of the time of the steps
};

/// Where a worker's time went, as shares of the makespan. Added in this order they are exactly 1.
struct TimeShares {
  double computing = 0;  ///< forward, backward, update; includes the time of messages that overlap them
  double data = 0;       ///< waiting for the batch and decoding it
  double query = 0;      ///< asking the coordinator and waiting for its answer
  /// From the last gradient, or the model change, to the new model, less what overlaps computing, and without
  /// the waiting for commits.
  double exchange = 0;
  double commits = 0;  ///< waiting until a commit is stored (CommitWait)
  double other = 1;    ///< before the first step, after the last one, and between steps, without commits

  friend bool operator==(const TimeShares&, const TimeShares&) = default;
};

/// The exchange of TimeShares in two parts.
struct ExchangeShares {
  /// A message with payload between the rank and a worker or server was in flight (from the start of its send
  /// until this rank noticed its end), or the rank was computing on the data of such a message.
  double communicating = 0;
  double waiting = 0;  ///< the rest: other ranks were not ready yet

  friend bool operator==(const ExchangeShares&, const ExchangeShares&) = default;
};

/// Use of the link between a server and the workers, as shares of the makespan in which a message with
/// payload is in flight: from the start of its send until its receiver noticed its end.
struct LinkUse {
  double in = 0;
  double out = 0;
  double both = 0;  ///< in both directions at the same time
};

/// The distribution of whole numbers.
struct DistributionSummary {
  std::int64_t count = 0, min = 0;
  double mean = 0;
  std::int64_t max = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> counts{};  ///< values, and how often; empty: not stated

  friend bool operator==(const DistributionSummary&, const DistributionSummary&) = default;
};

/// Payload, by all workers.
struct ByteSums {
  std::int64_t sent = 0, received = 0;
};

struct WarmUpSteps {
  int steps = 0;       ///< of each worker
  std::string rule{};  ///< in words
};

/// A worker.
struct RankSummary {
  Rank rank = 0;
  std::string role{}, host{};
  std::int64_t steps = 0, samples = 0;
  TimeStatistics step_time{};
  std::int64_t bytes_sent = 0, bytes_received = 0;
  TimeShares shares{};
  std::optional<ExchangeShares> exchange_shares{};  ///< none: as of the summary
  std::optional<DistributionSummary> staleness{}, local_steps{};
};

/// A server shard. None: not known without recorded operations.
struct ServerSummary {
  Rank rank = 0;
  std::string host{};
  std::optional<std::int64_t> shard_bytes{};
  std::optional<std::int64_t> bytes_sent{}, bytes_received{};
  std::optional<double> computing{};
  std::optional<LinkUse> link{};
};

struct ShardSizes {
  std::size_t shards = 0;
  double mean_bytes = 0;
  std::int64_t max_bytes = 0;
  double largest_over_mean = 0;
};

/// When the model reached the target accuracy. Without the optional figures: it did not.
struct TargetOutcome {
  double target = 0;
  int evaluations = 0;
  std::optional<double> best{};
  bool reached = false;
  std::optional<std::int64_t> round{}, samples{};
  std::optional<double> checkpoint_time_s{}, time_s{};
};

/// The evaluation that ended the job.
struct ReachedAccuracy {
  std::int64_t evaluation = 0;  ///< from 1
  std::int64_t round = 0;
  double accuracy = 0;
  double checkpoint_time_s = 0, time_s = 0;
};

/// The times in which so many workers had a machine, together.
struct TimeOfWorkers {
  int workers = 0;
  Seconds time{};
  std::int64_t samples = 0;  ///< of steps that ended then
};

struct MembershipSummary {
  std::int64_t departures = 0, warned = 0, requested = 0, refused = 0, joined = 0;
  std::optional<std::int64_t> lost_samples{};  ///< none: not known
  std::string warning{};
  std::int64_t other_departures = 0;
  std::map<std::string, std::int64_t> other_roles{};
  /// Where workers recover in place and the job has started again; none within: not known.
  std::optional<std::optional<std::int64_t>> done_again_samples{};
  std::vector<TimeOfWorkers> by_workers{};  ///< empty: the number of workers never changed
  std::int64_t counted_rounds = 0, accepted_samples = 0, discarded_messages = 0;
};

struct CommitsSummary {
  std::size_t count = 0;
  Seconds blocked{};
  std::int64_t bytes = 0;
  std::int64_t failed_commits = 0;
};

/// Samples from one place.
struct ClassSums {
  std::int64_t samples = 0, bytes = 0;
  Seconds blocked{};
};
struct ReadClassSums : ClassSums {
  Seconds reading{};
};

struct CacheSummary {
  std::int64_t requests = 0, local = 0, storage = 0, local_bytes = 0, storage_bytes = 0;
  Seconds storage_time{};
  /// The share of the makespan that the busiest disk with the data set needs for the bytes that cache nodes
  /// read from it; none: its rate is not known.
  std::optional<double> storage_busy{};
  std::map<std::string, ReadClassSums> classes{};  ///< by `from` of caches.csv
  std::optional<double> hit_ratio{};               ///< none: no sample was delivered
  /// None: no record counts them.
  std::optional<std::int64_t> replaced{}, spoiled{}, no_room{};
  std::optional<std::int64_t> kept{}, kept_bytes{};                 ///< none: no samples were kept
  std::optional<std::int64_t> peer{}, peer_bytes{}, peer_misses{};  ///< none: no node asked others
};

// ---- How samples reached workers: `data` ----

struct BoundFigures {
  std::string name{};
  double byte_hit_ratio = 0;
  std::optional<double> attained{}, oblivious{};
};
struct BeladyFigures {
  std::optional<double> byte_hit_ratio{}, attained{};
  std::optional<std::string> missing{};  ///< why it is not known
};
struct DirectoryFigures {
  struct Lookups {
    std::int64_t messages = 0, bytes = 0, samples = 0;
    Seconds blocked{};
  };
  struct Updates {
    std::int64_t messages = 0, bytes = 0, published = 0, withdrawn = 0, repaired = 0;
  };
  Lookups lookups{};
  Updates updates{};
};

/// The cold epoch, or the warm ones.
struct DataPart {
  std::size_t epochs = 0;
  std::int64_t requests = 0, bytes = 0;
  Seconds blocked{};
  double hit_ratio = 0, byte_hit_ratio = 0;
  std::optional<BoundFigures> bound{};
  BeladyFigures belady{};
  std::optional<double> stall{}, epoch_time_s{};
  std::map<std::string, ClassSums> classes{};
  std::optional<DirectoryFigures> directory{};
};

struct CoverageFigures {
  std::int64_t distinct = 0;
  double distinct_share = 0;
  std::int64_t omitted = 0, repeated = 0;
  double divergence = 0;  ///< in nats
  std::optional<double> importance_age{};

  friend bool operator==(const CoverageFigures&, const CoverageFigures&) = default;
};

struct EpochFigures {
  std::int64_t epoch = 0;
  bool complete = false;
  std::optional<double> time_s{};
  std::int64_t requests = 0;
  std::optional<double> hit_ratio{};
  std::map<std::string, ClassSums> classes{};
  std::optional<CoverageFigures> coverage{};
};

struct DataFigures {
  std::optional<DataPart> cold{}, warm{};
  std::optional<CoverageFigures> coverage{};
  std::vector<EpochFigures> epochs{};
};

// ---- GPUs ----

template <class Number>
struct NumberRange {
  Number min = 0;
  double mean = 0;
  Number max = 0;
};

struct GpuSummary {
  Rank rank = 0;
  std::string host{};
  std::size_t samples = 0;
  std::optional<NumberRange<int>> clock_mhz{}, memory_clock_mhz{};
  std::optional<NumberRange<double>> power_w{};
  std::optional<NumberRange<int>> temperature_c{};
  std::optional<NumberRange<std::int64_t>> memory_bytes{};
  std::map<std::string, double> limits{};  ///< share of the samples, by the word of a limit
  double throttled = 0;                    ///< share of the samples
};

// ---- Money ----

/// In dollars of machines' time: time_scale seconds of it pass in a second of the job.
struct CostSummary {
  Money total{};  ///< the sum of the following four
  Money useful{}, wasted{}, idle{}, waiting{};
  std::map<std::string, Money> roles{};  ///< by what ran on the machine
  std::int64_t stays = 0;                ///< of machines, each with its own bill
  double machine_hours = 0;
  double time_scale = 1;
  std::vector<std::string> without_price{};  ///< hosts of the job
  std::string prices_of{};                   ///< the oldest date of a price; empty: none is known
};

// ---- The whole ----

struct Summary {
  int schema_version = 0;
  std::string world{};
  double makespan_s = 0;
  std::int64_t samples = 0;
  std::optional<std::int64_t> applied_samples{}, pending_samples{};
  double throughput = 0;
  std::optional<double> applied_throughput{};
  std::int64_t steps = 0;
  MixedNumber rounds{};  ///< exchanges per worker, or rounds that were counted where workers may depart
  WarmUpSteps warmup{};
  TimeStatistics step_time{};
  std::map<std::string, PhaseTime> phases{};
  ByteSums bytes{};
  std::vector<RankSummary> ranks{};
  std::vector<ServerSummary> servers{};
  std::optional<ShardSizes> sharding{};
  std::vector<EvaluationRecord> evaluations{};
  std::optional<TargetOutcome> time_to_target{};
  std::int64_t missed_deadlines = 0;
  Seconds cpu_wait{};
  double other_load = 0;
  std::int64_t skipped_steps = 0, dropped_samples = 0;
  /// Of jobs with several servers that decide by the order or the times of pushes.
  std::optional<std::int64_t> split_samples{};
  std::optional<MembershipSummary> membership{};
  std::optional<TimeShares> shares{};
  std::optional<ExchangeShares> exchange_shares{};
  std::optional<DistributionSummary> staleness{}, local_steps{};
  std::optional<double> phase_order{};
  /// Where the experiment has stop.accuracy; none within: another limit ended the job.
  std::optional<std::optional<ReachedAccuracy>> accuracy_stop{};
  std::optional<EnsembleSummary> ensemble{};
  std::optional<CacheSummary> cache{};
  std::optional<DataFigures> data{};
  std::vector<GpuSummary> gpus{};
  std::optional<CostSummary> cost{};        ///< of jobs with machines that have a price
  std::optional<CommitsSummary> commits{};  ///< of jobs that commit by a policy
};
nlohmann::json to_json(const Summary& summary);
/// Inverse of to_json. `file`: for messages. Errors: ConfigError with the file and the key.
Summary summary_from_json(const nlohmann::json& document, const std::string& file);
/// The summary.json of a result directory. Errors: the same, and without the file.
Summary read_summary(const std::string& directory);

/// Step time and phases exclude the first steps of each worker.
bool counts(const RunInfo& info, const StepRecord& step);

Summary summarise(const RunInfo& info, const Journal& journal, Seconds makespan);

}  // namespace tandem
