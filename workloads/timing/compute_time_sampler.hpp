// How long a simulated rank's work takes, execution by execution: prices, and what calibration found around
// them. May not know the simulator.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "policies/vocabulary/rng.hpp"
#include "workloads/cost/cost_model.hpp"
#include "workloads/cost/slowdown.hpp"
#include "workloads/job/job.hpp"

namespace tandem {

/// Of noise that is drawn event by event, such as that of messages: a job that goes on after a break meets
/// what is neither that of its beginning again nor known to be that of the job without the break.
std::uint64_t seed_of_events(std::uint64_t noise_seed, const Job& job);

/// With a profile, native devices take what was measured on their host, and longer the first time; with
/// physics.noise "profile" work varies as measured, and emulated devices come late. Draws are from
/// `noise_seed`, the rank and the step alone, so that a job that goes on after a break has those of its
/// steps, but for its first load where that was ahead; who takes no steps, and the beginning, have others
/// then. Those of slow steps are from the experiment's seed.
class ComputeTimeSampler {
 public:
  /// `job` must outlive it.
  ComputeTimeSampler(const Job& job, Rank rank, std::uint64_t noise_seed);

  /// When the rank begins its first operation. Pre: called once, before all else.
  Seconds begin();
  /// Of the execution that comes next.
  Seconds next(const Work& work);
  /// What a transfer with the rank's disk, emulated like its device, takes beyond what the disk's rate says.
  Seconds disk_delay();
  /// How many times as long the work takes while messages of the rank are on their way.
  double slowdown(const Work& work) const { return costs_.slowdown(work); }
  /// Whether that is ever above 1.
  static bool any_slowdown(const Job& job);

 private:
  Rng stream_of(const char* name, int step) const;

  const Job& job_;
  CostModel costs_;
  Slowdown slow_steps_;
  Rank rank_;
  std::uint64_t noise_seed_;
  std::optional<Rng> noise_;
  int step_ = -1;  ///< whose noise it is; -1: nobody's
  bool comes_late_;
  std::set<std::pair<Work::Kind, int>> executed_;  ///< kinds and buckets; few
};

}  // namespace tandem
