// What traces say about a job: every figure of the stored traces that is known from elsewhere, and small made
// traces where each figure is known by construction.
#include "workloads/trace/findings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "tests/workloads/trace/made_trace.hpp"
#include "workloads/trace/checks.hpp"
#include "workloads/trace/timeline.hpp"
#include "workloads/trace/traced_job.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using trace::Breakdown;
using trace::Nanoseconds;
using trace::RankFindings;
using trace::Trace;

/// In whole microseconds, rounded.
std::int64_t us(Nanoseconds time) { return (time + (time < 0 ? -500 : 500)) / 1000; }

std::vector<std::int64_t> us_of(const Breakdown& found) {
  return {us(found.idle), us(found.compute), us(found.non_compute), us(found.kernel_time)};
}

std::vector<Trace> stored(const std::string& name) {
  const std::string path = stored_trace(name);
  return path.empty() ? std::vector<Trace>{} : trace::read_inputs(path, {}).traces;
}

#define TANDEM_STORED(variable, name) \
  auto variable = stored(name);       \
  if ((variable).empty()) GTEST_SKIP() << "the stored traces are absent"

enum class Mode { hta, hta_with_last, exact };

struct KnownBreakdown {
  std::string file;
  Mode mode;
  std::vector<std::int64_t> us;  ///< idle, compute, non-compute, kernel time
  std::optional<double> overlap_percent;
};

// HolisticTraceAnalysis, run on the same files.
std::vector<KnownBreakdown> known_breakdowns() {
  const std::string a100 = "ddp_resnet50_a100_rank0of2.json.gz", v100 = "ddp_resnet50_v100_rank0of1.json.gz",
                    dlrm = "dlrm_a100_rank3of8.json.gz", vgg = "vgg13_h100_1gpu.json.gz";
  return {{a100, Mode::hta, {338781, 75169, 21636, 435586}, 14.31},
          {a100, Mode::hta_with_last, {506512, 113012, 41026, 660550}, 15.14},
          {a100, Mode::exact, {503051, 115656, 41844, 660551}, 15.61},
          {v100, Mode::hta, {10113, 372150, 2371, 384634}, {}},
          {v100, Mode::exact, {7575, 468154, 4301, 480029}, {}},
          {dlrm, Mode::hta, {62119, 234760, 86525, 383404}, 47.03},
          {dlrm, Mode::hta_with_last, {76007, 281336, 107251, 464594}, 46.24},
          {dlrm, Mode::exact, {76007, 281336, 107251, 464594}, 46.24},
          {"sampled_rank-0.json.gz", Mode::hta, {321378, 106252, 172428, 600058}, 11.81},
          {"sampled_rank-1.json.gz", Mode::hta, {328671, 135548, 136455, 600674}, 20.05},
          {vgg, Mode::hta, {655, 346340, 26, 347021}, {}},
          {vgg, Mode::exact, {655, 346340, 26, 347021}, {}},
          {"cuda13_h100_before_fix.json", Mode::hta, {0, -1, 0, -1}, {}},
          {"cuda13_h100_before_fix.json", Mode::exact, {0, 0, 0, 0}, {}},
          {"large_integer.json.gz", Mode::exact, {0, 0, 50, 50}, 0.0}};
}

TEST(TraceBreakdown, EqualsHolisticTraceAnalysisToTheMicrosecond) {
  std::string file;
  std::vector<Trace> traces;
  for (const auto& known : known_breakdowns()) {
    SCOPED_TRACE(known.file);
    if (known.file != std::exchange(file, known.file)) traces = stored(file);
    if (traces.empty()) GTEST_SKIP() << "the stored traces are absent";
    const auto& one = traces.front();
    const auto steps = trace::find_steps(one);
    const Breakdown found = known.mode == Mode::exact
                                ? trace::exact_breakdown(one)
                                : trace::hta_breakdown(one, steps, known.mode == Mode::hta_with_last);
    EXPECT_EQ(us_of(found), known.us);
    ASSERT_EQ(found.overlap_percent().has_value(), known.overlap_percent.has_value());
    if (known.overlap_percent) {
      EXPECT_NEAR(*found.overlap_percent(), *known.overlap_percent, 0.005);
    }
  }
}

TEST(TraceBreakdown, TypesOfKernelsEqualThoseOfHolisticTraceAnalysis) {
  TANDEM_STORED(traces, "ddp_resnet50_a100_rank0of2.json.gz");
  const auto found = trace::hta_breakdown(traces.front(), trace::find_steps(traces.front()), false);
  const Nanoseconds exposed = found.communication - found.overlapped;
  EXPECT_EQ(us(found.compute - found.overlapped), 71'696);
  EXPECT_EQ(us(found.overlapped), 3'473);
  EXPECT_EQ(us(exposed), 20'621 + 184) << "alone, and during copies";
  EXPECT_EQ(us(found.non_compute - exposed), 831) << "copies alone";
}

std::vector<std::int64_t> phases_in_us(const trace::StepFindings& step) {
  return {us(step.phases.forward), us(step.phases.backward), us(step.phases.optimizer)};
}

std::vector<std::int64_t> parts_in_us(const trace::StepFindings& step) {
  return {us(*step.window), us(step.parts->computation), us(step.parts->exposed_communication),
          us(step.parts->memory), us(step.parts->idle)};
}

template <class Value>
std::vector<std::int64_t> each_bucket(const RankFindings& findings, const Value& value) {
  std::vector<std::int64_t> values;
  for (const auto& bucket : findings.buckets) values.push_back(value(bucket));
  return values;
}

std::size_t nodes_named(const trace::StepFindings& step, const std::string& part) {
  return static_cast<std::size_t>(std::ranges::count_if(step.phases.layers, [&](const trace::Layer& layer) {
    return layer.node.find(part) != std::string::npos;
  }));
}

TEST(TraceFindings, DdpOnAnA100ThatWaitsForItsLaunches) {
  TANDEM_STORED(traces, "ddp_resnet50_a100_rank0of2.json.gz");
  const auto findings = trace::analyse(traces.front());
  EXPECT_EQ(findings.device, "NVIDIA A100-PG509-200");
  ASSERT_EQ(findings.steps.size(), 3U);
  const auto& step = findings.steps[1];
  EXPECT_EQ(us(step.host_time), 219727);
  EXPECT_THAT(parts_in_us(step), ElementsAre(219732, 38429, 10540, 760, 170003));
  EXPECT_THAT(phases_in_us(step), ElementsAre(12658, 25080, 692));
  EXPECT_EQ(step.phases.layers.size(), 342U);
  EXPECT_EQ(nodes_named(step, "ConvolutionBackward0"), 53U);
  EXPECT_EQ(nodes_named(step, "CudnnBatchNormBackward0"), 53U);
  EXPECT_EQ(nodes_named(step, "ReluBackward0"), 49U);
  EXPECT_EQ(step.phases.accumulated_gradients, 161U);
  EXPECT_EQ(step.phases.kernels_between_nodes, 0U);
  const auto bytes = each_bucket(findings, [](const auto& bucket) { return bucket.bytes; });
  EXPECT_THAT(bytes, ElementsAre(8196000, 31502336, 26255360, 26550272, 9724160));
  const auto least = each_bucket(findings, [](const auto& bucket) { return us(*bucket.least); });
  EXPECT_THAT(least, ElementsAre(2521, 2424, 2369, 2161, 1690));
  const auto computation = each_bucket(findings, [](const auto& bucket) { return us(bucket.computation); });
  EXPECT_THAT(computation, ElementsAre(62, 1535, 1417, 5279, 16859));
  const Nanoseconds begin = trace::find_steps(traces.front()).all[1].host.begin;
  std::vector<std::int64_t> ready, durations;
  for (const auto& bucket : step.buckets) {
    ready.push_back(us(*bucket.collective.ready - begin));
    durations.push_back(us(bucket.collective.kernel->duration()));
  }
  EXPECT_THAT(ready, ElementsAre(106846, 115185, 121326, 146992, 187839));
  EXPECT_THAT(durations, ElementsAre(2521, 2674, 2622, 2417, 2028));
  const auto broadcasts =
      std::ranges::count(findings.collectives, trace::CollectiveKind::broadcast, &trace::Collective::kind);
  EXPECT_EQ(broadcasts, 6);
  EXPECT_NEAR(findings.delays.prompt_share(), 0.741, 0.0005);
  EXPECT_EQ(trace::launch_verdict(findings.delays), "launch-bound");
  ASSERT_TRUE(findings.slowdown);
  EXPECT_EQ(findings.slowdown->kernels, 29U);
  EXPECT_NEAR(findings.slowdown->factor, 1.22, 0.005);
  EXPECT_THAT(trace::refusals_of(traces.front(), findings), IsEmpty());
}

TEST(TraceFindings, DdpOnAV100WhoseCpuRunsAhead) {
  TANDEM_STORED(traces, "ddp_resnet50_v100_rank0of1.json.gz");
  const auto findings = trace::analyse(traces.front());
  std::vector<std::int64_t> cpu, gpu;
  for (const auto& step : findings.steps) {
    cpu.push_back(us(step.host_time));
    if (step.window) gpu.push_back(us(*step.window));
  }
  EXPECT_THAT(cpu, ElementsAre(35116, 72077, 95697, 95551, 95699));
  EXPECT_THAT(gpu, ElementsAre(97664, 95737, 95571, 95664));
  EXPECT_EQ(us(*findings.summary.window), 95664);
  EXPECT_EQ(us(findings.summary.forward), 29879);
  EXPECT_EQ(us(findings.summary.backward), 62726);
  EXPECT_EQ(us(findings.summary.optimizer), 1105);
  const auto computation = each_bucket(findings, [](const auto& bucket) { return us(bucket.computation); });
  EXPECT_THAT(computation, ElementsAre(93, 3757, 4831, 14797, 39227));
  const auto bytes = each_bucket(findings, [](const auto& bucket) { return bucket.bytes; });
  EXPECT_THAT(bytes, ElementsAre(8196000, 31502336, 26255360, 26550272, 9724160));
  EXPECT_NEAR(findings.delays.prompt_share(), 0.001, 0.0005);
  EXPECT_EQ(trace::launch_verdict(findings.delays), "not launch-bound");
  EXPECT_THAT(trace::refusals_of(traces.front(), findings), IsEmpty());
}

TEST(TraceFindings, DlrmIsRefusedAsDataParallel) {
  TANDEM_STORED(traces, "dlrm_a100_rank3of8.json.gz");
  const auto findings = trace::analyse(traces.front());
  const auto elements = each_bucket(findings, [](const auto& bucket) { return bucket.elements; });
  EXPECT_THAT(elements, ElementsAre(45310188, 267040, 4432073));
  std::vector<std::int64_t> gpu;
  for (const auto& step : findings.steps)
    if (step.window) gpu.push_back(us(*step.window));
  EXPECT_THAT(gpu, ElementsAre(75467, 76989, 76247, 76786, 78520));
  ASSERT_TRUE(findings.slowdown);
  EXPECT_EQ(findings.slowdown->kernels, 48U);
  EXPECT_NEAR(findings.slowdown->factor, 1.10, 0.005);
  for (const auto& step : findings.steps) {
    EXPECT_GE(us(step.loader.time), 67);
    EXPECT_LE(us(step.loader.time), 73);
  }
  const auto refusals = trace::refusals_of(traces.front(), findings);
  ASSERT_EQ(refusals.size(), 1U);
  EXPECT_EQ(refusals.front().name, "not data-parallel");
}

TEST(TraceFindings, EightRanksOfDlrm) {
  TANDEM_STORED(sorted, "dlrm_v100_8ranks.tar.gz");
  std::ranges::sort(sorted, {}, [](const Trace& one) { return *one.metadata.rank; });
  std::vector<RankFindings> findings;
  std::vector<double> overlaps;
  for (const auto& one : sorted) {
    overlaps.push_back(std::round(*trace::exact_breakdown(one).overlap_percent() * 100) / 100);
    findings.push_back(trace::analyse(one));
  }
  EXPECT_THAT(overlaps, ElementsAre(4.50, 2.47, 7.88, 3.31, 0.56, 0.64, 7.56, 9.51));
  EXPECT_THAT(us_of(findings.front().exact), ElementsAre(6419, 1034, 5556, 13009));
  EXPECT_EQ(us(findings.front().steps.front().loader.time), 1101);
  const auto match = trace::compare_ranks(sorted, findings);
  EXPECT_EQ(match.refused, "");
  EXPECT_EQ(us(match.least), 217);
  EXPECT_EQ(us(match.ends_differ), 7);
  std::vector<std::int64_t> communication, sums;
  for (const auto time : match.communication) communication.push_back(us(time));
  EXPECT_THAT(communication, ElementsAre(5798, 11336, 3492, 9774, 6587, 6251, 3558, 1746));
  std::vector<std::size_t> late;
  for (const auto& one : match.collectives) {
    late.push_back(one.late);
    if (one.kind == trace::CollectiveKind::all_reduce) sums.push_back(one.elements);
  }
  EXPECT_THAT(late, ElementsAre(7, 7, 7, 7, 7, 5, 5, 4));
  EXPECT_THAT(sums, ElementsAre(394241, 112, 226960));
}

TEST(TraceFindings, SampledRanksAreRefused) {
  TANDEM_STORED(traces, "sampled_rank-0.json.gz");
  TANDEM_STORED(second, "sampled_rank-1.json.gz");
  traces.push_back(std::move(second.front()));
  const std::vector<RankFindings> findings = {trace::analyse(traces[0]), trace::analyse(traces[1])};
  EXPECT_EQ(trace::refusals_of(traces[0], findings[0]).front().name, "sampled");
  EXPECT_EQ(trace::refusals_of(trace::compare_ranks(traces, findings)).size(), 1U);
}

TEST(TraceFindings, LoadersOfPyTorch1_9) {
  TANDEM_STORED(alone, "resnet50_loader0_steps6-7.json.gz");
  TANDEM_STORED(four, "resnet50_loader4_steps6-7.json.gz");
  const auto slow = trace::analyse(alone.front()), fast = trace::analyse(four.front());
  EXPECT_EQ(us(slow.steps[0].host_time), 173992);
  EXPECT_EQ(us(slow.steps[0].loader.time), 68777);
  EXPECT_EQ(us(slow.steps[1].loader.time), 73418);
  EXPECT_EQ(us(fast.steps[0].loader.time), 83);
  EXPECT_EQ(us(fast.steps[1].loader.time), 87);
  EXPECT_EQ(us(fast.steps[1].host_time), 126824);
  const auto& copies = slow.steps[0].copies;
  EXPECT_TRUE(copies.has_pageable);
  EXPECT_EQ(copies.bytes + slow.steps[1].copies.bytes, 38535680);
  EXPECT_EQ(us(copies.time + slow.steps[1].copies.time), 3878);
  EXPECT_EQ(slow.steps[0].phases.accumulated_gradients, 161U);
  EXPECT_THAT(trace::refusals_of(alone.front(), slow), IsEmpty());
}

TEST(TraceFindings, IterationsWithoutProfilerSteps) {
  TANDEM_STORED(vgg, "vgg13_h100_1gpu.json.gz");
  TANDEM_STORED(toy, "toy_gp100_no_steps.json.gz");
  TANDEM_STORED(rocm, "rocm_mi250_toy.json.gz");
  const auto one = trace::analyse(vgg.front());
  ASSERT_EQ(one.steps.size(), 1U);
  EXPECT_EQ(one.marks, trace::StepMarks::optimizer);
  // Without the memsets, of 26 us.
  EXPECT_THAT(phases_in_us(one.steps.front()), ElementsAre(110096, 232696, 3552));
  EXPECT_EQ(one.steps.front().phases.layers.size(), 65U);
  const auto& layers = one.steps.front().phases.layers;
  const auto last = std::ranges::find(layers, "nn.Module: Linear_0", &trace::Layer::module);
  ASSERT_NE(last, layers.end());
  EXPECT_EQ(last->shapes, "[[4096],[512,25088],[25088,4096],[],[]]");
  EXPECT_EQ(trace::analyse(toy.front()).steps.size(), 5U);
  EXPECT_THAT(phases_in_us(trace::analyse(rocm.front()).steps.front()), ElementsAre(54, 48, 8));
}

TEST(TraceFindings, FilesWithoutGpuOrTrainingAreRefused) {
  for (const auto& [name, refusal] :
       std::vector<std::pair<std::string, std::string>>{{"cpu_only_gloo_rank34of300.json.gz", "no GPU"},
                                                        {"no_distributed_info_cpu_only.json.gz", "no GPU"},
                                                        {"cuda13_h100_before_fix.json", "no training"},
                                                        {"large_integer.json.gz", "lost records"},
                                                        {"triton_example.json.gz", "sampled"}}) {
    SCOPED_TRACE(name);
    TANDEM_STORED(traces, name);
    const auto refusals = trace::refusals_of(traces.front(), trace::analyse(traces.front()));
    ASSERT_FALSE(refusals.empty());
    EXPECT_EQ(refusals.front().name, refusal);
  }
}

// ---- Made traces ----

MadeTrace four_steps() {
  MadeTrace made;
  for (int step = 0; step < 4; ++step) made.step(step, 1000 + 100 * step);
  return made;
}

TEST(TraceFindings, OfAMadeTraceAreKnown) {
  const auto trace = four_steps().read();
  const auto findings = trace::analyse(trace);
  ASSERT_EQ(findings.steps.size(), 4U);
  EXPECT_FALSE(findings.steps[0].is_inner);  // the profiler's start disturbs it
  EXPECT_TRUE(findings.steps[1].is_inner);
  EXPECT_FALSE(findings.steps[3].is_inner);  // its end is not in the trace
  EXPECT_THAT(parts_in_us(findings.steps[1]), ElementsAre(100, 60, 5, 0, 35));
  EXPECT_THAT(phases_in_us(findings.steps[1]), ElementsAre(20, 30, 10));
  ASSERT_EQ(findings.buckets.size(), 1U);
  EXPECT_EQ(findings.buckets[0].bytes, 2000);  // Half
  EXPECT_EQ(us(findings.buckets[0].computation), 20);
  EXPECT_EQ(us(findings.buckets[0].ready), 40);
  EXPECT_EQ(us(*findings.buckets[0].start), 45);
  EXPECT_THAT(trace::refusals_of(trace, findings), IsEmpty());
}

/// A change of the made trace, and what it must come to.
struct Change {
  std::string name;
  std::function<void(MadeTrace&)> change;
  std::string refusal;  ///< empty: none
  std::function<void(const RankFindings&)> expect;
};

std::vector<Change> changes_of_exchanges() {
  return {{"gradient accumulation: a step without a sum",
           [](MadeTrace& made) {
             made.span("user_annotation", "ProfilerStep#4", 1400, 100).kernel("gemm", 1401, 1405, 20);
           },
           "",
           [](const RankFindings& findings) {
             EXPECT_EQ(findings.buckets.size(), 1U);
             EXPECT_TRUE(findings.has_equal_buckets);
           }},
          {"a sum for each tensor, as torch.compile makes them",
           [](MadeTrace& made) {
             for (int at = 1000; at < 1400; at += 100) made.sum("allreduce", "300", at + 26, at + 61, 2);
           },
           "", [](const RankFindings& findings) { EXPECT_EQ(findings.buckets.size(), 2U); }},
          {"buffers before each forward pass",
           [](MadeTrace& made) {
             for (int at = 1000; at < 1400; at += 100) made.sum("broadcast", "100", at + 3, at + 6, 3);
           },
           "",
           [](const RankFindings& findings) {
             EXPECT_EQ(findings.buffers.bytes, 200);
             EXPECT_EQ(us(findings.buffers.time), 3);
             EXPECT_EQ(findings.buckets.size(), 1U);
           }},
          {"DDP's first step has other buckets", [](MadeTrace& made) { made.step(4, 1400, "2000"); }, "",
           [](const RankFindings& findings) {
             EXPECT_EQ(findings.buckets[0].elements, 2000);
             EXPECT_FALSE(findings.has_equal_buckets);
           }}};
}

std::vector<Change> changes_of_records() {
  return {
      {"records named wait and barrier, and a record within a record",
       [](MadeTrace& made) {
         for (const char* name : {"wait", "barrier", "init"})
           made.span("cpu_op", "record_param_comms", 1125, 1,
                     std::string(R"("Collective name": ")") + name + R"(", "In msg nelems": 0)", 2);
         made.span("user_annotation", "nccl:all_reduce", 1113, 1, R"("Input Dims": [[1000]])", 2);
       },
       "", [](const RankFindings& findings) { EXPECT_EQ(findings.collectives.size(), 4U); }},
      {"only the first step, which does not count, has shapes",
       [](MadeTrace& made) {
         made.span("cpu_op", "aten::conv2d", 1001, 1,
                   R"("Sequence number": 3, "Input Dims": [[64,3,8,8],[4,3,2,2]])");
       },
       "",
       [](const RankFindings& findings) {
         EXPECT_EQ(trace::traced_job(findings).samples, 64);
         for (std::size_t i = 0; i < findings.steps.size(); ++i)
           EXPECT_EQ(findings.steps[i].phases.layers.size(), i == 2 ? 2U : 0U);
       }},
      {"a kernel begins before its launch", [](MadeTrace& made) { made.kernel("gemm", 1183, 1182, 2); }, "",
       [](const RankFindings& findings) {
         EXPECT_EQ(findings.delays.early, 1U);
         EXPECT_EQ(findings.delays.prompt, findings.delays.kernels);
       }},
      {"a custom all-reduce",
       [](MadeTrace& made) { made.kernel("void cross_device_reduce_1stage<half>", 1183, 1184, 2); }, "",
       [](const RankFindings& findings) { EXPECT_EQ(findings.doubtful_kernels.size(), 1U); }},
      {"kernels without launch",
       [](MadeTrace& made) { made.span("kernel", "gemm", 1190, 1, "\"correlation\": 999"); }, "lost records",
       [](const RankFindings& findings) { EXPECT_EQ(findings.lost_records, 1U); }},
      {"launches without kernel",
       [](MadeTrace& made) {
         made.span("cuda_runtime", "cudaLaunchKernel", 1190, 1, "\"correlation\": 999");
       },
       "lost records", [](const RankFindings& findings) { EXPECT_EQ(findings.lost_records, 1U); }},
      {"kernels at time 0",
       [](MadeTrace& made) { made.span("kernel", "gemm", "0", 1, "\"correlation\": 1"); }, "lost records",
       [](const RankFindings& findings) { EXPECT_EQ(findings.lost_records, 1U); }},
      {"FSDP by its collectives",
       [](MadeTrace& made) { made.sum("_reduce_scatter_base", "500", 1128, 1160, 5); },
       "FSDP",
       {}},
      {"FSDP by its annotations",
       [](MadeTrace& made) { made.span("user_annotation", "FullyShardedDataParallel.forward", 1101, 5); },
       "FSDP",
       {}},
      {"sends between stages",
       [](MadeTrace& made) { made.sum("send", "500", 1128, 1160, 5); },
       "not data-parallel",
       {}},
      {"two groups",
       [](MadeTrace& made) { made.sum("allreduce", "500", 1128, 1160, 5, "tensor"); },
       "several groups",
       {}},
      {"numbers of CPU events with gaps",
       [](MadeTrace& made) {
         made.span("cpu_op", "a", 1190, 1, "\"Ev Idx\": 4").span("cpu_op", "a", 1191, 1, "\"Ev Idx\": 4000");
       },
       "sampled",
       {}}};
}

TEST(TraceFindings, ChangesOfAMadeTraceAreSeen) {
  auto all = changes_of_exchanges();
  for (auto& one : changes_of_records()) all.push_back(std::move(one));
  for (const auto& [name, change, refusal, expect] : all) {
    SCOPED_TRACE(name);
    MadeTrace made = four_steps();
    change(made);
    const auto trace = made.read();
    const auto findings = trace::analyse(trace);
    if (expect) expect(findings);
    const auto refusals = trace::refusals_of(trace, findings);
    EXPECT_EQ(refusals.empty() ? "" : refusals.front().name, refusal);
  }
}

/// The first GPU event of a step waits 400 us for buffers, and the forward pass begins 500 us after its
/// begin.
TEST(TraceFindings, WaitingForBuffersIsNoPartOfTheJob) {
  MadeTrace made;
  for (int step = 0; step < 4; ++step) {
    made.slow_step(step, 1000 + 100'000 * step);
    made.sum("broadcast", "100", 1000 + 100'000 * step + 5, 1000 + 100'000 * step + 500, 400);
  }
  const auto findings = trace::analyse(made.read());
  const auto job = trace::traced_job(findings);
  EXPECT_EQ(job.buffers, 200);
  EXPECT_EQ(us(job.step), 100'000);
  EXPECT_EQ(us(job.forward), 20'100);
  EXPECT_EQ(us(job.buckets.front().ready), 40'100);
  EXPECT_EQ(us(job.update), 100'000 - 10 - 400 - 40'100);
}

/// The third of four steps: forward 5 to 25 us, backward 25 to 55, all-reduce 50 to 60, optimiser 60 to 70.
TEST(TraceTimeline, ShowsWhichCommunicationWasHidden) {
  using trace::BlockKind;
  const auto trace = four_steps().read();
  const auto timeline = trace::timeline_of(trace, trace::analyse(trace));
  EXPECT_EQ(timeline.step, 2);
  EXPECT_EQ(us(timeline.length), 100);
  ASSERT_EQ(timeline.lanes.size(), 2U);
  const auto block = [](int begin, int end, BlockKind kind) {
    return trace::TimelineBlock{{begin * 1000, end * 1000}, kind};
  };
  EXPECT_EQ(timeline.lanes[0].stream, 7);
  EXPECT_THAT(timeline.lanes[0].blocks,
              ElementsAre(block(0, 20, BlockKind::forward), block(20, 50, BlockKind::backward),
                          block(55, 65, BlockKind::optimizer)));
  EXPECT_EQ(timeline.lanes[1].stream, 20);
  EXPECT_THAT(timeline.lanes[1].blocks,
              ElementsAre(block(45, 50, BlockKind::hidden), block(50, 55, BlockKind::exposed)));
  EXPECT_THAT(timeline.ready, ElementsAre(40'000));
  EXPECT_TRUE(trace::timeline_of(trace::Trace(), trace::RankFindings()).lanes.empty());
}

/// What an experiment of the text says; empty: it is refused.
std::string job_of(const std::string& text) {
  const TemporaryFolder folder;
  try {
    const auto traces = trace::read_inputs(folder.write("trace.json", text), {}).traces;
    const auto findings = trace::analyse(traces.front());
    if (!trace::refusals_of(traces.front(), findings).empty() || findings.buckets.empty()) return "";
    const auto job = trace::traced_job(findings);
    std::string figures;
    for (const Nanoseconds time : {job.step, job.forward, job.update, job.host})
      figures += std::to_string(time) + ' ';
    for (const auto& bucket : job.buckets)
      figures += std::to_string(bucket.elements) + ' ' + std::to_string(bucket.ready) + ' ' +
                 std::to_string(bucket.launched) + ' ';
    return figures;
  } catch (const ConfigError&) {
    return "";
  }
}

/// Cuts the text behind each event, and within it. Returns how many of these texts give a job.
int cuts_with_a_job(const std::vector<std::string>& events) {
  std::string text = R"({"schemaVersion": 1, "traceEvents": [)";
  std::vector<std::size_t> ends;
  for (const auto& event : events) {
    text += (ends.empty() ? "\n" : ",\n") + event;
    ends.push_back(text.size());
  }
  const std::string whole = job_of(text + "\n]}");
  EXPECT_NE(whole, "");
  int jobs = 0;
  for (const std::size_t end : ends)
    for (const std::size_t missing : {0, 30}) {
      const std::string job = job_of(text.substr(0, end - missing));
      if (job.empty()) continue;
      ++jobs;
      EXPECT_EQ(job, whole) << "cut at " << end - missing << " of " << text.size();
    }
  return jobs;
}

/// A profiler writes threads and streams one after the other, and not always in the order of time.
TEST(TraceFindings, OfACutTraceAreRightWhereverItIsCut) {
  const auto lines = [] {
    MadeTrace made;
    for (int step = 0; step < 5; ++step) made.step(step, 1000 + 100 * step);
    std::istringstream text(made.text());
    std::vector<std::string> events;
    for (std::string line; std::getline(text, line);)
      if (line.starts_with(R"({"ph")")) events.push_back(line.substr(0, line.rfind('}') + 1));
    return events;
  }();
  const auto sorted = [&](const std::vector<std::string>& parts) {
    auto events = lines;
    std::ranges::stable_sort(events, {}, [&](const std::string& event) {
      return std::ranges::find_if(parts,
                                  [&](const auto& part) { return event.find(part) != std::string::npos; }) -
             parts.begin();
    });
    return events;
  };
  EXPECT_GT(cuts_with_a_job(lines), 10) << "step by step";
  auto gpu_last = sorted({"cpu_op", "user_annotation", "cuda_runtime"});
  EXPECT_GT(cuts_with_a_job(gpu_last), 5) << "the CPU first, the GPU in the order of time";
  const auto gpu = std::ranges::find_if(
      gpu_last, [](const auto& event) { return event.find("\"kernel\"") != std::string::npos; });
  std::rotate(gpu, gpu + 12, gpu_last.end());
  EXPECT_GT(cuts_with_a_job(gpu_last), 0) << "the GPU from the middle of a step on";
  cuts_with_a_job(sorted({"cpu_op", "cuda_runtime", "\"stream\": 7"}));
  cuts_with_a_job(sorted({"\"kernel\"", "cuda_runtime"}));
  cuts_with_a_job(sorted({"ProfilerStep", "\"kernel\"", "cuda_runtime", "cpu_op"}));
  cuts_with_a_job(sorted({"cpu_op", "user_annotation", "cuda_runtime", "\"stream\": 7"}));
}

TEST(TraceFindings, APyTorchWithoutKinetoIsNamed) {
  const TemporaryFolder folder;
  const auto trace = std::move(trace::read_inputs(folder.write("empty.json", "[]"), {}).traces.front());
  const auto refusals = trace::refusals_of(trace, trace::analyse(trace));
  ASSERT_EQ(refusals.size(), 1U);
  EXPECT_THAT(refusals.front().because, HasSubstr("built without Kineto"));
}

TEST(TraceFindings, MoreNamesOfCommunicationMayBeGiven) {
  MadeTrace made = four_steps();
  made.kernel("DeepEP::dispatch", 1183, 1184, 2);
  trace::ReadOptions options;
  EXPECT_EQ(us(trace::exact_breakdown(made.read("", options)).communication), 40);
  options.communication.emplace_back("deepep");
  EXPECT_EQ(us(trace::exact_breakdown(made.read("", options)).communication), 42);
}

/// Two sums of one rank; `late`: how much later this rank starts them.
Trace rank_trace(double late, const std::string& sequences) {
  MadeTrace made;
  made.span("user_annotation", "ProfilerStep#0", 1000, 200);
  made.sum("allreduce", "100", 1010, 1020 + late, 30 - late, "0",
           sequences.empty() ? "" : ", \"Seq\": " + sequences.substr(0, 1));
  made.sum("allreduce", "100", 1030, 1060, 10, "0",
           sequences.empty() ? "" : ", \"Seq\": " + sequences.substr(1));
  return made.read();
}

TEST(TraceRanks, WaitingIsWhatTheLateRankDoesNotHave) {
  std::vector<Trace> traces;
  traces.push_back(rank_trace(0, ""));
  traces.push_back(rank_trace(20, ""));
  const std::vector<RankFindings> findings = {trace::analyse(traces[0]), trace::analyse(traces[1])};
  const auto match = trace::compare_ranks(traces, findings);
  EXPECT_EQ(match.refused, "");
  ASSERT_EQ(match.collectives.size(), 2U);
  EXPECT_EQ(us(match.collectives[0].transfer), 10);
  EXPECT_EQ(match.collectives[0].late, 1U);
  EXPECT_EQ(us(match.communication[0] - match.least), 20);
}

TEST(TraceRanks, AreMatchedBySequenceNumberWhereTheyHaveOne) {
  std::vector<Trace> traces;
  traces.push_back(rank_trace(0, "12"));
  traces.push_back(rank_trace(0, "23"));
  const std::vector<RankFindings> findings = {trace::analyse(traces[0]), trace::analyse(traces[1])};
  const auto match = trace::compare_ranks(traces, findings);
  EXPECT_EQ(match.refused, "");
  ASSERT_EQ(match.collectives.size(), 1U);  // number 2 alone
  EXPECT_EQ(us(match.ends_differ), 20);
}

TEST(TraceRanks, ThatCannotBeOfOneJobAreRefused) {
  std::vector<Trace> traces;
  traces.push_back(rank_trace(0, ""));
  traces.push_back(four_steps().read());
  const std::vector<RankFindings> findings = {trace::analyse(traces[0]), trace::analyse(traces[1])};
  EXPECT_THAT(trace::compare_ranks(traces, findings).refused, HasSubstr("collectives"));
  // The same collectives by clocks that differ by 2 ms.
  traces.pop_back();
  traces.push_back(rank_trace(0, ""));
  traces.back().metadata.base = 2'000'000;
  const std::vector<RankFindings> same = {trace::analyse(traces[0]), trace::analyse(traces[1])};
  EXPECT_THAT(trace::compare_ranks(traces, same).refused, HasSubstr("differ by up to 2 ms"));
}

TEST(TraceCollectives, SizesAndKindsOfTexts) {
  using Kind = trace::CollectiveKind;
  const std::vector<std::pair<std::string, Kind>> kinds = {
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", Kind::all_reduce},
      {"_allgather_base", Kind::all_gather},
      {"ncclKernel_ReduceScatter_RING", Kind::reduce_scatter},
      {"all_to_all", Kind::all_to_all},
      {"ncclKernel_SendRecv_RING_SIMPLE", Kind::point_to_point},
      {"broadcast", Kind::broadcast},
      {"wait", Kind::unknown}};
  for (const auto& [name, kind] : kinds) EXPECT_EQ(trace::collective_kind(name), kind) << name;
  const std::vector<std::pair<std::string, std::int64_t>> shapes = {
      {"[[8,1024,8816]]", 72220672},
      {"[[2,3],[4]]", 10},
      {"[]", 0},
      {"[[],[]]", 0},
      {"[[0,5]]", 0},
      {"exec('x')", 0},
      {"[0, 1]", 0},
      {"", 0},
      {"[[281474976710656,4096]]", std::int64_t{1} << 48U}};
  for (const auto& [text, elements] : shapes) EXPECT_EQ(trace::elements_of(text), elements) << text;
  const std::vector<std::pair<std::string, std::int64_t>> types = {
      {"Float", 4}, {"c10::Half", 2}, {"BFloat16", 2}, {"long int", 8}, {"Float8_e4m3fn", 1}, {"thing", 0}};
  for (const auto& [type, bytes] : types) EXPECT_EQ(trace::bytes_of_type(type), bytes) << type;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
