// The rounds that workers without servers have finished while some departed and others joined, and the
// samples of each slot's workers in these rounds. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "workloads/exchange/exchange.hpp"
#include "workloads/job/plan/progress.hpp"

namespace tandem {

/// All members have the same counts.
class CountedRounds {
 public:
  explicit CountedRounds(std::size_t slots) : applied_(slots, 0), before_(slots, 0), dealt_(slots, 0) {}

  std::int64_t rounds() const { return rounds_; }
  /// Includes the mean over all models at the end, which is one more exchange.
  std::int64_t finished() const { return rounds_ + is_averaged_; }
  bool is_averaged() const { return is_averaged_ != 0; }
  int version() const { return version_; }  ///< of the model
  Progress progress() const;
  ExchangeResult state_of_job() const;
  /// By slot: samples that count since this job dealt them.
  std::vector<std::int64_t> since_dealt() const;
  /// By slot: samples that are part of the model, without those of the job that this one resumes.
  std::vector<std::int64_t> of_job() const;

  /// Counts one more round. `samples`: by slot, the samples of each member in it.
  void count(std::span<const int> members, std::span<const std::int64_t> samples, int version);
  /// Whether the job ends after the last one.
  void set_stops(bool stops) { stops_ = stops ? 1 : 0; }
  void note_averaged() { is_averaged_ = 1; }
  /// The counts that `serialise` restores next are this job's own.
  void continue_counts() { continues_ = true; }

  /// For files: a job that is resumed begins with these counts.
  void serialise(StateArchive& state);
  /// For a worker that joins or is behind.
  void serialise_common(StateArchive& state);

 private:
  void serialise_counters(StateArchive& state);

  std::int64_t rounds_ = 0;
  int version_ = 0;
  std::vector<std::int64_t> applied_;  ///< samples of each slot's workers in the model
  std::vector<std::int64_t> before_;   ///< of these, in the model that the job has resumed from
  std::vector<std::int64_t> dealt_;    ///< of them, before samples were dealt to the workers of this job
  bool continues_ = false;             ///< the job restores its own state
  int stops_ = 0;                      ///< 1: the job ends after the last round
  int is_averaged_ = 0;                ///< 1: the mean is finished
};

}  // namespace tandem
