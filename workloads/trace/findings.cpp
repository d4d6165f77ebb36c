#include "workloads/trace/findings.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "policies/vocabulary/text_parts.hpp"

namespace tandem::trace {
namespace {

std::string device_name(const Trace& trace) {
  std::map<std::int64_t, std::size_t> events;
  for (const auto& event : trace.device) ++events[event.device];
  const auto most = std::ranges::max_element(events, {}, [](const auto& one) { return one.second; });
  if (most == events.end()) return "";
  const auto name = trace.metadata.devices.find(most->first);
  return name == trace.metadata.devices.end() ? "" : name->second;
}

/// A launch without kernel counts where it says Launch: a copy of the host needs no GPU, and a captured graph
/// launches nothing. A text that ends early lacks the rest of some pairs: the profiler did not lose it.
std::size_t lost_records(const Trace& trace) {
  std::vector<bool> is_used(trace.launches.size());
  std::size_t lost = static_cast<std::size_t>(trace.report.device_events_at_0);
  if (trace.report.cut_at_byte) return lost;
  for (const auto& event : trace.device)
    if (event.launch == none)
      ++lost;
    else
      is_used[event.launch] = true;
  for (std::uint32_t index = 0; index < trace.launches.size(); ++index) {
    const std::string& name = trace.text(trace.launches[index].name);
    const bool is_kernel =
        name.find("Launch") != std::string::npos && name.find("Graph") == std::string::npos;
    if (is_kernel && !is_used[index]) ++lost;
  }
  return lost;
}

std::vector<std::string> doubtful_kernels(const Trace& trace) {
  static constexpr std::array parts = {
      "nvshmem",  "deep_ep",   "deepep",     "allreduce",           "all_reduce", "alltoall",
      "multimem", "allgather", "all_gather", "cross_device_reduce", "sendrecv"};
  std::set<TextId> seen;
  std::vector<std::string> names;
  for (const auto& event : trace.device) {
    if (event.work != DeviceWork::computation || !seen.insert(event.name).second) continue;
    const std::string name = lower(trace.text(event.name));
    if (std::ranges::any_of(parts, [&](const char* part) { return name.find(part) != std::string::npos; }))
      names.push_back(trace.text(event.name));
  }
  return names;
}

std::vector<StepFindings> steps_of(const Trace& trace, const Steps& steps, const DeviceTimes& times,
                                   std::vector<StepPhases> phases,
                                   const std::vector<Collective>& collectives) {
  std::vector<std::vector<Collective>> by_step(steps.all.size());
  for (const auto& one : collectives)
    if (one.step) by_step[*one.step].push_back(one);
  std::vector<StepFindings> found;
  for (std::size_t i = 0; i < steps.all.size(); ++i) {
    const Step& step = steps.all[i];
    StepFindings one;
    one.number = step.number;
    one.host_time = step.host.duration();
    if (step.window) {
      one.window = step.window->duration();
      one.parts = parts_of(times, *step.window);
    }
    one.phases = std::move(phases[i]);
    if (!step.launched.empty()) one.buckets = buckets_of(trace, step, one.phases, by_step[i]);
    one.copies = copies_of(trace, step);
    one.loader = loader_time(trace, step, times.busy);
    for (const std::uint32_t index : step.launched) {
      const Nanoseconds begin = trace.device[index].span.begin;
      one.begin = one.begin == 0 ? begin : std::min(one.begin, begin);
    }
    one.is_inner = std::ranges::find(steps.inner, i) != steps.inner.end();
    found.push_back(std::move(one));
  }
  return found;
}

StepSummary summary_of(const std::vector<StepFindings>& steps) {
  std::vector<const StepFindings*> counted;
  for (const auto& step : steps)
    if (step.is_inner) counted.push_back(&step);
  if (counted.empty())
    for (const auto& step : steps) counted.push_back(&step);
  const auto middle = [&](const auto& value) {
    std::vector<Nanoseconds> values;
    for (const auto* step : counted) values.push_back(value(*step));
    return median(std::move(values));
  };
  const auto middle_of_parts = [&](Nanoseconds WindowParts::*part) {
    return middle([&](const StepFindings& step) { return step.parts.value_or(WindowParts{}).*part; });
  };
  StepSummary summary;
  summary.steps = counted.size();
  if (std::ranges::all_of(counted, [](const auto* step) { return step->window.has_value(); })) {
    summary.window = middle([](const StepFindings& step) { return *step.window; });
    summary.shortest = summary.longest = *counted.front()->window;
    for (const auto* step : counted) {
      summary.shortest = std::min(summary.shortest, *step->window);
      summary.longest = std::max(summary.longest, *step->window);
    }
    summary.parts = {middle_of_parts(&WindowParts::computation),
                     middle_of_parts(&WindowParts::exposed_communication),
                     middle_of_parts(&WindowParts::memory), middle_of_parts(&WindowParts::idle)};
  }
  // The profiler's start delays kernels, but makes none of them longer: the phases are those of all steps.
  counted.clear();
  for (const auto& step : steps)
    if (step.begin != 0) counted.push_back(&step);
  summary.forward = middle([](const StepFindings& step) { return step.phases.forward; });
  summary.backward = middle([](const StepFindings& step) { return step.phases.backward; });
  summary.optimizer = middle([](const StepFindings& step) { return step.phases.optimizer; });
  summary.other = middle([](const StepFindings& step) { return step.phases.other; });
  return summary;
}

bool are_equal(const std::vector<Bucket>& a, const std::vector<Bucket>& b) {
  return std::ranges::equal(
      a, b, {}, [](const Bucket& one) { return one.collective.elements; },
      [](const Bucket& one) { return one.collective.elements; });
}

BufferFindings buffers_of(const RankFindings& findings) {
  std::vector<BufferFindings> by_step(findings.steps.size());
  for (const auto& one : findings.collectives) {
    if (one.kind != CollectiveKind::broadcast || !one.step || one.in_backward) continue;
    BufferFindings& step = by_step[*one.step];
    step.bytes += one.bytes();
    if (one.kernel) step.time += one.kernel->duration();
  }
  const bool has_inner = std::ranges::any_of(findings.steps, &StepFindings::is_inner);
  std::vector<Nanoseconds> times;
  std::vector<std::int64_t> bytes;
  for (std::size_t i = 0; i < by_step.size(); ++i) {
    if (has_inner && !findings.steps[i].is_inner) continue;
    times.push_back(by_step[i].time);
    bytes.push_back(by_step[i].bytes);
  }
  return {median(std::move(bytes)), median(std::move(times))};
}

/// The buckets of the last step that has some, over all steps with the same ones: gradient accumulation
/// leaves steps without, and DDP's first step has one bucket.
void summarise_buckets(RankFindings& findings) {
  std::vector<const StepFindings*> alike;
  for (auto step = findings.steps.rbegin(); step != findings.steps.rend(); ++step) {
    if (step->buckets.empty()) continue;
    if (alike.empty() || are_equal(step->buckets, alike.front()->buckets))
      alike.push_back(&*step);
    else
      findings.has_equal_buckets = false;
  }
  if (alike.empty()) return;
  for (std::size_t i = 0; i < alike.front()->buckets.size(); ++i) {
    const Collective& model = alike.front()->buckets[i].collective;
    std::vector<Nanoseconds> computation, ready, start, duration;
    for (const auto* step : alike) {
      const Bucket& bucket = step->buckets[i];
      computation.push_back(bucket.computation);
      if (bucket.collective.ready) ready.push_back(*bucket.collective.ready - step->begin);
      if (!bucket.collective.kernel) continue;
      start.push_back(bucket.collective.kernel->begin - step->begin);
      duration.push_back(bucket.collective.kernel->duration());
    }
    BucketFindings one{.elements = model.elements,
                       .bytes = model.bytes(),
                       .dtype = model.dtype,
                       .computation = median(computation),
                       .ready = median(ready),
                       .start = {},
                       .duration = {},
                       .least = {}};
    if (!start.empty()) {
      one.start = median(start);
      one.duration = median(duration);
      one.least = std::ranges::min(duration);
    }
    findings.buckets.push_back(std::move(one));
  }
}

}  // namespace

RankFindings analyse(const Trace& trace) {
  const Steps steps = find_steps(trace);
  const DeviceTimes times = device_times(trace);
  std::vector<StepPhases> phases;
  // Nodes are most of what a step has, and those of one step are printed.
  const std::size_t printed = steps.inner.empty() ? steps.all.size() - 1 : steps.inner.back();
  for (std::size_t i = 0; i < steps.all.size(); ++i) {
    phases.push_back(phases_of(trace, steps, i));
    if (i != printed) phases.back().layers = std::vector<Layer>();
  }
  RankFindings findings;
  findings.file = trace.name;
  findings.rank = trace.metadata.rank;
  findings.world_size = trace.metadata.world_size;
  findings.device = device_name(trace);
  findings.marks = steps.marks;
  findings.collectives = find_collectives(trace, steps, phases);
  findings.steps = steps_of(trace, steps, times, std::move(phases), findings.collectives);
  findings.summary = summary_of(findings.steps);
  summarise_buckets(findings);
  findings.buffers = buffers_of(findings);
  findings.delays = launch_delays(trace);
  findings.compute_streams = compute_streams(trace);
  findings.slowdown = overlap_slowdown(trace, steps, times);
  findings.device_events = trace.device.size();
  findings.lost_records = lost_records(trace);
  findings.doubtful_kernels = doubtful_kernels(trace);
  findings.exact = exact_breakdown(trace);
  findings.hta = hta_breakdown(trace, steps, false);
  return findings;
}

Match compare_ranks(const std::vector<Trace>& traces, const std::vector<RankFindings>& findings) {
  std::vector<RankCollectives> ranks;
  for (std::size_t i = 0; i < traces.size(); ++i)
    ranks.push_back(
        {findings[i].rank.value_or(static_cast<int>(i)), traces[i].metadata.base, findings[i].collectives});
  return match_ranks(ranks);
}

}  // namespace tandem::trace
