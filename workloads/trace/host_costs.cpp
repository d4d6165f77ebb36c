#include "workloads/trace/host_costs.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace tandem::trace {
namespace {

using Stream = std::pair<std::int32_t, std::int32_t>;  ///< of a device

Stream stream_of(const DeviceEvent& event) { return {event.device, event.stream}; }

std::map<Stream, Nanoseconds> computation_by_stream(const Trace& trace) {
  std::map<Stream, Nanoseconds> times;
  for (const auto& event : trace.device)
    if (event.work == DeviceWork::computation) times[stream_of(event)] += event.span.duration();
  return times;
}

}  // namespace

LaunchDelays launch_delays(const Trace& trace) {
  constexpr Nanoseconds prompt = 25'000;
  LaunchDelays found;
  std::map<Stream, Nanoseconds> ends;  // of the last work in each stream
  for (const auto& event : trace.device) {
    Nanoseconds& end = ends[stream_of(event)];
    const Nanoseconds previous = end;
    end = std::max(end, event.span.end);
    const Launch* launch = trace.launch_of(event);
    if (event.work != DeviceWork::computation || launch == nullptr) continue;
    ++found.kernels;
    const Nanoseconds delay = event.span.begin - launch->span.begin;
    if (delay < prompt) ++found.prompt;
    if (delay < 0) ++found.early;
    if (launch->span.begin > previous) ++found.late;
  }
  return found;
}

std::size_t compute_streams(const Trace& trace) {
  const auto times = computation_by_stream(trace);
  Nanoseconds sum = 0;
  for (const auto& [stream, time] : times) sum += time;
  constexpr Nanoseconds percent = 100;
  return static_cast<std::size_t>(
      std::ranges::count_if(times, [&](const auto& one) { return one.second >= sum / percent; }));
}

Copies copies_of(const Trace& trace, const Step& step) {
  std::map<Stream, std::size_t> kernels;
  for (const std::uint32_t index : step.launched)
    if (trace.device[index].work == DeviceWork::computation) ++kernels[stream_of(trace.device[index])];
  const auto main = std::ranges::max_element(kernels, {}, [](const auto& one) { return one.second; });
  Copies found;
  for (const std::uint32_t index : step.launched) {
    const DeviceEvent& event = trace.device[index];
    const std::string& name = trace.text(event.name);
    const bool is_to_device =
        name.find("HtoD") != std::string::npos || name.find("HostToDevice") != std::string::npos;
    if (event.is_kernel || !is_to_device) continue;
    ++found.count;
    found.bytes += event.bytes;
    found.time += event.span.duration();
    if (name.find("Pageable") != std::string::npos) found.has_pageable = true;
    if (name.find("Pinned") != std::string::npos) found.has_pinned = true;
    if (main != kernels.end() && stream_of(event) == main->first) found.in_compute_stream = true;
  }
  return found;
}

LoaderTime loader_time(const Trace& trace, const Step& step, const Spans& busy) {
  LoaderTime found;
  const auto first = std::ranges::lower_bound(trace.host, step.host.begin, {},
                                              [](const HostEvent& event) { return event.span.begin; });
  for (auto event = first; event != trace.host.end() && event->span.begin < step.host.end; ++event) {
    if (!trace.text(event->name).starts_with("enumerate(DataLoader)")) continue;
    ++found.calls;
    found.time += event->span.duration();
    found.gpu_idle += event->span.duration() - covered(busy, event->span);
  }
  return found;
}

}  // namespace tandem::trace
