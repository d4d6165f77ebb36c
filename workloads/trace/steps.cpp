#include "workloads/trace/steps.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace tandem::trace {
namespace {

std::vector<Step> profiler_steps(const Trace& trace) {
  constexpr std::string_view mark = "ProfilerStep#";
  std::vector<Step> steps;
  for (const auto& event : trace.host) {
    const std::string& name = trace.text(event.name);
    if (!name.starts_with(mark)) continue;
    Step step;
    step.host = event.span;
    std::from_chars(name.data() + mark.size(), name.data() + name.size(), step.number);
    steps.push_back(step);
  }
  return steps;
}

/// From where anything begins on the CPU to where everything has ended there.
Span whole_host(const Trace& trace) {
  std::optional<Span> whole;
  const auto include = [&](const Span& span) {
    if (!whole) whole = span;
    whole->begin = std::min(whole->begin, span.begin);
    whole->end = std::max(whole->end, span.end);
  };
  for (const auto& event : trace.host) include(event.span);
  for (const auto& launch : trace.launches) include(launch.span);
  return whole.value_or(Span{});
}

/// Each from the end of the optimiser's step before it to the end of its own. Of several optimisers, the last
/// one of a step ends it.
std::vector<Step> optimizer_steps(const Trace& trace) {
  std::vector<const HostEvent*> updates;
  for (const auto& event : trace.host)
    if (trace.text(event.name).starts_with("Optimizer.step")) updates.push_back(&event);
  if (updates.empty()) return {};
  const TextId last = updates.back()->name;
  std::erase_if(updates, [&](const auto* event) { return event->name != last; });
  std::vector<Step> steps;
  Nanoseconds begin = whole_host(trace).begin;
  for (const auto* event : updates) {
    steps.push_back({static_cast<int>(steps.size()), {begin, event->span.end}, {}, {}});
    begin = event->span.end;
  }
  return steps;
}

void find_launched(const Trace& trace, Steps& steps) {
  for (std::uint32_t index = 0; index < trace.device.size(); ++index) {
    const Launch* launch = trace.launch_of(trace.device[index]);
    if (launch == nullptr) continue;
    if (const auto step = step_at(steps, launch->span.begin)) steps.all[*step].launched.push_back(index);
  }
  for (Step& step : steps.all)
    std::ranges::stable_sort(step.launched, {}, [&](std::uint32_t index) {
      return trace.launch_of(trace.device[index])->span.begin;
    });
}

/// A text that ends early lacks events of any step: a profiler writes threads and streams one after the
/// other. All steps of a job are alike, so a step with fewer events than another one is not whole: it counts
/// as one that launches nothing.
void leave_out_broken_steps(const Trace& trace, Steps& steps) {
  std::vector<std::size_t> host(steps.all.size(), 0);
  for (const auto& event : trace.host)
    if (const auto step = step_at(steps, event.span.begin)) ++host[*step];
  const std::size_t most_host = std::ranges::max(host);
  std::size_t most_launched = 0;
  for (const Step& step : steps.all) most_launched = std::max(most_launched, step.launched.size());
  for (std::size_t i = 0; i < host.size(); ++i)
    if (host[i] < most_host || steps.all[i].launched.size() < most_launched) steps.all[i].launched.clear();
}

void find_windows(const Trace& trace, Steps& steps) {
  std::vector<std::optional<Nanoseconds>> first(steps.all.size());
  for (std::size_t i = 0; i < first.size(); ++i)
    for (const std::uint32_t index : steps.all[i].launched) {
      const Nanoseconds begin = trace.device[index].span.begin;
      first[i] = std::min(first[i].value_or(begin), begin);
    }
  for (std::size_t i = 0; i + 1 < first.size(); ++i)
    if (first[i] && first[i + 1] && *first[i] < *first[i + 1])
      steps.all[i].window = Span{*first[i], *first[i + 1]};
  for (std::size_t i = 1; i < steps.all.size(); ++i)
    if (steps.all[i].window) steps.inner.push_back(i);
}

}  // namespace

Steps find_steps(const Trace& trace) {
  Steps steps;
  steps.all = profiler_steps(trace);
  steps.marks = StepMarks::profiler;
  if (steps.all.empty()) {
    steps.all = optimizer_steps(trace);
    steps.marks = StepMarks::optimizer;
  }
  if (steps.all.empty()) {
    steps.all.push_back({0, whole_host(trace), {}, {}});
    steps.marks = StepMarks::whole_trace;
  }
  std::ranges::stable_sort(steps.all, {}, [](const Step& step) { return step.host.begin; });
  find_launched(trace, steps);
  if (trace.report.cut_at_byte) leave_out_broken_steps(trace, steps);
  find_windows(trace, steps);
  return steps;
}

std::optional<std::size_t> step_at(const Steps& steps, Nanoseconds launched) {
  const auto behind =
      std::ranges::upper_bound(steps.all, launched, {}, [](const Step& step) { return step.host.begin; });
  if (behind == steps.all.begin() || launched >= std::prev(behind)->host.end) return std::nullopt;
  return static_cast<std::size_t>(std::prev(behind) - steps.all.begin());
}

DeviceTimes device_times(const Trace& trace) {
  DeviceTimes times;
  for (const auto& event : trace.device) {
    append(times.busy, event.span);
    append(event.work == DeviceWork::computation     ? times.computation
           : event.work == DeviceWork::communication ? times.communication
                                                     : times.memory,
           event.span);
  }
  return times;
}

WindowParts parts_of(const DeviceTimes& times, Span window) {
  const Spans computation = clip(times.computation, window);
  const Spans communication = clip(times.communication, window);
  const Nanoseconds both = common(computation, communication);
  const Nanoseconds busy = covered(times.busy, window);
  WindowParts parts;
  parts.computation = length(computation);
  parts.exposed_communication = length(communication) - both;
  parts.memory = busy - parts.computation - parts.exposed_communication;
  parts.idle = window.duration() - busy;
  return parts;
}

}  // namespace tandem::trace
