// How much longer kernels run while the GPU communicates, from kernels that ran both during communication
// and without it.
#pragma once

#include <cstddef>
#include <optional>

#include "workloads/trace/steps.hpp"
#include "workloads/trace/trace.hpp"

namespace tandem::trace {

struct OverlapSlowdown {
  std::size_t kernels = 0;  ///< that ran both during communication and without it
  double factor = 1;        ///< of their times, weighted by time
};

/// A kernel is the same in two steps if its name, grid, block and position among the kernels of the step are
/// the same. Only kernels of at least 20 us count. None where no kernel ran both ways.
std::optional<OverlapSlowdown> overlap_slowdown(const Trace& trace, const Steps& steps,
                                                const DeviceTimes& times);

}  // namespace tandem::trace
