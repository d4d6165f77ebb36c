#include "workloads/trace/breakdown.hpp"

#include <cmath>

namespace tandem::trace {
namespace {

/// `span_of` keeps the order of begins.
template <class IsCounted, class SpanOf>
Breakdown breakdown(const Trace& trace, const IsCounted& is_counted, const SpanOf& span_of) {
  Spans all, computation, communication;
  for (const auto& event : trace.device) {
    if (!is_counted(event)) continue;
    const Span span = span_of(event.span);
    append(all, span);
    if (event.work == DeviceWork::computation) append(computation, span);
    if (event.work == DeviceWork::communication) append(communication, span);
  }
  if (all.empty()) return {};
  Breakdown found;
  found.kernel_time = all.back().end - all.front().begin;
  found.idle = found.kernel_time - length(all);
  found.compute = length(computation);
  found.non_compute = length(all) - found.compute;
  found.communication = length(communication);
  found.overlapped = common(computation, communication);
  return found;
}

/// HTA holds times as doubles, and rounds begin and end each by itself: a short kernel may end before it
/// begins.
Span rounded(Span span) {
  constexpr Nanoseconds microsecond = 1000;
  const double begin = as_double(span.begin);
  const double end = begin + as_double(span.duration());
  return {static_cast<Nanoseconds>(std::ceil(begin)) * microsecond,
          static_cast<Nanoseconds>(std::floor(end)) * microsecond};
}

}  // namespace

std::optional<double> Breakdown::overlap_percent() const {
  if (communication == 0) return std::nullopt;
  constexpr double percent = 100;
  return percent * static_cast<double>(overlapped) / static_cast<double>(communication);
}

Breakdown exact_breakdown(const Trace& trace) {
  return breakdown(
      trace, [](const DeviceEvent&) { return true; }, [](Span span) { return span; });
}

Breakdown hta_breakdown(const Trace& trace, const Steps& steps, bool with_last_step) {
  const bool keeps_all = with_last_step || steps.marks != StepMarks::profiler || steps.all.size() < 2;
  const Nanoseconds last = steps.all.back().host.begin;
  const auto is_counted = [&](const DeviceEvent& event) {
    const Launch* launch = trace.launch_of(event);
    return keeps_all || (launch != nullptr && launch->span.begin < last);
  };
  return breakdown(trace, is_counted, rounded);
}

}  // namespace tandem::trace
