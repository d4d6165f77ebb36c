// A training job as files without the events of a GPU describe it: execution traces of PyTorch, Chakra
// traces, DDP's logging data. Pure: what is missing, what is refused, and the job for an experiment.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/trace/checks.hpp"
#include "workloads/trace/collectives.hpp"
#include "workloads/trace/findings.hpp"
#include "workloads/trace/traced_job.hpp"

namespace tandem::trace {

enum class DescriptionFormat { execution_trace, chakra, ddp_logging };

struct DescribedBucket {
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  std::string dtype;                 ///< on the wire: "float"; empty: not known
  std::optional<Nanoseconds> ready;  ///< on the GPU, after the step's begin
  std::vector<Shape> gradients;      ///< in the order of their completion; empty: not known

  bool operator==(const DescribedBucket&) const = default;
};

struct JobDescription {
  DescriptionFormat format = DescriptionFormat::execution_trace;
  std::string file;
  std::optional<int> rank;
  std::optional<int> world_size;
  int steps = 0;        ///< with all-reduces in their backward pass
  int steps_alike = 0;  ///< of them, with the buckets below
  std::vector<DescribedBucket> buckets;
  std::int64_t broadcast_bytes = 0;  ///< of buffers, per step
  std::map<CollectiveKind, int> other_collectives;
  std::optional<Nanoseconds> forward;           ///< until the backward pass begins
  std::optional<Nanoseconds> update;            ///< computation after the last bucket is complete
  std::string hook;                             ///< of DDP; empty: none, or not known
  std::optional<std::uint64_t> broken_at_byte;  ///< of the text, whose rest is left out
};

/// Why no experiment can be made of it, and how to record one.
std::vector<Refusal> refusals_of(const JobDescription& job);
/// Figures that the user gives besides the file.
struct GivenFigures {
  bool step_time = false;
  bool device = false;
};
/// What neither the format nor the user says, what is assumed instead, and how to record it.
std::vector<Refusal> gaps_of(const JobDescription& job, GivenFigures given = {});
/// Whether it has neither the time of a step nor of its parts.
bool is_without_times(const JobDescription& job);

/// The step, without what it waits for other ranks. `step_time`: measured elsewhere. Buckets that are ready
/// at an unknown time are assumed so in proportion to their bytes. Pre: no refusals; has times, or
/// `step_time`. Errors: ConfigError for a step time below that of the parts.
TracedJob traced_job(const JobDescription& job, std::optional<Nanoseconds> step_time);

/// Gives a trace's buckets the sizes and shapes that the trace lacks. Returns false where the two have other
/// buckets.
bool add_sizes(RankFindings& findings, const JobDescription& job);

}  // namespace tandem::trace
