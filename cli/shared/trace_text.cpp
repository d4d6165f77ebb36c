#include "cli/shared/trace_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>

namespace tandem::cli {
namespace {

using nlohmann::json;
using trace::Nanoseconds;

/// "95.664".
std::string ms(Nanoseconds time) {
  constexpr double nanoseconds_per_ms = 1e6;
  return fmt::format("{:.3f}", static_cast<double>(time) / nanoseconds_per_ms);
}

std::string ms(const std::optional<Nanoseconds>& time) { return time ? ms(*time) : "-"; }

double us(Nanoseconds time) {
  constexpr double nanoseconds_per_us = 1e3;
  return static_cast<double>(time) / nanoseconds_per_us;
}

json us(const std::optional<Nanoseconds>& time) { return time ? json(us(*time)) : json(nullptr); }

std::string marks_text(trace::StepMarks marks) {
  switch (marks) {
    case trace::StepMarks::profiler:
      return "by ProfilerStep";
    case trace::StepMarks::optimizer:
      return "by Optimizer.step";
    case trace::StepMarks::whole_trace:
      break;
  }
  return "without marks: the whole trace";
}

const trace::StepFindings* last_counted(const trace::RankFindings& findings) {
  const trace::StepFindings* last = nullptr;
  for (const auto& step : findings.steps)
    if (last == nullptr || step.is_inner || !last->is_inner) last = &step;
  return last;
}

std::string copies_text(const trace::Copies& copies) {
  if (copies.count == 0) return "-";
  const double seconds = static_cast<double>(std::max<Nanoseconds>(1, copies.time)) * 1e-9;
  const std::string rate =
      copies.bytes == 0 ? "size unknown"
                        : fmt::format("{:.1f} GB/s", static_cast<double>(copies.bytes) / seconds / 1e9);
  return fmt::format("{} B in {} ms ({}, {}{})", copies.bytes, ms(copies.time), rate,
                     copies.has_pageable ? "pageable"
                     : copies.has_pinned ? "pinned"
                                         : "memory unknown",
                     copies.in_compute_stream ? ", within the step" : "");
}

std::string loader_text(const trace::LoaderTime& loader) {
  return loader.calls == 0 ? "-" : fmt::format("{} ({})", ms(loader.time), ms(loader.gpu_idle));
}

json phases_document(Nanoseconds forward, Nanoseconds backward, Nanoseconds optimizer, Nanoseconds other) {
  return {{"forward_us", us(forward)},
          {"backward_us", us(backward)},
          {"optimizer_us", us(optimizer)},
          {"other_us", us(other)}};
}

json parts_document(const trace::WindowParts& parts) {
  return {{"computation_us", us(parts.computation)},
          {"exposed_communication_us", us(parts.exposed_communication)},
          {"memory_us", us(parts.memory)},
          {"idle_us", us(parts.idle)}};
}

json breakdown_document(const trace::Breakdown& breakdown) {
  const auto overlap = breakdown.overlap_percent();
  return {{"idle_us", us(breakdown.idle)},
          {"compute_us", us(breakdown.compute)},
          {"non_compute_us", us(breakdown.non_compute)},
          {"kernel_time_us", us(breakdown.kernel_time)},
          {"overlap_percent", overlap ? json(*overlap) : json(nullptr)}};
}

json step_document(const trace::StepFindings& step) {
  json one = {{"number", step.number},
              {"counts", step.is_inner},
              {"cpu_us", us(step.host_time)},
              {"window_us", us(step.window)},
              {"phases", phases_document(step.phases.forward, step.phases.backward, step.phases.optimizer,
                                         step.phases.other)},
              {"loader_us", us(step.loader.time)},
              {"loader_gpu_idle_us", us(step.loader.gpu_idle)},
              {"copied_bytes", step.copies.bytes},
              {"copying_us", us(step.copies.time)}};
  if (step.parts) one["parts"] = parts_document(*step.parts);
  return one;
}

}  // namespace

std::string printable(std::string text) {
  constexpr std::size_t longest = 100;
  if (text.size() > longest) text.replace(longest, std::string::npos, "...");
  std::ranges::replace_if(
      text, [](unsigned char c) { return std::iscntrl(c) != 0; }, '?');
  return text;
}

std::string summary_text(const trace::RankFindings& findings) {
  const auto& summary = findings.summary;
  std::string text = findings.file + ":";
  if (findings.rank)
    text += fmt::format(" rank {}{},", *findings.rank,
                        findings.world_size ? fmt::format(" of {}", *findings.world_size) : "");
  text += fmt::format(" {}, {} steps {}\n",
                      findings.device.empty() ? "GPU without a name" : printable(findings.device),
                      findings.steps.size(), marks_text(findings.marks));
  if (summary.window)
    text += fmt::format(
        "  step {} ms on the GPU, median of {} that count: computation {}, exposed communication {}, copies "
        "{}, "
        "idle {}\n",
        ms(*summary.window), summary.steps, ms(summary.parts.computation),
        ms(summary.parts.exposed_communication), ms(summary.parts.memory), ms(summary.parts.idle));
  if (summary.backward > 0)
    text += fmt::format(
        "  computation by phase, medians of all steps: forward {}, backward {}, optimiser {} ms{}\n",
        ms(summary.forward), ms(summary.backward), ms(summary.optimizer),
        summary.other > 0 ? fmt::format(", other {} ms", ms(summary.other)) : "");
  if (const auto& buffers = findings.buffers; buffers.bytes > 0)
    text += fmt::format("  buffers before each forward pass: {} B broadcast, {} ms on the GPU with waiting\n",
                        buffers.bytes, ms(buffers.time));
  text += "  " + trace::launch_verdict(findings.delays) + '\n';
  return text;
}

std::string steps_table(const trace::RankFindings& findings) {
  std::string text = fmt::format("\n{:>6} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10}  {:<17}  {}\n",
                                 "step", "CPU ms", "GPU ms", "forward", "backward", "optimiser", "exposed",
                                 "copies", "idle", "loader (GPU idle)", "copies to the GPU");
  for (const auto& step : findings.steps) {
    const auto part = [&](Nanoseconds trace::WindowParts::*one) {
      return step.parts ? ms((*step.parts).*one) : "-";
    };
    text += fmt::format("{:>6} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10}  {:<17}  {}{}\n",
                        step.number, ms(step.host_time), ms(step.window), ms(step.phases.forward),
                        ms(step.phases.backward), ms(step.phases.optimizer),
                        part(&trace::WindowParts::exposed_communication), part(&trace::WindowParts::memory),
                        part(&trace::WindowParts::idle), loader_text(step.loader), copies_text(step.copies),
                        step.is_inner ? "" : "  (does not count)");
  }
  return text;
}

std::string buckets_table(const trace::RankFindings& findings) {
  if (findings.buckets.empty()) return "";
  std::string text =
      fmt::format("\n{:>6} {:>12} {:>14} {:<12} {:>10} {:>10} {:>11} {:>10}  {}\n", "bucket", "elements",
                  "bytes", "type", "ready ms", "start ms", "all-reduce", "least", "computation before it");
  for (std::size_t i = 0; i < findings.buckets.size(); ++i) {
    const auto& bucket = findings.buckets[i];
    text += fmt::format("{:>6} {:>12} {:>14} {:<12} {:>10} {:>10} {:>11} {:>10}  {}\n", i, bucket.elements,
                        bucket.bytes, bucket.dtype.empty() ? "-" : printable(bucket.dtype), ms(bucket.ready),
                        ms(bucket.start), ms(bucket.duration), ms(bucket.least), ms(bucket.computation));
  }
  text +=
      "  times after the step's first event on the GPU; least over the steps: an upper bound of the "
      "transfer\n";
  return text;
}

std::string layers_table(const trace::RankFindings& findings) {
  const auto* step = last_counted(findings);
  if (step == nullptr) return "";
  std::string text =
      fmt::format("\n{:>6} {:>9} {:>9}  {:<44} {}\n", "node", "forward", "backward",
                  fmt::format("backward pass of step {}", step->number), "operator, inputs, module");
  std::size_t number = 0;
  for (const auto& layer : step->phases.layers)
    text += fmt::format("{:>6} {:>9} {:>9}  {:<44} {} {} {}\n", number++, ms(layer.forward_time),
                        ms(layer.backward_time), printable(layer.node), printable(layer.forward),
                        printable(layer.shapes), printable(layer.module));
  return text;
}

std::string breakdown_text(const trace::RankFindings& findings, BreakdownKind kind) {
  const bool is_exact = kind == BreakdownKind::exact;
  const auto& breakdown = is_exact ? findings.exact : findings.hta;
  const auto overlap = breakdown.overlap_percent();
  return fmt::format(
      "\nbreakdown ({}), us: idle {:.0f}, compute {:.0f}, non-compute {:.0f}, kernel time {:.0f}, {}\n",
      is_exact ? "exact, all steps" : "as HolisticTraceAnalysis, without the last step", us(breakdown.idle),
      us(breakdown.compute), us(breakdown.non_compute), us(breakdown.kernel_time),
      overlap ? fmt::format("{:.2f} % of the communication hidden", *overlap) : "no communication");
}

std::string match_table(const trace::Match& match, const std::vector<trace::RankFindings>& findings) {
  std::string text = fmt::format("\n{:<18} {:>12} {:>12} {:>10} {:>12}  {}\n", "collective", "elements",
                                 "transfer ms", "late rank", "ends differ", "waiting ms, by rank");
  const auto rank_of = [&](std::size_t index) {
    return std::to_string(findings[index].rank.value_or(static_cast<int>(index)));
  };
  for (const auto& one : match.collectives) {
    text += fmt::format("{:<18} {:>12} {:>12} {:>10} {:>12} ", trace::name_of(one.kind), one.elements,
                        ms(one.transfer), rank_of(one.late), ms(one.ends_differ));
    for (const auto duration : one.durations) text += ' ' + ms(duration - one.transfer);
    text += '\n';
  }
  text += "  communication by rank:";
  for (std::size_t i = 0; i < match.communication.size(); ++i)
    text += fmt::format("{} rank {}: {}", i == 0 ? "" : ",", rank_of(i), ms(match.communication[i]));
  return text + fmt::format(" ms; transfer {} ms at most, the rest is waiting\n", ms(match.least));
}

std::string checks_text(const std::vector<trace::Check>& checks, bool only_failed) {
  std::string text;
  for (const auto& check : checks)
    if (!only_failed || check.verdict == trace::Check::Verdict::fails)
      text += fmt::format("  {:<6}  {}: {}\n", trace::name_of(check.verdict), check.subject, check.figure);
  return text.empty() ? text : "\nchecks\n" + text;
}

json findings_document(const trace::RankFindings& findings, const std::vector<trace::Check>& checks,
                       const std::vector<trace::Refusal>& refusals) {
  const auto& summary = findings.summary;
  json document = {
      {"file", findings.file},
      {"rank", findings.rank ? json(*findings.rank) : json(nullptr)},
      {"world_size", findings.world_size ? json(*findings.world_size) : json(nullptr)},
      {"device", printable(findings.device)},
      {"step_us", us(summary.window)},
      {"steps_that_count", summary.steps},
      {"parts", parts_document(summary.parts)},
      {"phases", phases_document(summary.forward, summary.backward, summary.optimizer, summary.other)},
      {"launches", trace::launch_verdict(findings.delays)},
      {"prompt_share", findings.delays.prompt_share()},
      {"buffer_bytes", findings.buffers.bytes},
      {"buffers_us", us(findings.buffers.time)},
      {"breakdown_exact", breakdown_document(findings.exact)},
      {"breakdown_hta", breakdown_document(findings.hta)},
      {"overlap_slowdown", findings.slowdown ? json(findings.slowdown->factor) : json(nullptr)}};
  for (const char* list : {"steps", "buckets", "checks", "refusals"}) document[list] = json::array();
  for (const auto& step : findings.steps) document["steps"].push_back(step_document(step));
  for (const auto& bucket : findings.buckets)
    document["buckets"].push_back({{"elements", bucket.elements},
                                   {"bytes", bucket.bytes},
                                   {"type", printable(bucket.dtype)},
                                   {"ready_us", us(bucket.ready)},
                                   {"start_us", us(bucket.start)},
                                   {"all_reduce_us", us(bucket.duration)},
                                   {"least_us", us(bucket.least)},
                                   {"computation_us", us(bucket.computation)}});
  for (const auto& check : checks)
    document["checks"].push_back(
        {{"subject", check.subject}, {"figure", check.figure}, {"verdict", trace::name_of(check.verdict)}});
  for (const auto& refusal : refusals)
    document["refusals"].push_back(
        {{"name", refusal.name}, {"because", refusal.because}, {"remedy", refusal.remedy}});
  return document;
}

json match_document(const trace::Match& match) {
  json document = {{"refused", match.refused},
                   {"transfer_us", us(match.least)},
                   {"ends_differ_us", us(match.ends_differ)},
                   {"communication_us", json::array()},
                   {"collectives", json::array()}};
  for (const auto time : match.communication) document["communication_us"].push_back(us(time));
  for (const auto& one : match.collectives)
    document["collectives"].push_back({{"kind", trace::name_of(one.kind)},
                                       {"elements", one.elements},
                                       {"transfer_us", us(one.transfer)},
                                       {"late", one.late},
                                       {"ends_differ_us", us(one.ends_differ)}});
  return document;
}

}  // namespace tandem::cli
