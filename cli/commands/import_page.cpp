#include "cli/commands/import_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/commands/answer_origins.hpp"
#include "cli/commands/init_files.hpp"
#include "policies/collectives/nccl.hpp"
#include "policies/prices/step.hpp"
#include "workloads/records/format.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;
using trace::Nanoseconds;

constexpr double bytes_per_gigabit = 1e9 / 8;
constexpr std::array gigabits = {1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 200.0, 400.0};
constexpr std::array drawn_gigabits = {1.0, 10.0, 25.0, 100.0, 400.0};
constexpr std::array numbers_of_workers = {1, 2, 4, 8, 16, 32, 64, 128, 256};
constexpr int usual_workers = 32;

double seconds(Nanoseconds time) { return static_cast<double>(time) * 1e-9; }

/// What the buckets have on the wire.
double element_bytes_of(const trace::TracedJob& job) {
  const auto known = trace::bytes_of_type(job.dtype);
  return known > 0 ? static_cast<double>(known) : 4.0;
}

/// "fp32".
std::string wire_name(const trace::TracedJob& job) {
  const double own = element_bytes_of(job);
  return own == 4 ? "fp32" : own == 2 ? "16-bit" : fmt::format("{:g}-byte", own);
}

json curve_of(const trace::TracedJob& job, std::string name, EstimatedMachines machines) {
  json points = json::array();
  for (const double rate : gigabits) {
    machines.bytes_per_s = rate * bytes_per_gigabit;
    points.push_back({{"x", rate}, {"y", 1e3 * estimated_step_s(job, machines)}});
  }
  return {{"name", std::move(name)}, {"points", std::move(points)}};
}

/// Milliseconds of a step over the bandwidth, as it is and with 16 bits on the wire.
json by_bandwidth(const ImportedJob& imported) {
  const trace::TracedJob& job = imported.step;
  json curves = json::array();
  const double own = element_bytes_of(job);
  const auto add = [&](const std::string& prefix, bool waits) {
    curves.push_back(curve_of(job, prefix + wire_name(job) + " gradients, as recorded",
                              {.workers = usual_workers, .element_bytes = own, .waits_for_launches = waits}));
    if (own > 2)
      curves.push_back(curve_of(job, prefix + "fp16 gradients",
                                {.workers = usual_workers, .element_bytes = 2, .waits_for_launches = waits}));
  };
  const char* const launched = imported.has_step_time ? "without the profiler, " : "as profiled, ";
  add(job.is_launch_bound() ? launched : "", true);
  if (job.is_launch_bound()) add("GPU alone, ", false);
  return curves;
}

/// Percent of the speed of one GPU alone that each reaches.
json by_workers(const trace::TracedJob& job) {
  json curves = json::array();
  EstimatedMachines machines{.element_bytes = element_bytes_of(job)};
  for (const double rate : drawn_gigabits) {
    machines.bytes_per_s = rate * bytes_per_gigabit;
    json points = json::array();
    for (const int workers : numbers_of_workers) {
      machines.workers = workers;
      const EstimatedMachines alone{.bytes_per_s = machines.bytes_per_s};
      points.push_back(
          {{"x", workers}, {"y", 100 * estimated_step_s(job, alone) / estimated_step_s(job, machines)}});
    }
    curves.push_back({{"name", fmt::format("{:g} Gb/s", rate)}, {"points", std::move(points)}});
  }
  return curves;
}

json timeline_document(const trace::Timeline& timeline) {
  json lanes = json::array();
  for (const auto& lane : timeline.lanes) {
    json blocks = json::array();
    for (const auto& block : lane.blocks)
      blocks.push_back(
          {seconds(block.span.begin), seconds(block.span.duration()), trace::name_of(block.kind)});
    lanes.push_back({{"name", fmt::format("stream {}", lane.stream)}, {"blocks", std::move(blocks)}});
  }
  json ready = json::array();
  for (const Nanoseconds time : timeline.ready) ready.push_back(seconds(time));
  return {{"length_s", seconds(timeline.length)}, {"lanes", std::move(lanes)}, {"ready_s", std::move(ready)}};
}

std::vector<validation::TracedPage::Bucket> buckets_of(const trace::TracedJob& job) {
  std::vector<validation::TracedPage::Bucket> buckets;
  const double width = element_bytes_of(job);
  for (const auto& bucket : job.buckets)
    buckets.push_back({.elements = bucket.elements,
                       .bytes = static_cast<std::int64_t>(width * static_cast<double>(bucket.elements)),
                       .ready = ms_text(seconds(bucket.ready)),
                       .launched = job.is_launch_bound() ? ms_text(seconds(bucket.launched)) : "-"});
  return buckets;
}

/// What the page says first.
std::string answer_of(const ImportedJob& job) {
  const std::string recorded = ms_text(seconds(job.step.step));
  if (!job.step.is_launch_bound()) return recorded + " on one";
  const std::string time = job.has_step_time ? fmt::format("{} on one ({} while it was profiled)",
                                                           ms_text(seconds(job.step.host)), recorded)
                                             : recorded + " on one";
  return time + ", which waits for its processor (launch-bound)";
}

/// The step on other machines, in sentences, and why its figures may be wrong.
std::vector<std::string> points_of(const ImportedJob& job) {
  const auto& step = job.step;
  const bool has_bounds = step.is_launch_bound() && !job.has_step_time;
  const auto at = [&](double gigabit, double width, bool waits) {
    return ms_text(estimated_step_s(step, {.workers = usual_workers,
                                           .bytes_per_s = gigabit * bytes_per_gigabit,
                                           .element_bytes = width,
                                           .waits_for_launches = waits}));
  };
  const auto times = [&](double gigabit, double width) {
    return has_bounds ? fmt::format("between {} and {}", at(gigabit, width, false), at(gigabit, width, true))
                      : at(gigabit, width, true);
  };
  const double own = element_bytes_of(step);
  std::vector<std::string> points;
  for (const double rate : {25.0, 10.0}) {
    std::string text =
        fmt::format("{} on {} of them with {:g} Gb/s to each", times(rate, own), usual_workers, rate);
    if (own > 2) text += "; with fp16 gradients " + times(rate, 2);
    points.push_back(text + '.');
  }
  if (has_bounds)
    points.emplace_back(
        "Between a GPU that never waits for its processor, and the step as profiled: the profiler slows the "
        "processor down. For one number, import the trace with the step's time without the profiler "
        "(--step-time).");
  for (const std::string& check : job.failed_checks)
    points.push_back("Less certain, because a check of the trace failed. " + check + '.');
  return points;
}

}  // namespace

double estimated_step_s(const trace::TracedJob& job, const EstimatedMachines& machines) {
  const double steps = 2.0 * (machines.workers - 1);
  const bool waits = machines.waits_for_launches && job.is_launch_bound();
  const auto sum_of = [&](double bytes) {
    if (machines.workers == 1 || bytes == 0) return Seconds(0);
    const collectives::RingCost ring{
        .transfers = Seconds(steps / machines.workers * bytes / machines.bytes_per_s),
        .hops = std::vector(static_cast<std::size_t>(machines.workers), cable_latency * 2)};
    return collectives::nccl_all_reduce(ring).time;
  };
  std::vector<prices::Bucket> buckets;
  Seconds computed(0);
  for (const auto& bucket : job.buckets) {
    const Seconds ready(seconds(waits ? std::max(bucket.ready, bucket.launched) : bucket.ready));
    computed = std::max(computed, ready);
    buckets.push_back(
        {.ready = ready, .exchange = sum_of(machines.element_bytes * static_cast<double>(bucket.elements))});
  }
  if (job.buckets.empty()) computed = Seconds(seconds(job.forward + job.backward));
  const Seconds exchanged =
      sum_of(static_cast<double>(job.buffers)) + prices::end_of_buckets(buckets, computed);
  const double end = exchanged.count() + seconds(job.update);
  return waits ? std::max(end, seconds(job.host)) : end;
}

validation::TracedPage page_of(const ImportedJob& job, const trace::Timeline& timeline,
                               const std::vector<trace::Check>& checks) {
  validation::TracedPage page{
      .title = job.name,
      .question = fmt::format("How long does a step of {} ({}) take on other machines?", job.source,
                              job.gpu.empty() ? job.device : job.gpu),
      .answer = answer_of(job),
      .points = points_of(job),
      .buckets = buckets_of(job.step),
      .are_ready_times_assumed = job.step.has_assumed_ready_times,
      .step = timeline.step,
      .has_streams = !timeline.lanes.empty(),
      .streams_left_out = timeline.left_out,
      .workers = usual_workers,
      .is_as_profiled = job.step.is_launch_bound() && !job.has_step_time,
      .drawn = {{"timeline", timeline_document(timeline)},
                {"results", {{"by_workers", by_workers(job.step)}, {"by_bandwidth", by_bandwidth(job)}}}}};
  for (const auto& check : checks)
    page.checks.push_back({check.subject, check.figure, trace::name_of(check.verdict)});
  return page;
}

}  // namespace tandem::cli
