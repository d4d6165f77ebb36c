// Times of a simulated rank's work, drawn for each execution: prices, and the variation that calibration
// measured. Independent of the simulator.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "policies/vocabulary/rng.hpp"
#include "workloads/cost/cost_model.hpp"
#include "workloads/cost/slowdown.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {

/// Seed of noise that is drawn event by event, such as that of messages. A resumed job gets another seed, so
/// that it does not repeat the noise of its first part; its noise also differs from that of an uninterrupted
/// job.
std::uint64_t seed_of_events(std::uint64_t noise_seed, const Job& job);

/// With a profile, work on native devices takes the time measured on their host, and longer at its first
/// execution; with physics.noise "profile" it varies as measured, and emulated devices miss deadlines. Draws
/// for the steps of a worker depend only on `noise_seed`, the rank and the step, so a resumed job repeats
/// them (except for its first load, where that was done ahead). Other draws differ in a resumed job. Slow
/// steps are drawn from the experiment's seed. The work of a server whose host states a variation varies
/// log-normally with it, and with nothing else.
class ComputeTimeSampler {
 public:
  /// `job` must outlive it.
  ComputeTimeSampler(const Job& job, Rank rank, std::uint64_t noise_seed);

  /// Computing times will vary log-normally about their prices, which are the means: of a worker by one
  /// factor for each step and one for each load, of other ranks by one for each execution. The coefficient of
  /// variation is physics.spread, or that of the device.
  void draw_spread();
  /// The worker will begin at a drawn moment within the computing time of one step, so that the phases of the
  /// workers differ. Pre: before begin().
  void draw_start();
  /// When the rank begins its first operation. Pre: called once, before all else.
  Seconds begin();
  /// The time of the next execution.
  Seconds next(const Work& work);
  /// How late the end of an access to the rank's disk is noticed.
  Seconds disk_delay();
  /// How many times as long the work takes while messages of the rank are in flight.
  double slowdown(const Work& work) const;
  /// Whether it is above 1 for any work.
  static bool any_slowdown(const Job& job);

 private:
  Rng stream_of(const char* name, int step) const;
  /// `sigma`: standard deviation of the logarithm.
  static double log_normal(Rng& random, double sigma);
  double spread_factor(const Work& work);

  const Job& job_;
  CostModel costs_;
  Slowdown slow_steps_;
  Rank rank_;
  std::uint64_t noise_seed_;
  std::optional<Rng> noise_;
  Seconds drawn_start_{};
  double sigma_ = 0.0;             ///< standard deviation of the logarithm of computing times
  double step_factor_ = 1.0;       ///< of the current step
  std::optional<Rng> executions_;  ///< factors of executions that belong to no step; empty: no spread
  double service_sigma_ = 0.0;     ///< of the work of a server
  std::optional<Rng> service_;     ///< empty: it does not vary by itself
  int step_ = -1;                  ///< to which the noise belongs; -1: to none
  bool comes_late_;
  std::set<std::pair<Work::Kind, int>> executed_;  ///< kinds and buckets; few
};

}  // namespace tandem
