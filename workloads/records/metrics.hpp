// The figures of a run, computed from its records: each is defined once for simulations and measurements.
// summary.json holds all of them. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "workloads/records/result_directory.hpp"

namespace tandem {

/// How often each whole number occurred.
class Distribution {
 public:
  void add(std::int64_t value, std::int64_t times = 1) { counts_[value] += times; }
  void add(const Distribution& other);
  bool empty() const { return counts_.empty(); }
  const std::map<std::int64_t, std::int64_t>& counts() const { return counts_; }
  std::int64_t total() const;
  /// Pre: not empty, as for the following.
  double mean() const;
  std::int64_t min() const { return counts_.begin()->first; }
  std::int64_t max() const { return counts_.rbegin()->first; }

 private:
  std::map<std::int64_t, std::int64_t> counts_;
};

/// How the samples of workers ended: processed = applied + dropped + pending + lost. If a job starts again,
/// lost samples are not among the processed ones, because a measurement does not know them.
struct SampleCounts {
  std::int64_t processed = 0;
  std::int64_t dropped = 0;  ///< with pushes that the server dropped: late, or of lost workers
  /// Part of an update of the model. None over peers, where every worker has its own model.
  std::optional<std::int64_t> applied{};
  /// Pushed, but the job ended before the update that would have had them. None over peers.
  std::optional<std::int64_t> pending{};
  /// Samples of steps of workers whose machine departed before their push had arrived. Where the job starts
  /// again: samples of finished steps that were done again and are known.
  std::int64_t lost = 0;
  bool lost_is_known =
      true;  ///< otherwise more were lost, by ranks that were killed before they recorded them
  /// If workers recover in place and the job has started again: samples of finished steps that were done
  /// again, not among those above. None: not known, or it did not start again.
  std::optional<std::int64_t> done_again{};
};
/// With several server shards, the figures of the first one. An all-reduce applies all samples.
SampleCounts sample_counts(const RunInfo& info, const Journal& journal);

/// Rounds of a job whose generations had other numbers of workers: in each, the exchanges of its workers
/// divided by their number. None: every generation had all workers.
std::optional<double> rounds_of_generations(const RunInfo& info, const Journal& journal);

/// Staleness of the pushes that the server applied, by worker: how many updates the model received between
/// the version a push was computed on and the push itself. Empty without a server.
std::map<Rank, Distribution> staleness(const Journal& journal);

/// Steps of a worker from one exchange to the next, one value per round, by worker.
std::map<Rank, Distribution> local_steps(const Journal& journal);

/// All ranks together.
Distribution merged(const std::map<Rank, Distribution>& ranks);

/// For how long a worker waited until a commit was stored, in one of its steps and after it.
struct CommitWait {
  Seconds in_exchange{};  ///< a server wrote its part, or copied it, before it replied
  /// Until the next step, the departure of its machine or the end of the job: it wrote its own part, or
  /// copied it, or others wrote theirs.
  Seconds after_step{};
};
/// One for each step of the journal, in its order. Waits in exchanges that overlap the forward pass
/// (sync.overlap: both) are known as far as they end a step.
std::vector<CommitWait> commit_waits(const RunInfo& info, const Journal& journal);

/// The shares of each worker, over all of its steps.
std::map<Rank, TimeShares> time_shares(const RunInfo& info, const Journal& journal, Seconds makespan);

/// Uncertainty of the time between moments on two machines of a measurement; 0 on one machine and in
/// simulations.
Seconds clock_uncertainty(const RunInfo& info);

/// The shares of each worker. Empty when operations were not recorded: the records of one worker cannot
/// separate waiting from transferring. Empty over peers, where an exchange begins before the gradient and
/// ends after it. Empty if the clocks of several machines are too uncertain to separate the parts.
std::map<Rank, ExchangeShares> exchange_shares(const RunInfo& info, const Journal& journal, Seconds makespan);

/// The mean of each share over ranks. Pre: not empty.
TimeShares mean_of(const std::map<Rank, TimeShares>& ranks);
ExchangeShares mean_of(const std::map<Rank, ExchangeShares>& ranks);

/// One server shard.
struct ServerFigures {
  /// Payload to and from workers. None with several shards when operations were not recorded.
  std::optional<std::int64_t> bytes_sent{}, bytes_received{};
  /// Share of the makespan in which it summed gradients and updated the model. None when operations were not
  /// recorded.
  std::optional<double> computing{};
  std::optional<LinkUse> link{};  ///< none when operations were not recorded
};
std::map<Rank, ServerFigures> server_figures(const RunInfo& info, const Journal& journal, Seconds makespan);

/// When the model reached the target accuracy. Evaluations count without smoothing.
struct TimeToTarget {
  double target = 0;
  int evaluations = 0;  ///< with an accuracy; 0 when math is modelled
  std::optional<double> best{};
  /// The first with at least that accuracy. Its checkpoint_time excludes the time of evaluating, its time
  /// includes it.
  std::optional<EvaluationRecord> reached{};
};
/// None when the experiment names no target.
std::optional<TimeToTarget> time_to_target(const RunInfo& info, const Journal& journal);

}  // namespace tandem
