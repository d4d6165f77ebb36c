// Lives of a job with one configuration of a plan, and their bills.
#pragma once

#include <cstdint>
#include <optional>

#include "platforms/description_network.hpp"
#include "policies/money/ledger.hpp"
#include "policies/planning/choice.hpp"
#include "workloads/job/check/job_assembly.hpp"
#include "workloads/job/plan/device_plan.hpp"
#include "workloads/priced/job_life.hpp"
#include "workloads/priced/round_times.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::planning {

/// A life that takes so many times as long as without departures is cut off, and has not ended.
constexpr double most_times = 20.0;

/// The job with one configuration.
class PlannedJob {
 public:
  /// `rounds` must outlive it. Errors: ConfigError.
  PlannedJob(LoadedJob loaded, const platforms::Network& of_workers, priced::RoundTimes& rounds,
             std::int64_t round_count);
  PlannedJob(const PlannedJob&) = delete;
  PlannedJob& operator=(const PlannedJob&) = delete;

  struct Paid {
    priced::Life life;
    money::Ledger ledger;
  };
  /// The same seed gives the same life. With physics.predictor, the computing times of a life are those of
  /// the predictor times one factor, which is lognormal on both sides of 1 and in the predictor's interval
  /// with its confidence. The seed alone says how far it is from 1, for all jobs. The rest of a round stays.
  Paid live(std::uint64_t seed, const priced::Change& change = {});
  Outcome outcome(std::uint64_t seed, const priced::Change& change = {}) {
    return outcome_of(live(seed, change));
  }
  static Outcome outcome_of(const Paid& paid);
  /// That were trained, by all workers.
  static std::int64_t samples_of(const Paid& paid);
  /// No machine departs.
  bool stays() const { return !job_.spec().experiment.transience.may_depart(); }
  /// No life differs from another one.
  bool is_certain() const { return stays() && !step_; }
  /// By physics.predictor, with an interval; none: without one, and where it has no width.
  const std::optional<FittedStep>& step() const { return step_; }
  /// Rounds of which a worker has departed have fewer samples.
  bool may_lose_samples() const {
    return !stays() && job_.spec().experiment.recovery.mode == RecoveryMode::in_place;
  }

 private:
  double factor_of(std::uint64_t seed) const;

  Job job_;
  RunInfo info_;  ///< with the generations of the last life
  priced::JobLife lives_;
  std::optional<FittedStep> step_;
  double computing_ = 1.0;  ///< share of a round
};

}  // namespace tandem::planning
