// The steps of a trace. On the CPU they are marked by the profiler or the optimiser. On the GPU they are
// windows from the first event that a step launches to the first one of the next step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/trace/intervals.hpp"
#include "workloads/trace/trace.hpp"

namespace tandem::trace {

enum class StepMarks { profiler, optimizer, whole_trace };

struct Step {
  int number = 0;
  Span host;
  std::optional<Span> window;           ///< none where this step or the next one launches nothing
  std::vector<std::uint32_t> launched;  ///< indices in Trace::device, in the order of the launches
};

/// The parts of a window; their sum is the window.
struct WindowParts {
  Nanoseconds computation = 0;
  Nanoseconds exposed_communication = 0;
  Nanoseconds memory = 0;  ///< copies while nothing is computed or communicated
  Nanoseconds idle = 0;
};

struct Steps {
  StepMarks marks = StepMarks::whole_trace;
  std::vector<Step> all;  ///< in order
  /// Indices of the steps that count: not the first one, which the profiler's start disturbs, and not those
  /// without a window.
  std::vector<std::size_t> inner;
};

/// Work of the GPU as sets of times.
struct DeviceTimes {
  Spans computation, communication, memory, busy;
};

/// If the text ends early, a step of which something may be missing launches nothing.
Steps find_steps(const Trace& trace);
/// The step during which the CPU launched work at this time.
std::optional<std::size_t> step_at(const Steps& steps, Nanoseconds launched);
DeviceTimes device_times(const Trace& trace);
WindowParts parts_of(const DeviceTimes& times, Span window);

}  // namespace tandem::trace
