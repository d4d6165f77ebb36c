#include "cli/commands/import_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/commands/init_files.hpp"
#include "platforms/description.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem::cli {
namespace {

/// "29.879ms": to the nanosecond.
std::string ms(trace::Nanoseconds time) {
  constexpr double nanoseconds_per_ms = 1e6;
  return fmt::format("{}ms", static_cast<double>(time) / nanoseconds_per_ms);
}

/// " 1000x2048 1000x1": of the gradients, where they are known.
std::string shapes_text(const trace::TracedBucket& bucket) {
  std::string text;
  for (const auto& shape : bucket.gradients)
    text += shape.size() < 2 ? fmt::format(" {}x1", shape.empty() ? 1 : shape.front())
                             : fmt::format(" {}", fmt::join(shape, "x"));
  return text;
}

std::string buckets_text(const trace::TracedJob& step) {
  std::string text = fmt::format(
      "  # {} of each bucket of the gradient: bytes in fp32; when the GPU has completed it, after the step's "
      "begin{}.\n"
      "  measured_buckets:{}\n",
      step.has_assumed_ready_times ? "Sizes measured, times partly assumed," : "Measured,",
      step.is_launch_bound() ? ", if it never waits for the processor; when the processor has launched it"
                             : "",
      step.has_assumed_ready_times ? "  # assumed: ready times in proportion to the bytes" : "");
  for (const auto& bucket : step.buckets)
    text += fmt::format("    - {}B {}{}{}\n", 4 * bucket.elements, ms(bucket.ready),
                        step.is_launch_bound() ? ' ' + ms(bucket.launched) : "", shapes_text(bucket));
  return text;
}

std::string workload_text(const ImportedJob& job) {
  const auto& step = job.step;
  const bool has_buckets = !step.buckets.empty();
  std::string text = fmt::format(
      "workload:\n"
      "  model: {}  # {}\n",
      has_buckets ? "synthetic" : job.model,
      has_buckets ? "known by the buckets of its gradient" : "as given by --model: the trace has no buckets");
  if (!has_buckets) text += "  bucket_rule: ddp\n";
  text += fmt::format(
      "  dataset: {}  # of no effect on times\n"
      "  math: modelled\n"
      "  batch: {}  # {}\n"
      "  measured_on: {}  # on other devices, times are scaled by the ratio of the rates, which is assumed\n"
      "  measured_forward: {}  # {}\n",
      has_buckets ? "synthetic" : "synthetic-imagenet", std::max(1, step.samples),
      step.samples > 0 ? "measured: images of the first convolution"
                       : "not in the trace (record_shapes=True): samples count steps",
      job.device, ms(step.forward), step.has_assumed_passes ? "assumed: a third of the step" : "measured");
  if (has_buckets)
    text += buckets_text(step);
  else
    text += fmt::format("  measured_backward: {}  # measured\n", ms(step.backward));
  if (has_buckets && step.buffers > 0)
    text += fmt::format("  measured_buffers: {}B  # measured: of DDP's broadcasts before each forward pass\n",
                        step.buffers);
  if (step.update > 0)
    text +=
        fmt::format("  measured_update: {}  # measured: optimiser, copies and idle time after the exchange\n",
                    ms(step.update));
  if (step.is_launch_bound())
    text += fmt::format(
        "  # Measured under the profiler, {}: in which the processor launches a step.\n"
        "  measured_host: {}\n",
        job.has_step_time ? "shortened to the step's time without it" : "which slows launches",
        ms(step.host));
  if (step.is_launch_bound() && job.has_step_time && step.slowdown && *step.slowdown > 1.0)
    text += fmt::format(
        "  # Measured, too: kernels take {:.2f} times as long during communication. Not "
        "physics.overlap_slowdown,\n"
        "  # because the processor binds, which is not slower.\n",
        *step.slowdown);
  return text;
}

/// What the buckets had on the wire.
std::string compression_of(const std::string& dtype) {
  const std::string name = lower(dtype);
  if (name.find("bfloat16") != std::string::npos) return "bf16";
  if (name.find("half") != std::string::npos) return "fp16";
  return "none";
}

std::string sync_text(const trace::TracedJob& step) {
  std::string text = "sync:\n  preset: ddp\n";
  if (const std::string compression = compression_of(step.dtype); compression != "none")
    text += fmt::format("  compression: {}  # measured: buckets of {}\n", compression, step.dtype);
  return text;
}

std::string physics_text(const trace::TracedJob& step) {
  std::string text = "physics:\n";
  if (step.spread > 0)
    text += fmt::format("  spread: {:.5f}  # measured: coefficient of variation of the steps\n", step.spread);
  if (step.slowdown && *step.slowdown > 1.0 && !step.is_launch_bound())
    text += fmt::format(
        "  overlap_slowdown: {:.2f}  # measured: kernels that ran with and without communication\n",
        *step.slowdown);
  return text == "physics:\n" ? "" : text + '\n';
}

/// The two bounds of a launch-bound job. What the processor takes is not slower while messages move.
std::string variants_text(const ImportedJob& job) {
  const auto& step = job.step;
  if (!step.is_launch_bound() || job.has_step_time) return "";
  const std::string slowdown = step.slowdown && *step.slowdown > 1.0
                                   ? fmt::format(", physics.overlap_slowdown: {:.2f}", *step.slowdown)
                                   : "";
  return fmt::format(
      "\nvariants:\n"
      "  as-profiled: {{}}\n"
      "  gpu-alone: {{workload.measured_host: 0{}}}  # if the GPU never waited for its processor\n",
      slowdown);
}

}  // namespace

std::string catalogue_device(const std::string& gpu) {
  const std::string name = lower(gpu);
  std::string found;
  for (const auto& device : platforms::device_catalog())
    if (device.is_gpu && device.name.size() > found.size() && name.find(device.name) != std::string::npos)
      found = device.name;
  return found;
}

std::string imported_experiment_text(const ImportedJob& job, const std::string& platform_file) {
  std::string failed;
  for (const std::string& check : job.failed_checks) failed += "# check failed: " + check + '\n';
  return fmt::format(
      "# One step of {1}, written by `tandem import` from {2}.\n{8}"
      "#   tandem simulate {0}.yaml --workers 32 --within 25Gbps     on 32 of these GPUs\n"
      "#   tandem study {0}.yaml --vary compression --workers 32 --within 25Gbps,10Gbps\n"
      "platform: {3}  # one such GPU; --workers and --within make another platform\n"
      "\n{4}\n"
      "placement: {{servers: [server]}}  # unused without sync.over: server\n"
      "\n{5}\n{6}"
      "stop: {{rounds: 20}}\n{7}",
      job.name, job.gpu.empty() ? "a GPU" : job.gpu, job.source, platform_file, workload_text(job),
      sync_text(job.step), physics_text(job.step), variants_text(job), failed);
}

std::string imported_platform_text(const ImportedJob& job) {
  return platform_text(
      {.name = job.name, .sites = {{{.device = job.device, .count = 1}}}, .within = "25Gbps"});
}

}  // namespace tandem::cli
