// The costs of a step on the CPU: launches for which the GPU waits, copies to the GPU, and the loader of
// samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/trace/steps.hpp"
#include "workloads/trace/trace.hpp"

namespace tandem::trace {

/// Delays of all kernels that compute and have a launch.
struct LaunchDelays {
  std::size_t kernels = 0;
  std::size_t prompt = 0;  ///< begin less than 25 us after their launch: the GPU was idle
  std::size_t late = 0;    ///< launched after the previous kernel in their stream had ended
  std::size_t early = 0;   ///< begin before their launch, by the clocks of the trace

  double prompt_share() const { return share(prompt); }
  double late_share() const { return share(late); }

 private:
  double share(std::size_t count) const {
    return kernels == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(kernels);
  }
};

/// Copies from the memory of the host to that of the GPU.
struct Copies {
  std::size_t count = 0;
  std::int64_t bytes = 0;
  Nanoseconds time = 0;
  bool has_pageable = false;
  bool has_pinned = false;
  bool in_compute_stream = false;  ///< in the stream that has the most kernels
};

/// Time in the iterator of a DataLoader.
struct LoaderTime {
  std::size_t calls = 0;
  Nanoseconds time = 0;
  Nanoseconds gpu_idle = 0;  ///< the part in which the GPU is idle: the cost of loading
};

LaunchDelays launch_delays(const Trace& trace);
/// The number of streams with at least 1 % of the kernels' computation.
std::size_t compute_streams(const Trace& trace);
Copies copies_of(const Trace& trace, const Step& step);
/// `busy`: of the GPU.
LoaderTime loader_time(const Trace& trace, const Step& step, const Spans& busy);

}  // namespace tandem::trace
