#include "workloads/trace/traced_job.hpp"

#include <algorithm>
#include <cmath>

#include "workloads/trace/checks.hpp"

namespace tandem::trace {
namespace {

/// The spread of the steps that count.
double spread_of(const RankFindings& findings) {
  double sum = 0, squares = 0;
  int count = 0;
  for (const auto& step : findings.steps) {
    if (!step.is_inner || !step.window) continue;
    const auto window = static_cast<double>(*step.window);
    sum += window;
    squares += window * window;
    ++count;
  }
  if (count < 2) return 0;
  const double mean = sum / count;
  return std::sqrt(std::max(0.0, (squares - sum * mean) / (count - 1))) / mean;
}

/// The steps that count; if a trace has too few steps, those whose end is in it.
std::optional<Nanoseconds> longest_window(const RankFindings& findings) {
  std::optional<Nanoseconds> longest;
  for (const auto& step : findings.steps)
    if (step.window) longest = std::max(longest.value_or(0), *step.window);
  return longest;
}

/// The end of the last bucket's all-reduce, or when it is ready where it has no kernel.
Nanoseconds end_of_exchange(const BucketFindings& last) {
  return last.start && last.duration ? std::max(last.ready, *last.start + *last.duration) : last.ready;
}

}  // namespace

TracedJob traced_job(const RankFindings& findings, std::optional<Nanoseconds> step_time) {
  const StepSummary& summary = findings.summary;
  TracedJob job;
  job.spread = spread_of(findings);
  for (const StepFindings& step : findings.steps)
    if (job.samples == 0) job.samples = step.phases.samples;
  job.buffers = findings.buffers.bytes;
  if (findings.slowdown) job.slowdown = std::max(1.0, findings.slowdown->factor);
  const Nanoseconds work = summary.forward + summary.backward + summary.optimizer + summary.parts.memory;
  job.step = summary.window.value_or(longest_window(findings).value_or(work));
  const bool launch_bound = launch_verdict(findings.delays) == "launch-bound";
  Nanoseconds at = job.forward = summary.forward;
  job.backward = summary.backward;
  for (const BucketFindings& bucket : findings.buckets) {
    at += bucket.computation;
    job.buckets.push_back({bucket.elements, launch_bound ? at : bucket.ready, launch_bound ? bucket.ready : 0,
                           bucket.gradients});
    job.dtype = bucket.dtype;
  }
  if (launch_bound) {
    job.update = summary.optimizer + summary.parts.memory;
    // The processor launches the rest of the step during the last all-reduce, so that is no part of its time.
    const double scale =
        step_time ? static_cast<double>(std::max(*step_time, work)) / static_cast<double>(job.step) : 1.0;
    const auto scaled = [&](Nanoseconds time) {
      return static_cast<Nanoseconds>(std::llround(static_cast<double>(time) * scale));
    };
    job.host = scaled(job.step);
    for (TracedBucket& bucket : job.buckets) bucket.launched = scaled(bucket.launched);
    return job;
  }
  if (job.buckets.empty()) {
    job.update = std::max<Nanoseconds>(0, job.step - job.forward - job.backward);
    return job;
  }
  // What the last all-reduce takes is no part of the step of one GPU, nor is waiting for buffers.
  const Nanoseconds exposed = end_of_exchange(findings.buckets.back()) - findings.buckets.back().ready;
  const Nanoseconds until_backward = job.buckets.front().ready - findings.buckets.front().computation;
  const Nanoseconds waited =
      std::clamp<Nanoseconds>(until_backward - summary.forward, 0, findings.buffers.time);
  const Nanoseconds alone = std::max(job.step - exposed - waited, work);
  for (TracedBucket& bucket : job.buckets) bucket.ready -= waited;
  job.forward = std::max<Nanoseconds>(1, until_backward - waited);
  job.update = std::max<Nanoseconds>(0, alone - job.buckets.back().ready);
  return job;
}

}  // namespace tandem::trace
