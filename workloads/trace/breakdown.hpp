// The parts of a GPU's time over a whole trace: exactly, or as HolisticTraceAnalysis computes them.
#pragma once

#include <cstdint>
#include <optional>

#include "workloads/trace/steps.hpp"
#include "workloads/trace/trace.hpp"

namespace tandem::trace {

struct Breakdown {
  Nanoseconds idle = 0;
  Nanoseconds compute = 0;
  Nanoseconds non_compute = 0;    ///< communication and copies while nothing is computed
  Nanoseconds kernel_time = 0;    ///< from the first begin to the last end
  Nanoseconds communication = 0;  ///< all communication; overlapping kernels count once
  Nanoseconds overlapped = 0;     ///< communication while something is computed

  /// Share of the communication that is hidden, in percent; none without communication.
  std::optional<double> overlap_percent() const;
};

/// Times of kernels to the nanosecond, all steps.
Breakdown exact_breakdown(const Trace& trace);
/// As HolisticTraceAnalysis: begins are rounded up and ends down to whole microseconds. Work that the last
/// of several ProfilerSteps launches is left out unless `with_last_step`.
Breakdown hta_breakdown(const Trace& trace, const Steps& steps, bool with_last_step);

}  // namespace tandem::trace
