#include "workloads/trace/checks.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <set>
#include <sstream>
#include <utility>

namespace tandem::trace {
namespace {

using Verdict = Check::Verdict;

Verdict verdict_of(bool holds) { return holds ? Verdict::holds : Verdict::fails; }

std::string fixed(double number, int decimals) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(decimals) << number;
  return text.str();
}

std::string milliseconds(Nanoseconds time) {
  constexpr double nanoseconds_per_ms = 1e6;
  return fixed(static_cast<double>(time) / nanoseconds_per_ms, 3) + " ms";
}

std::string percent(double share) { return fixed(100 * share, 2) + " %"; }

double ratio(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

Check inner_steps(const RankFindings& findings) {
  constexpr std::size_t enough = 3;
  const auto& summary = findings.summary;
  const auto inner = static_cast<std::size_t>(
      std::ranges::count_if(findings.steps, [](const StepFindings& step) { return step.is_inner; }));
  std::string figure = std::to_string(inner);
  if (inner == 1 && summary.window) figure += ", of " + milliseconds(*summary.window);
  if (inner > 1 && summary.window)
    figure += ", from " + milliseconds(summary.shortest) + " to " + milliseconds(summary.longest);
  if (inner < enough) figure += "; at least 3 are needed to know the spread: record 6 steps";
  return {"steps that count", figure, verdict_of(inner >= enough)};
}

/// The CPU's steps and the GPU's windows, in the mean of the inner steps.
std::vector<Check> windows_against_marks(const RankFindings& findings) {
  double windows = 0, marks = 0;
  for (const auto& step : findings.steps)
    if (step.is_inner) {
      windows += static_cast<double>(*step.window);
      marks += static_cast<double>(step.host_time);
    }
  if (windows == 0 || marks == 0 || findings.marks != StepMarks::profiler) return {};
  constexpr double close = 0.003;
  const double difference = windows / marks - 1;
  std::string figure = "differ by " + percent(difference);
  if (std::abs(difference) > close) figure += ": the CPU runs ahead, the GPU's steps count";
  // Windows are made for such a difference, so it is shown, and is no failure.
  return {{"steps on the GPU against ProfilerStep, which is on the CPU", figure,
           std::abs(difference) <= close ? Verdict::holds : Verdict::shown}};
}

std::vector<Check> sums(const RankFindings& findings) {
  Nanoseconds windows = 0, parts = 0, phases = 0;
  for (const auto& step : findings.steps) {
    if (!step.is_inner) continue;
    const WindowParts& own = *step.parts;
    const Nanoseconds rest = own.exposed_communication + own.memory + own.idle;
    windows += *step.window;
    parts += own.computation + rest;
    phases += step.phases.forward + step.phases.backward + step.phases.optimizer + step.phases.other + rest;
  }
  if (windows == 0) return {};
  constexpr double close = 0.01;
  const double difference = static_cast<double>(phases) / static_cast<double>(windows) - 1;
  std::string figure = "differ by " + percent(difference);
  if (findings.compute_streams > 1)
    figure += "; " + std::to_string(findings.compute_streams) + " streams compute at once";
  return {{"parts of the GPU's steps against the steps", "differ by " + milliseconds(parts - windows),
           verdict_of(parts == windows)},
          {"forward, backward, optimiser and the rest against the steps", figure,
           verdict_of(std::abs(difference) <= close)}};
}

std::vector<Check> backward_nodes(const RankFindings& findings) {
  std::size_t inside = 0, between = 0;
  Nanoseconds other = 0;
  for (const auto& step : findings.steps) {
    inside += step.phases.kernels_in_nodes;
    between += step.phases.kernels_between_nodes;
    other += step.phases.other;
  }
  if (inside + between == 0) return {};
  return {{"kernels of the backward pass within a node of autograd",
           percent(ratio(inside, inside + between)) + ", " + std::to_string(between) + " between nodes; " +
               milliseconds(other) + " of other threads' kernels during and after it",
           verdict_of(between == 0)}};
}

std::vector<Check> bucket_checks(const RankFindings& findings) {
  if (findings.buckets.empty()) return {};
  std::int64_t elements = 0;
  bool is_sized = true;
  for (const auto& bucket : findings.buckets) {
    elements += bucket.elements;
    is_sized = is_sized && bucket.bytes > 0;
  }
  std::string figure =
      std::to_string(findings.buckets.size()) + " of " + std::to_string(elements) + " elements together";
  if (!findings.has_equal_buckets) figure += "; not the same in all steps";
  if (!is_sized) figure += "; sizes are missing: record with record_shapes=True";
  std::vector<Check> checks = {{"DDP buckets: their elements are the parameters of the model", figure,
                                verdict_of(findings.has_equal_buckets && is_sized)}};
  std::size_t kernels = 0, late = 0;
  for (const auto& step : findings.steps)
    for (const auto& [collective, computation] : step.buckets) {
      if (!collective.kernel || !collective.ready) continue;
      ++kernels;
      if (*collective.ready > collective.kernel->begin) ++late;
    }
  if (kernels > 0)
    checks.push_back({"buckets are ready before their all-reduce begins",
                      std::to_string(kernels - late) + " of " + std::to_string(kernels),
                      verdict_of(late == 0)});
  return checks;
}

Check launches(const RankFindings& findings) {
  const auto& delays = findings.delays;
  const auto& exact = findings.exact;
  const double idle =
      exact.kernel_time == 0 ? 0 : static_cast<double>(exact.idle) / static_cast<double>(exact.kernel_time);
  std::string figure = percent(delays.prompt_share()) +
                       " of the kernels begin within 25 us of their launch, " + percent(delays.late_share()) +
                       " are launched to an empty stream, the GPU idles " + percent(idle) + ": " +
                       launch_verdict(delays);
  if (delays.early > 0) figure += "; " + std::to_string(delays.early) + " begin before their launch";
  return {"launches", figure, Verdict::shown};
}

std::vector<Check> copies_and_loader(const RankFindings& findings) {
  std::vector<Check> checks;
  const auto with_copies =
      std::ranges::count_if(findings.steps, [](const StepFindings& step) { return step.copies.bytes > 0; });
  if (with_copies > 0)
    checks.push_back(
        {"copies to the GPU",
         "in " + std::to_string(with_copies) + " of " + std::to_string(findings.steps.size()) + " steps",
         verdict_of(with_copies == std::ssize(findings.steps))});
  const auto with_loader =
      std::ranges::count_if(findings.steps, [](const StepFindings& step) { return step.loader.calls == 1; });
  if (with_loader > 0)
    checks.push_back(
        {"one call of the loader per step",
         "in " + std::to_string(with_loader) + " of " + std::to_string(findings.steps.size()) + " steps",
         verdict_of(with_loader == std::ssize(findings.steps))});
  return checks;
}

/// "the text ends early, at byte 12 (the file packed by gzip is truncated)".
std::string early_end(const ReadingReport& report) {
  return "the text ends early, at byte " + std::to_string(*report.cut_at_byte) +
         (report.cut_because.empty() ? "" : " (" + report.cut_because + ')');
}

/// "2 of 5 steps are not whole".
std::string broken_steps(const RankFindings& findings) {
  const auto broken = std::ranges::count(findings.steps, 0, &StepFindings::begin);
  return std::to_string(broken) + " of " + std::to_string(findings.steps.size()) + " steps are not whole";
}

Check records(const Trace& trace, const RankFindings& findings) {
  const auto& report = trace.report;
  std::string figure = std::to_string(findings.lost_records) + " of " +
                       std::to_string(findings.device_events) + " of the GPU lost";
  if (report.unusable_events > 0)
    figure += "; " + std::to_string(report.unusable_events) + " events without a usable name or time";
  if (report.first_broken_byte)
    figure += "; text that is not JSON in " + std::to_string(report.broken_places) +
              " places, first at byte " + std::to_string(*report.first_broken_byte);
  if (report.cut_at_byte) figure += "; " + early_end(report) + "; " + broken_steps(findings);
  return {"records", figure,
          verdict_of(findings.lost_records == 0 && report.unusable_events == 0 && !report.first_broken_byte &&
                     !report.cut_at_byte)};
}

Check slowdown(const RankFindings& findings) {
  if (!findings.slowdown)
    return {"kernels slower during communication", "no kernel of at least 20 us ran both ways",
            Verdict::shown};
  return {"kernels slower during communication",
          fixed(findings.slowdown->factor, 2) + " times, of " + std::to_string(findings.slowdown->kernels) +
              " kernels that ran both ways",
          Verdict::shown};
}

constexpr const char* recording =
    "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], schedule=schedule(wait=5, warmup=3, "
    "active=6), record_shapes=True)";

/// Numbers of the CPU's events are consecutive; a missing number was left out of the file.
bool is_sampled(const ReadingReport& report) {
  constexpr double complete = 0.99;
  if (report.numbered_events < 2) return false;
  const auto all = static_cast<double>(report.last_number) - static_cast<double>(report.first_number) + 1;
  return static_cast<double>(report.numbered_events) < complete * all;
}

/// Whether a step counts and has all parts. Of a file that ends early, all steps may lack the same part: one
/// that a file may do without if it is whole.
bool has_whole_step(const RankFindings& findings) {
  const auto is_missing = [](const Bucket& bucket) {
    return bucket.collective.group_size > 1 && !bucket.collective.kernel;
  };
  return std::ranges::any_of(findings.steps, [&](const StepFindings& step) {
    return step.is_inner && step.phases.forward > 0 && step.phases.backward > 0 &&
           step.phases.optimizer > 0 && std::ranges::none_of(step.buckets, is_missing);
  });
}

void refuse_records(const Trace& trace, const RankFindings& findings, std::vector<Refusal>& refusals) {
  const auto& report = trace.report;
  if (is_sampled(report))
    refusals.push_back({"sampled",
                        "the file has " + std::to_string(report.numbered_events) + " of " +
                            std::to_string(report.last_number - report.first_number + 1) +
                            " events of the CPU: the others were filtered out",
                        "Import the file as the profiler wrote it."});
  constexpr double most_lost = 0.01;
  if (ratio(findings.lost_records, findings.device_events) > most_lost)
    refusals.push_back(
        {"lost records",
         percent(ratio(findings.lost_records, findings.device_events)) +
             " of the GPU's events have no launch, no kernel or no time",
         "Record after a warm-up of the profiler (schedule(wait=5, warmup=3, active=6)), and call "
         "torch.cuda.synchronize() before it stops."});
}

void refuse_parallelism(const RankFindings& findings, bool has_fsdp, std::vector<Refusal>& refusals) {
  const auto count = [&](CollectiveKind kind) {
    return std::ranges::count_if(findings.collectives,
                                 [&](const Collective& one) { return one.kind == kind; });
  };
  const auto sharded = count(CollectiveKind::reduce_scatter);
  if (has_fsdp || sharded > 0)
    refusals.push_back({"FSDP",
                        "the model is sharded: " + std::to_string(sharded) + " reduce-scatters and " +
                            std::to_string(count(CollectiveKind::all_gather)) + " all-gathers",
                        "Record the job under DistributedDataParallel; one GPU is enough."});
  std::string between_parts;
  for (const auto kind : {CollectiveKind::all_to_all, CollectiveKind::point_to_point})
    if (const auto times = count(kind); times > 0)
      between_parts +=
          (between_parts.empty() ? "" : " and ") + std::to_string(times) + " times " + name_of(kind);
  if (!between_parts.empty())
    refusals.push_back({"not data-parallel", between_parts + " between parts of the model",
                        "Record the data-parallel part of the job alone."});
  std::set<std::string> groups;
  for (const auto& step : findings.steps)
    for (const auto& bucket : step.buckets)
      if (bucket.collective.group_size != 1) groups.insert(bucket.collective.group);
  if (groups.size() > 1)
    refusals.push_back({"several groups",
                        "the backward pass sums in " + std::to_string(groups.size()) + " process groups",
                        "Record a job whose gradients are summed by one group."});
}

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "passed";
    case Verdict::fails:
      return "failed";
    case Verdict::shown:
      break;
  }
  return "";
}

std::string launch_verdict(const LaunchDelays& delays) {
  constexpr double mostly = 0.5, hardly = 0.1;
  const double share = delays.prompt_share();
  return share >= mostly ? "launch-bound" : share >= hardly ? "partly launch-bound" : "not launch-bound";
}

std::vector<Check> checks_of(const Trace& trace, const RankFindings& findings) {
  std::vector<Check> checks = {inner_steps(findings)};
  for (auto more : {windows_against_marks(findings), sums(findings), backward_nodes(findings),
                    bucket_checks(findings), copies_and_loader(findings)})
    for (auto& check : more) checks.push_back(std::move(check));
  checks.push_back(launches(findings));
  checks.push_back(slowdown(findings));
  checks.push_back(records(trace, findings));
  return checks;
}

std::vector<Refusal> refusals_of(const Trace& trace, const RankFindings& findings) {
  if (trace.report.is_empty_list)
    return {{"no Kineto", "the file is an empty list: this PyTorch was built without Kineto",
             "Record with PyTorch from pytorch.org; Debian's python3-torch cannot write traces."}};
  if (trace.report.cut_at_byte && !has_whole_step(findings))
    return {{"truncated", early_end(trace.report) + ": no step is whole",
             "Copy the file again, or wait until the job has ended."}};
  if (trace.device.empty())
    return {{"no GPU", "the trace has no events of a GPU",
             std::string("Record on a machine with a GPU, with ") + recording + "."}};
  std::vector<Refusal> refusals;
  refuse_records(trace, findings, refusals);
  const bool has_fsdp = std::ranges::any_of(trace.host, [&](const HostEvent& event) {
    const std::string& name = trace.text(event.name);
    return name.starts_with("FullyShardedDataParallel") || name.starts_with("FSDP::");
  });
  refuse_parallelism(findings, has_fsdp, refusals);
  const bool trains = std::ranges::any_of(
      findings.steps, [](const StepFindings& step) { return step.phases.backward_pass.has_value(); });
  if (!trains)
    refusals.push_back({"no training", "no step has a backward pass",
                        std::string("Record whole steps of the training loop, with ") + recording +
                            " and prof.step() after each step."});
  return refusals;
}

Check check_of(const Match& match) {
  constexpr double nanoseconds_per_us = 1e3;
  return {"ends of a collective on all ranks",
          "within " + fixed(static_cast<double>(match.ends_differ) / nanoseconds_per_us, 3) + " us, of " +
              std::to_string(match.collectives.size()) + " collectives",
          verdict_of(match.refused.empty() && !match.collectives.empty())};
}

std::vector<Refusal> refusals_of(const Match& match) {
  if (match.refused.empty()) return {};
  return {{"ranks do not match", match.refused,
           "Give complete traces of the same steps, of ranks of one host, whose clock is one."}};
}

}  // namespace tandem::trace
