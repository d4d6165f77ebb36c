// The collectives of a trace, from NCCL's kernels, or from records of the CPU where there is no kernel.
// Collectives of the backward pass are DDP's buckets.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "workloads/trace/phases.hpp"
#include "workloads/trace/steps.hpp"
#include "workloads/trace/trace.hpp"

namespace tandem::trace {

enum class CollectiveKind {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  reduce,
  point_to_point,
  unknown
};

struct Collective {
  CollectiveKind kind = CollectiveKind::unknown;
  Nanoseconds launched = 0;        ///< by the CPU
  std::optional<Span> kernel;      ///< none in a group of one rank
  std::int64_t elements = 0;       ///< of the input; 0: not in the trace
  std::int64_t element_bytes = 0;  ///< 0: not known
  std::string dtype;               ///< "Float"; empty: not known
  std::string group;
  int group_size = 0;  ///< 0: not in the trace
  std::optional<std::uint64_t> sequence;
  std::optional<std::size_t> step;  ///< index
  bool in_backward = false;
  /// When its input was complete on the GPU: the end of the last other event that the step launched earlier.
  std::optional<Nanoseconds> ready;

  std::int64_t bytes() const { return elements * element_bytes; }
};

/// In the order of their launches. `phases`: of each step.
std::vector<Collective> find_collectives(const Trace& trace, const Steps& steps,
                                         const std::vector<StepPhases>& phases);

/// A gradient bucket of DDP: an all-reduce of the backward pass.
struct Bucket {
  Collective collective;
  Nanoseconds computation = 0;  ///< of the backward pass, launched since the previous bucket
};

/// In the order of their launches.
std::vector<Bucket> buckets_of(const Trace& trace, const Step& step, const StepPhases& phases,
                               const std::vector<Collective>& collectives_of_step);

CollectiveKind collective_kind(const std::string& name);
std::string name_of(CollectiveKind kind);
/// Bytes of an element of PyTorch's type, "Float", "c10::Half"; 0: not known.
std::int64_t bytes_of_type(const std::string& dtype);
/// "[[2,3],[4]]": 10 elements. 0 for a text that is not a list of shapes.
std::int64_t elements_of(const std::string& shapes);

}  // namespace tandem::trace
