#include "workloads/trace/overlap.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace tandem::trace {
namespace {

/// Name, grid and block, and the place among those that are equal in its step.
using Kernel = std::tuple<TextId, std::uint64_t, std::size_t>;

struct Durations {
  std::vector<Nanoseconds> overlapped, alone;
};

std::map<Kernel, Durations> durations_of(const Trace& trace, const Steps& steps, const Spans& communication) {
  constexpr double mostly = 0.9;
  std::map<Kernel, Durations> kernels;
  for (const Step& step : steps.all) {
    std::map<std::pair<TextId, std::uint64_t>, std::size_t> seen;
    for (const std::uint32_t index : step.launched) {
      const DeviceEvent& event = trace.device[index];
      if (event.work != DeviceWork::computation) continue;
      Durations& own = kernels[{event.name, event.shape, seen[{event.name, event.shape}]++}];
      const Nanoseconds overlap = covered(communication, event.span);
      const auto share =
          static_cast<double>(overlap) / static_cast<double>(std::max<Nanoseconds>(1, event.span.duration()));
      if (share >= mostly)
        own.overlapped.push_back(event.span.duration());
      else if (overlap == 0)
        own.alone.push_back(event.span.duration());
    }
  }
  return kernels;
}

}  // namespace

std::optional<OverlapSlowdown> overlap_slowdown(const Trace& trace, const Steps& steps,
                                                const DeviceTimes& times) {
  // Shorter ones vary by more than communication slows them.
  constexpr Nanoseconds shortest = 20'000;
  OverlapSlowdown found;
  Nanoseconds overlapped = 0, alone = 0;
  for (const auto& [kernel, durations] : durations_of(trace, steps, times.communication)) {
    if (durations.overlapped.empty() || durations.alone.empty()) continue;
    const Nanoseconds own = median(durations.alone);
    if (own < shortest) continue;
    ++found.kernels;
    overlapped += median(durations.overlapped);
    alone += own;
  }
  if (found.kernels == 0) return std::nullopt;
  found.factor = static_cast<double>(overlapped) / static_cast<double>(alone);
  return found;
}

}  // namespace tandem::trace
