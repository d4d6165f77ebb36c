// What an experiment needs of a trace: the buckets with their times, and what the processor adds. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/trace/findings.hpp"

namespace tandem::trace {

struct TracedBucket {
  std::int64_t elements = 0;
  Nanoseconds ready = 0;  ///< on the GPU, after the step's begin; in a launch-bound job, if it never waited
  Nanoseconds launched = 0;      ///< of a launch-bound job: when the processor let it be ready; else 0
  std::vector<Shape> gradients;  ///< in the order of their completion; empty: not known
};

/// One step of one GPU, without what it waited for other ranks.
struct TracedJob {
  Nanoseconds step = 0;     ///< as profiled
  Nanoseconds forward = 0;  ///< all before the backward pass
  std::vector<TracedBucket> buckets;
  std::string dtype;                ///< of the buckets on the wire; "Float"
  std::int64_t buffers = 0;         ///< bytes that the first rank sends to all before the forward pass
  Nanoseconds backward = 0;         ///< where there are no buckets
  Nanoseconds update = 0;           ///< after the last bucket and its exchange: optimiser, copies, idle time
  Nanoseconds host = 0;             ///< of a launch-bound job: in which the processor launches a step
  double spread = 0;                ///< coefficient of variation of the steps that count
  std::optional<double> slowdown;   ///< of kernels during communication
  int samples = 0;                  ///< of a step; 0: not known
  bool has_assumed_passes = false;  ///< which part of the step is the forward and the backward pass
  bool has_assumed_ready_times = false;  ///< of some buckets, in proportion to their bytes

  bool is_launch_bound() const { return host > 0; }
};

/// `step_time`: without the profiler, where somebody measured it: the processor's times are scaled to it.
/// Pre: the findings have a step with a backward pass, and no refusal.
TracedJob traced_job(const RankFindings& findings, std::optional<Nanoseconds> step_time = {});

}  // namespace tandem::trace
