#include "workloads/trace/trace_builder.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem::trace {
namespace {

// About 2 GB of memory.
constexpr std::size_t most_events = 24'000'000;
constexpr std::size_t most_text_bytes = std::size_t{256} << 20U;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Waits, queries and records of events start no work; leaving them out halves the launches of a trace.
bool may_start_work(std::string_view name) {
  return contains(name, "Launch") || contains(name, "Memcpy") || contains(name, "Memset") ||
         contains(name, "Prefetch");
}

bool is_needed(const Event& event) {
  const std::string_view name = event.name;
  if (event.category == "Operator" && is_bare_node(name)) return true;
  if (event.kind == Category::python) return name.starts_with("nn.Module: ");
  for (const char* beginning : {"ProfilerStep#", "Optimizer.step", "enumerate(DataLoader)",
                                "record_param_comms", "nccl:", "gloo:", "autograd::engine::evaluate_function",
                                "FullyShardedDataParallel", "FSDP::", "DistributedDataParallel.forward"})
    if (name.starts_with(beginning)) return true;
  // A forward operator, which its node of the backward pass names by the same number.
  return event.sequence && *event.sequence >= 0 && event.forward_thread.value_or(0) == 0;
}

template <class Number>
Number within(std::optional<std::int64_t> number, std::int64_t otherwise) {
  using Limits = std::numeric_limits<Number>;
  return static_cast<Number>(
      std::clamp<std::int64_t>(number.value_or(otherwise), Limits::min(), Limits::max()));
}

}  // namespace

std::vector<std::string> known_communication() { return {"nccl", "rccl", "hccl"}; }

TraceBuilder::TraceBuilder(std::string name, std::vector<std::string> communication) {
  for (auto& part : communication) communication_.push_back(lower(std::move(part)));
  trace_.name = std::move(name);
}

void TraceBuilder::add(const Event& event) {
  auto& report = trace_.report;
  if (event.number) {
    ++report.numbered_events;
    report.first_number =
        report.first_number < 0 ? *event.number : std::min(report.first_number, *event.number);
    report.last_number = std::max(report.last_number, *event.number);
  }
  if (event.phase != "X") return;
  ++report.events;
  const bool is_left_out = event.kind == Category::python && !is_needed(event);
  if (event.kind == Category::other || is_left_out) return;
  // No step takes a day. Longer times would not add up in 64 bits.
  constexpr Nanoseconds longest = Nanoseconds{86'400} * 1'000'000'000;
  if (!event.time || !event.duration || event.name.empty() || *event.duration > longest) {
    ++report.unusable_events;
    return;
  }
  // The profiler of some versions makes negative durations of very short kernels.
  const Span span{*event.time, *event.time + std::max<Nanoseconds>(0, *event.duration)};
  if (event.kind == Category::device)
    add_device(event, span);
  else if (event.kind == Category::launch)
    add_launch(event, span);
  else if (is_needed(event))
    add_host(event, span);
  check_size();
}

void TraceBuilder::check_size() const {
  const std::size_t events = trace_.device.size() + trace_.launches.size() + trace_.host.size();
  if (events > most_events || trace_.texts.bytes() > most_text_bytes)
    throw ConfigError(trace_.name + ": expected a trace of at most " + std::to_string(most_events) +
                      " events and 256 MiB of names, found more; record fewer steps");
}

void TraceBuilder::add_device(const Event& event, Span span) {
  if (span.begin == 0) {
    ++trace_.report.device_events_at_0;
    return;
  }
  DeviceEvent added;
  added.span = span;
  added.correlation = event.correlation.value_or(0);
  added.shape = std::hash<std::string>()(event.grid + event.block);
  added.bytes = event.bytes.value_or(0);
  added.name = trace_.texts.id(event.name);
  added.stream = within<std::int32_t>(event.stream, 0);
  added.device = within<std::int32_t>(event.device, parse_number<std::int64_t>(event.process).value_or(0));
  added.is_kernel = event.category == "kernel" || event.category == "Kernel";
  added.work = !added.is_kernel           ? DeviceWork::memory
               : communicates(added.name) ? DeviceWork::communication
                                          : DeviceWork::computation;
  if (!event.collective.empty()) added.collective = add_collective(event);
  trace_.device.push_back(added);
}

void TraceBuilder::add_launch(const Event& event, Span span) {
  if (!event.correlation || !may_start_work(event.name)) return;
  trace_.launches.push_back({span, *event.correlation, trace_.texts.id(event.name), thread_of(event)});
}

void TraceBuilder::add_host(const Event& event, Span span) {
  HostEvent added;
  added.span = span;
  added.sequence = event.sequence.value_or(-1);
  added.name = trace_.texts.id(event.name);
  added.thread = thread_of(event);
  added.shapes = trace_.texts.id(event.shapes);
  added.types = trace_.texts.id(event.types);
  if (!event.collective.empty()) added.collective = add_collective(event);
  trace_.host.push_back(added);
}

std::uint32_t TraceBuilder::add_collective(const Event& event) {
  trace_.collectives.push_back({.name = trace_.texts.id(event.collective),
                                .dtype = trace_.texts.id(event.dtype),
                                .group = trace_.texts.id(event.group),
                                .group_size = within<std::int32_t>(event.group_size, 0),
                                .in_elements = event.in_elements.value_or(-1),
                                .out_elements = event.out_elements.value_or(-1),
                                .sequence = event.collective_sequence});
  return static_cast<std::uint32_t>(trace_.collectives.size() - 1);
}

TextId TraceBuilder::thread_of(const Event& event) {
  thread_.assign(event.process).append("/").append(event.thread);
  return trace_.texts.id(thread_);
}

bool TraceBuilder::communicates(TextId name) {
  if (communicates_.size() <= name) communicates_.resize(trace_.texts.size(), -1);
  auto& known = communicates_[name];
  if (known < 0) {
    const std::string text = lower(trace_.texts[name]);
    known =
        std::ranges::any_of(communication_, [&](const auto& part) { return contains(text, part); }) ? 1 : 0;
  }
  return known > 0;
}

void TraceBuilder::link() {
  auto& launches = trace_.launches;
  std::ranges::stable_sort(launches, {}, &Launch::correlation);
  for (auto& event : trace_.device) {
    // If several calls have one correlation, the last one in the file counts.
    const auto behind = std::ranges::upper_bound(launches, event.correlation, {}, &Launch::correlation);
    if (behind == launches.begin() || std::prev(behind)->correlation != event.correlation) continue;
    event.launch = static_cast<std::uint32_t>(std::prev(behind) - launches.begin());
  }
}

Trace TraceBuilder::finish() {
  link();
  std::ranges::stable_sort(trace_.device, {}, [](const DeviceEvent& event) { return event.span.begin; });
  std::ranges::stable_sort(trace_.host, [](const HostEvent& a, const HostEvent& b) {
    return a.span.begin != b.span.begin ? a.span.begin < b.span.begin : a.span.end > b.span.end;
  });
  communicates_.clear();
  return std::exchange(trace_, Trace{});
}

}  // namespace tandem::trace
