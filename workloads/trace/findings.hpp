// Figures of a job from a trace, checks of these figures, and reasons why a trace cannot be imported. Pure:
// a Trace in, figures out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/trace/breakdown.hpp"
#include "workloads/trace/collectives.hpp"
#include "workloads/trace/host_costs.hpp"
#include "workloads/trace/overlap.hpp"
#include "workloads/trace/phases.hpp"
#include "workloads/trace/ranks.hpp"
#include "workloads/trace/steps.hpp"
#include "workloads/trace/trace.hpp"

namespace tandem::trace {

/// One step with its figures.
struct StepFindings {
  int number = 0;
  Nanoseconds host_time = 0;          ///< as marked on the CPU
  std::optional<Nanoseconds> window;  ///< on the GPU
  std::optional<WindowParts> parts;   ///< of the window
  StepPhases phases;                  ///< layers: of the last step that counts, or else the last one
  std::vector<Bucket> buckets;
  Copies copies;
  LoaderTime loader;
  Nanoseconds begin = 0;  ///< of its first event on the GPU; 0: it launches nothing
  bool is_inner = false;
};

using Shape = std::vector<std::int64_t>;

/// One bucket over the steps.
struct BucketFindings {
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  std::string dtype;
  Nanoseconds computation = 0;          ///< of the backward pass before it; median
  Nanoseconds ready = 0;                ///< after the step's first event on the GPU; median
  std::optional<Nanoseconds> start;     ///< after the same event; none without kernels; median
  std::optional<Nanoseconds> duration;  ///< median
  std::optional<Nanoseconds> least;     ///< over the steps: an upper bound of the transfer
  std::vector<Shape> gradients;         ///< from an execution trace; empty: not known
};

/// What DDP sends from its first rank to all before a forward pass.
struct BufferFindings {
  std::int64_t bytes = 0;  ///< 0 where the trace lacks the sizes
  Nanoseconds time = 0;    ///< of the broadcasts on the GPU, with waiting
};

/// Windows: of the steps that count, which are the inner ones, or all where there are none. Phases: of all
/// steps that launch something.
struct StepSummary {
  std::size_t steps = 0;
  std::optional<Nanoseconds> window;  ///< median
  Nanoseconds shortest = 0, longest = 0;
  WindowParts parts;                                                ///< medians
  Nanoseconds forward = 0, backward = 0, optimizer = 0, other = 0;  ///< medians
};

struct RankFindings {
  std::string file;
  std::optional<int> rank;
  std::optional<int> world_size;
  std::string device;  ///< the name of the GPU; empty: not in the trace
  StepMarks marks = StepMarks::whole_trace;
  std::vector<StepFindings> steps;
  StepSummary summary;
  std::vector<BucketFindings> buckets;
  bool has_equal_buckets = true;  ///< in all steps that have buckets
  BufferFindings buffers;         ///< medians of the steps that count
  std::vector<Collective> collectives;
  LaunchDelays delays;
  std::size_t compute_streams = 0;
  std::optional<OverlapSlowdown> slowdown;
  std::size_t device_events = 0;
  std::size_t lost_records = 0;  ///< of the GPU: without launch, without kernel, or at time 0
  /// Kernels that are counted as computation although their names contain a word of communication.
  std::vector<std::string> doubtful_kernels;
  Breakdown exact, hta;
};

RankFindings analyse(const Trace& trace);
/// The ranks' collectives, compared. `findings`: of at least two ranks, by rank.
Match compare_ranks(const std::vector<Trace>& traces, const std::vector<RankFindings>& findings);

}  // namespace tandem::trace
