#include "workloads/trace/job_description.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem::trace {
namespace {

constexpr const char* with_profiler = "Record the job with the profiler (tandem record).";

std::string text_in_ms(Nanoseconds time) {
  constexpr double nanoseconds_per_ms = 1e6;
  return std::to_string(static_cast<double>(time) / nanoseconds_per_ms) + " ms";
}

/// Hooks whose bytes follow from the type on the wire; the type is in the buckets.
bool is_known_hook(const std::string& hook) {
  const std::string name = lower(hook);
  return name.empty() || name.find("fp16") != std::string::npos || name.find("bf16") != std::string::npos ||
         name.starts_with("allreduce");
}

bool has_known_ready_times(const JobDescription& job) {
  return std::ranges::all_of(job.buckets, [](const auto& bucket) { return bucket.ready.has_value(); });
}

const char* without_times(DescriptionFormat format) {
  switch (format) {
    case DescriptionFormat::execution_trace:
      return "an execution trace has sizes and shapes, but no times";
    case DescriptionFormat::chakra:
      return "no node of the GPU has a duration";
    case DescriptionFormat::ddp_logging:
      break;
  }
  return "DDP measures its steps from the tenth on";
}

int count_of(const JobDescription& job, CollectiveKind kind) {
  const auto found = job.other_collectives.find(kind);
  return found == job.other_collectives.end() ? 0 : found->second;
}

/// The time of each bucket: as described, else in proportion to the bytes between the known times around it.
/// `backward`: when the backward pass begins and ends.
std::vector<Nanoseconds> ready_times(const std::vector<DescribedBucket>& buckets, Span backward) {
  std::vector<Nanoseconds> times;
  Nanoseconds known = backward.begin;
  double bytes_since = 0;  // of the buckets after the known time
  for (auto at = buckets.begin(); at != buckets.end(); ++at) {
    bytes_since += static_cast<double>(at->bytes);
    if (!at->ready && std::next(at) != buckets.end()) continue;
    const Nanoseconds end = std::max(known, at->ready.value_or(backward.end));
    double bytes = 0;
    for (auto one = buckets.begin() + std::ssize(times); one != std::next(at); ++one) {
      bytes += static_cast<double>(one->bytes);
      const double share = bytes_since > 0 ? bytes / bytes_since : 1.0;
      times.push_back(known + std::llround(share * static_cast<double>(end - known)));
    }
    known = end;
    bytes_since = 0;
  }
  return times;
}

}  // namespace

bool is_without_times(const JobDescription& job) { return !job.forward; }

std::vector<Refusal> refusals_of(const JobDescription& job) {
  // Buckets or shapes may be missing.
  if (job.broken_at_byte)
    return {{"truncated",
             "text that is not JSON, or that ends early, at byte " + std::to_string(*job.broken_at_byte),
             "Give the file as PyTorch wrote it: copy it again, or wait until the job has ended."}};
  std::vector<Refusal> refusals;
  const int scattered = count_of(job, CollectiveKind::reduce_scatter);
  const int gathered = count_of(job, CollectiveKind::all_gather);
  if (scattered + gathered > 0)
    refusals.push_back({"FSDP",
                        "the model is sharded: " + std::to_string(scattered) + " reduce-scatters and " +
                            std::to_string(gathered) + " all-gathers",
                        "Record the job under DistributedDataParallel; one GPU is enough."});
  const int exchanged =
      count_of(job, CollectiveKind::all_to_all) + count_of(job, CollectiveKind::point_to_point);
  if (exchanged > 0)
    refusals.push_back({"not data-parallel",
                        std::to_string(exchanged) + " messages or all-to-alls between parts of the model",
                        "Record the data-parallel part of the job alone."});
  if (!refusals.empty()) return refusals;
  if (job.buckets.empty())
    refusals.push_back(
        {"no buckets", "no all-reduce in a backward pass",
         "Put the model in DistributedDataParallel (one process is enough) and record again."});
  else if (std::ranges::any_of(job.buckets, [](const auto& bucket) { return bucket.elements <= 0; }))
    refusals.push_back({"no sizes", "the sizes of the buckets are missing", with_profiler});
  return refusals;
}

std::vector<Refusal> gaps_of(const JobDescription& job, GivenFigures given) {
  std::vector<Refusal> gaps;
  if (is_without_times(job) && !given.step_time)
    gaps.push_back(
        {"times", without_times(job.format),
         "Give the time of a step (--step-time), of which a third is then assumed to be the forward "
         "pass, or record the job with the profiler (tandem record)."});
  if (is_without_times(job) && given.step_time)
    gaps.push_back({"times of the passes",
                    "the forward pass is assumed to take a third of the step, and the backward pass the rest",
                    with_profiler});
  if (job.format == DescriptionFormat::ddp_logging && !is_without_times(job) && !given.step_time)
    gaps.push_back({"time after the exchange",
                    "DDP measures no optimiser, copies and loading: assumed 0 without the time of a step",
                    "Give the time of a step (--step-time)."});
  if ((!is_without_times(job) || given.step_time) && !has_known_ready_times(job))
    gaps.push_back({"when each bucket is ready",
                    "assumed in proportion to the bytes where the file does not say", with_profiler});
  if (job.format == DescriptionFormat::chakra && !is_without_times(job) && !given.step_time)
    gaps.push_back({"idle time", "durations of kernels are added up, as if the GPU never waited",
                    "Give the time of a step (--step-time)."});
  if (!given.device)
    gaps.push_back({"device", "the name of the GPU is not in the file",
                    "Give one of `tandem list devices` (--device) with --out."});
  if (!is_known_hook(job.hook))
    gaps.push_back({"bytes of the hook", "DDP's hook changes what is sent: assumed as without it",
                    "Set sync.compression in the experiment."});
  return gaps;
}

TracedJob traced_job(const JobDescription& job, std::optional<Nanoseconds> step_time) {
  TracedJob traced;
  const Nanoseconds given = step_time.value_or(0);
  traced.has_assumed_passes = is_without_times(job);
  traced.has_assumed_ready_times = traced.has_assumed_passes || !has_known_ready_times(job);
  traced.forward = std::max<Nanoseconds>(1, job.forward.value_or(given / 3));
  const Nanoseconds end = std::max(traced.forward, job.buckets.back().ready.value_or(given));
  if (step_time && given < end)
    throw ConfigError("--step-time: expected at least the forward and backward pass, " + text_in_ms(end) +
                      ", found " + text_in_ms(given));
  const auto ready = ready_times(job.buckets, {traced.forward, end});
  for (std::size_t i = 0; i < ready.size(); ++i)
    traced.buckets.push_back({job.buckets[i].elements, ready[i], 0, job.buckets[i].gradients});
  traced.dtype = job.buckets.back().dtype;
  traced.buffers = job.broadcast_bytes;
  traced.backward = end - traced.forward;
  traced.update = step_time ? given - end : job.update.value_or(0);
  traced.step = end + traced.update;
  return traced;
}

bool add_sizes(RankFindings& findings, const JobDescription& job) {
  if (findings.buckets.size() != job.buckets.size()) return false;
  for (std::size_t i = 0; i < job.buckets.size(); ++i)
    if (findings.buckets[i].elements > 0 && findings.buckets[i].elements != job.buckets[i].elements)
      return false;
  for (std::size_t i = 0; i < job.buckets.size(); ++i) {
    BucketFindings& bucket = findings.buckets[i];
    bucket.gradients = job.buckets[i].gradients;
    if (bucket.elements > 0) continue;
    bucket.elements = job.buckets[i].elements;
    bucket.bytes = job.buckets[i].bytes;
    bucket.dtype = job.buckets[i].dtype;
  }
  return true;
}

}  // namespace tandem::trace
