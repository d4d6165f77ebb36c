// `tandem import` as a user sees it: what it prints, refusals with exit code 2, and bad files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/workloads/trace/made_trace.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string steps_text(int count, const std::string& top = "") {
  MadeTrace made;
  for (int step = 0; step < count; ++step) made.step(step, 1000 + 100 * step);
  return made.text(top);
}

TEST(Import, PrintsStepsBucketsChecksAndTheBreakdown) {
  const CommandLine line;
  line.write("trace.json", steps_text(6, R"("username": "secret", )"));
  const auto result = line.tandem("import trace.json --layers");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("step 0.100 ms on the GPU, median of 4 that count"),
                    HasSubstr("forward 0.020, backward 0.030, optimiser 0.010 ms"),
                    HasSubstr("AddmmBackward0"), HasSubstr("breakdown (exact, all steps), us: idle 175"),
                    HasSubstr("passed  steps that count: 4"), Not(HasSubstr("secret"))));
  const auto document = line.tandem("import trace.json --json 2> /dev/null");
  const auto rank = json::parse(document.output).at("ranks").at(0);
  EXPECT_EQ(rank.at("step_us"), 100.0);
  EXPECT_EQ(rank.at("buckets").at(0).at("bytes"), 2000);
  EXPECT_EQ(rank.at("refusals"), json::array());
  EXPECT_THAT(line.tandem("import trace.json --breakdown hta").output,
              HasSubstr("as HolisticTraceAnalysis, without the last step), us: idle 140"));
}

TEST(Import, ComparesRanks) {
  const CommandLine line;
  for (const std::string rank : {"0", "1"})
    line.write(rank + ".json",
               steps_text(6, R"("distributedInfo": {"world_size": 2, "rank": )" + rank + "}, "));
  const auto result = line.tandem("import 1.json 0.json");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("0.json: rank 0 of 2"), HasSubstr("1.json: rank 1 of 2"),
                                   HasSubstr("transfer 0.060 ms at most, the rest is waiting")));
  const auto twice = line.tandem("import 0.json 0.json");
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.output, HasSubstr("expected one trace per rank, found two of rank 0"));
}

TEST(Import, RefusesByNameAndSaysHowToRecord) {
  const CommandLine line;
  const std::string gpu = R"("deviceProperties": [{"id": 9, "name": "Tesla V100"}], )",
                    text = steps_text(6, gpu);
  line.write("empty.json", "[]");
  line.write("begun.json", text.substr(0, 20));
  line.write("cut.json", text.substr(0, text.size() / 4));
  line.write("end.json", text.substr(0, text.size() - 100));
  line.write("train.py", "import torch");
  line.write("job.yaml", "");
  line.write("packed.yaml", "\x1f\x8b");
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"import empty.json",
       "refused (no Kineto): the file is an empty list: this PyTorch was built without "},
      {"import begun.json", "found one that ends early, at byte 20, before its events; copy it again"},
      {"import cut.json --out cut.yaml",
       ": no step is whole. Copy the file again, or wait until the job has ended."},
      {"import train.py", "`tandem record` says how to record one"},
      {"import job.yaml", "it is imported already: tandem simulate job.yaml"},
      {"import .", "name its files, such as ./*.json.gz"},
      {"import missing.json", "found no file that can be read"},
      {"import end.json --out job.yaml", "job.yaml already exists"},
      {"import end.json --ouput job.yaml", "unknown option --ouput; did you mean --out?"},
      {"import end.json --out end.yaml --step-time 96", "--step-time: expected a time above 0"},
      {"simulate job.yaml --worker 4 --within 1Gbps", "unknown option --worker; did you mean --workers?"},
      {"simulate job.yaml --workers 8,32 --within 1Gbps", "study --vary workers compares several"},
      {"simulate job.yaml --workers 4 --within 25gbps", "did you mean 25Gbps?"},
      {"simulate job.yaml --workers 4 --within 1Gbps --set placement.worker_count=2",
       "found 'placement.worker_count=2'"},
      {"study job.yaml --workers 4 --within 1Gbps", "expected --vary"},
      {"simulate packed.yaml", "make an experiment of a trace: tandem import packed.yaml --out job.yaml"}};
  for (const auto& [words, message] : refused) {
    const auto result = line.tandem(words);
    EXPECT_EQ(result.exit_code, 2) << words;
    EXPECT_THAT(result.output, HasSubstr(message));
  }
  // What is whole counts.
  const auto end = line.tandem("import end.json --out end.yaml");
  EXPECT_EQ(end.exit_code, 0) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("1 of 6 steps are not whole"),
                                HasSubstr("end.yaml is of 3 of its 6 steps, which are whole")));
}

/// Words that are refused, what the refusal says, and words that follow its advice.
struct Advice {
  std::string refused, message, followed;
};

TEST(Import, FollowingTheAdviceOfARefusalGivesAFileThatImports) {
  const CommandLine line;
  const auto gpu = [](const std::string& name) {
    return R"("deviceProperties": [{"id": 9, "name": ")" + name + R"("}], )";
  };
  const std::string whole = steps_text(6, gpu("Tesla V100"));
  MadeTrace alone, sharded, stages, lost;
  for (int step = 0; step < 6; ++step) {
    const int at = 1000 + 100 * step;
    alone.step(step, at, "");
    for (MadeTrace* made : {&sharded, &stages, &lost}) made->step(step, at);
    sharded.sum("_reduce_scatter_base", "500", at + 28, at + 60, 5);
    stages.sum("send", "500", at + 28, at + 60, 5);
    lost.span("kernel", "gemm", at + 90, 1, "\"correlation\": 999");
  }
  line.write("whole.json", whole);
  line.write("cut.json", whole.substr(0, whole.size() / 4));
  line.write("empty.json", "[]");
  line.write("nameless.json", steps_text(6));
  line.write("unknown.json", steps_text(6, gpu("GeForce")));
  line.write("alone.json", alone.text(gpu("Tesla V100")));
  line.write("sharded.json", sharded.text(gpu("Tesla V100")));
  line.write("stages.json", stages.text(gpu("Tesla V100")));
  line.write("lost.json", lost.text(gpu("Tesla V100")));
  line.write("cpu.json", R"({"schemaVersion": 1, "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 1, "ts": 1, "dur": 1, "args": {}}]})");
  const std::vector<Advice> all = {
      {"nameless.json", "give one of `tandem list devices` with --device", "nameless.json --device v100"},
      {"unknown.json", "give the one of it that is most like it with --device", "unknown.json --device v100"},
      {"alone.json", "or give --model with a name of `tandem list model`", "alone.json --model resnet50"},
      {"alone.json", "wrap the model in DistributedDataParallel", "whole.json"},
      {"cut.json", "Copy the file again", "whole.json"},
      {"empty.json", "Record with PyTorch from pytorch.org", "whole.json"},
      {"cpu.json", "Record on a machine with a GPU", "whole.json"},
      {"sharded.json", "Record the job under DistributedDataParallel", "whole.json"},
      {"stages.json", "Record the data-parallel part of the job alone", "whole.json"},
      {"lost.json", "Record after a warm-up of the profiler", "whole.json"}};
  for (const auto& [refused, message, followed] : all) {
    SCOPED_TRACE(refused + ": " + message);
    const auto first = line.tandem("import " + refused + " --out job.yaml --force");
    EXPECT_EQ(first.exit_code, 2);
    EXPECT_THAT(first.output, HasSubstr(message));
    const auto second = line.tandem("import " + followed + " --out job.yaml --force");
    EXPECT_EQ(second.exit_code, 0) << second.output;
  }
  EXPECT_EQ(line.tandem("import alone.json --model resnet50 --out job.yaml --force").exit_code, 0);
  EXPECT_THAT(line.tandem("simulate job.yaml --workers 2 --within 10Gbps --set stop.rounds=3").output,
              HasSubstr("on 2 x v100 at 10Gbps"));
}

/// One all-reduce of 1,000 floats in the backward pass.
constexpr const char* nodes_text = R"json({"schema": "1.1.0-chakra.0.0.4", "nodes": [
  {"id": 8, "name": "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", "ctrl_deps": 1},
  {"id": 9, "name": "torch::autograd::AccumulateGrad", "ctrl_deps": 8,
   "inputs": {"shapes": [[10, 100]], "types": ["Tensor(float)"]}},
  {"id": 10, "name": "c10d::allreduce_", "ctrl_deps": 8,
   "inputs": {"shapes": [[[1000]]], "types": ["GenericList[Tensor(float)]"]}}]})json";

TEST(Import, ReadsOtherFilesByTheirContent) {
  const CommandLine line;
  line.write("nodes.json", nodes_text);
  const auto nodes = line.tandem("import nodes.json --layers");
  EXPECT_EQ(nodes.exit_code, 0) << nodes.output;
  EXPECT_THAT(nodes.output,
              AllOf(HasSubstr("nodes.json: execution trace of PyTorch\n"),
                    HasSubstr("1000           4000 float"), HasSubstr("10x100"),
                    HasSubstr("  times: an execution trace has sizes and shapes, but no times")));
  const auto refused = line.tandem("import nodes.json --out job.yaml --device v100");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.output, HasSubstr("refused (times)"));
  EXPECT_THAT(line.tandem("import nodes.json --out job.yaml --step-time 30ms").output,
              HasSubstr("does not name its GPU; give one of `tandem list devices` with --device"));
  EXPECT_EQ(line.tandem("import nodes.json --out job.yaml --device v100 --step-time 30ms").exit_code, 0);
  EXPECT_THAT(line.shell("cat job.yaml").output,
              AllOf(HasSubstr("measured_forward: 10ms  # assumed: a third of the step"),
                    HasSubstr("- 4000B 30ms 10x100\n")));
  line.write("ddp.json", R"({"rebuilt_bucket_sizes": "8196000, 31502336", "dtypes": "float", "comm_hook": "",
    "master_addr": "secret", "avg_forward_compute_time": 20000000, "avg_backward_compute_time": 40000000,
    "avg_backward_compute_comm_overlap_time": 30000000})");
  const auto logging =
      line.tandem("import ddp.json --device v100 --step-time 65ms --out ddp.yaml --json 2> /dev/null");
  EXPECT_EQ(logging.exit_code, 0);
  EXPECT_THAT(logging.output, Not(HasSubstr("secret")));
  EXPECT_THAT(
      line.shell("cat ddp.yaml").output,
      AllOf(HasSubstr("- 8196000B 30ms"), HasSubstr("- 31502336B 60ms"), HasSubstr("measured_update: 5ms")));
}

TEST(Import, TakesSizesThatATraceLacksFromAnExecutionTrace) {
  const CommandLine line;
  MadeTrace made;
  for (int step = 0; step < 6; ++step) made.step(step, 1000 + 100 * step, "0");
  line.write("trace.json", made.text(R"("deviceProperties": [{"id": 9, "name": "Tesla V100"}], )"));
  EXPECT_THAT(line.tandem("import trace.json --out job.yaml").output,
              HasSubstr("sizes of the buckets are missing"));
  line.write("nodes.json", nodes_text);
  const auto result = line.tandem("import trace.json nodes.json --out job.yaml");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("sizes of the buckets, as in nodes.json"));
  EXPECT_THAT(line.shell("cat job.yaml").output, HasSubstr("- 4000B "));
  line.write("other.json", R"({"bucket_sizes": "8, 4", "dtypes": "float"})");
  const auto other = line.tandem("import trace.json other.json");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.output, HasSubstr("record both in one job"));
}

/// The mean step of a simulation, in ms.
double step_ms(const CommandLine& line, const std::string& words) {
  const auto result = line.tandem(words + " --force --out out --json 2> /dev/null");
  EXPECT_EQ(result.exit_code, 0) << words;
  return 1e3 * json::parse(result.output).at("summary").at("step_time_s").at("mean").get<double>();
}

/// A job of two V100 that sum over 10 Gb/s. `workload`: its keys, but for those that all jobs have.
void write_job(const CommandLine& line, const std::string& workload, int rounds = 6) {
  EXPECT_EQ(line.tandem("init two --gpus v100:2 --within 10Gbps --force").exit_code, 0);
  line.write("job.yaml", "platform: two.xml\nworkload: {measured_on: v100, " + workload +
                             "}\nplacement: {servers: [server]}\nsync: {preset: ddp}\nstop: {rounds: " +
                             std::to_string(rounds) + "}\n");
}

/// Two buckets of that size; "READY [HOST]" of each. 5 ms follow the exchange.
std::string two_buckets(const std::string& size, const std::string& first, const std::string& second) {
  return "model: synthetic, dataset: synthetic, batch: 1, measured_forward: 20ms, measured_update: 5ms, "
         "measured_buckets: [" +
         size + ' ' + first + ", " + size + ' ' + second + ']';
}

/// Two workers sum 25 MB in 20 ms over 10 Gb/s, one bucket after the other. Without a trace: two buckets, the
/// last ready after 60 ms, and 5 ms that follow the exchange.
TEST(Import, AnExperimentNamesBucketsAndWhenTheyAreReady) {
  const CommandLine line;
  const auto step = [&](const std::string& first, const std::string& second, const std::string& more = "") {
    write_job(line, two_buckets("25MB", first, second) + more);
    return step_ms(line, "simulate job.yaml");
  };
  constexpr double near = 1.0;  // latencies, and what the sums of the GPUs take
  EXPECT_NEAR(step("30ms", "70ms"), 70 + 20 + 5, near) << "the last bucket is 10 ms later";
  EXPECT_NEAR(step("40ms", "60ms"), 60 + 20 + 5, near) << "the first one is hidden all the same";
  EXPECT_NEAR(step("55ms", "60ms"), 55 + 20 + 20 + 5, near) << "the last one waits for the first";
  // The processor has launched the first bucket after 40 ms, the GPU computes the next one for 30 ms, and the
  // processor launches the rest during the exchange.
  EXPECT_NEAR(step("30ms 40ms", "60ms 65ms", ", measured_host: 80ms"), 40 + 30 + 20 + 5, near);
  EXPECT_NEAR(step("30ms 40ms", "60ms 65ms", ", measured_host: 100ms"), 100, near);
  EXPECT_NEAR(step("30ms", "60ms"), 60 + 20 + 5, near);
  EXPECT_THAT(line.tandem("simulate job.yaml --workers 2 --within 10Gbps --force --out out").output,
              AllOf(HasSubstr("because the last bucket (25.0 MB) leaves 20."),
                    HasSubstr("20 ms forward and 40 ms backward on v100, measured; 2 workers")));
  EXPECT_THAT(line.tandem("simulate job.yaml --workers 8 --within 10Gbps --force --out out").output,
              HasSubstr("50.0 MB a step need 70.0 ms of each link"));
}

/// One device takes 65 ms. Two sum 25 MB in 20 ms at 10 Gb/s: 85 ms. If computing takes 1.8 times as long in
/// these 20 ms, the last bucket is ready 8.9 ms later.
TEST(Import, AnAnswerComparesWithOneDeviceAndNamesItsAssumptions) {
  const CommandLine line;
  write_job(line, two_buckets("25MB", "30ms", "60ms"));
  const std::string simulate = "simulate job.yaml --workers 2 --within 10Gbps";
  const auto plain = line.tandem(simulate);
  EXPECT_EQ(plain.exit_code, 0) << plain.output;
  EXPECT_THAT(
      plain.output,
      AllOf(HasSubstr(" ms (85."), HasSubstr("(76 % of one device's speed each)"),
            HasSubstr(
                "one device's step without exchange: 65.0 ms; faster links or fewer bytes save at most 20."),
            HasSubstr("assumed: all-reduces as NCCL's ring"),
            // 25 MB over 8 Gb/s: 25 ms instead of 20.
            HasSubstr("with 80 % of the rate of every link: 90."), HasSubstr("passes two links of 20 us"),
            Not(HasSubstr("buffers")), Not(HasSubstr("samples/s"))));
  // Another question has a folder of its own, and the same efficiency.
  const auto slowed = line.tandem(simulate + " --set physics.overlap_slowdown=1.8");
  EXPECT_EQ(slowed.exit_code, 0) << slowed.output;
  EXPECT_THAT(slowed.output,
              AllOf(HasSubstr("results/job/2-v100-10Gbps-physics.overlap_slowdown=1.8/simulated"),
                    HasSubstr("(69 % of one device's speed each)"),
                    HasSubstr("given: kernels take 1.80 times as long while messages move")));
  const auto trees = line.tandem(simulate + " --set physics.all_reduce=tree --force");
  EXPECT_THAT(trees.output, HasSubstr("with rings alone (physics.all_reduce=ring): 85."));
  // Without all-reduces of a library there is nothing to name.
  const auto unused = line.tandem("simulate job.yaml --set sync.over=server --set physics.all_reduce=ring");
  EXPECT_EQ(unused.exit_code, 2);
  EXPECT_THAT(unused.output, HasSubstr("key 'physics.all_reduce': expected auto, because"));
  const std::string study = "study job.yaml --workers 4 --within 40Gbps --vary ";
  EXPECT_THAT(line.tandem(study + "bandwidth --list").output,
              AllOf(HasSubstr("4-v100-40Gbps"), HasSubstr("4-v100-400Gbps")));
  // The axis of the report has numbers.
  const auto bandwidths =
      line.tandem("study job.yaml --workers 4 --within 10Gbps,2500Mbps --vary bandwidth --json 2> /dev/null");
  const auto across = json::parse(bandwidths.output).at("answer").at("across");
  EXPECT_EQ(across.at("name"), "bandwidth");
  EXPECT_EQ(across.at("values"), json::array({"2.5Gbps", "10Gbps"}));
  EXPECT_EQ(across.at("numbers"), json::array({2.5, 10.0}));
  EXPECT_THAT(line.tandem(study + "workers").output,
              AllOf(HasSubstr("2-v100-40Gbps  none"), HasSubstr("93 % of one device's speed each"),
                    HasSubstr("at least 90 % of one device's speed each, at 40Gbps: up to 2 workers"),
                    HasSubstr("assumed: every link has its full rate")));
}

/// Before each forward pass, 25 MB of buffers take as long as a bucket of 25 MB: 20 ms between two workers at
/// 10 Gb/s.
TEST(Import, AJobWaitsForTheBuffersOfItsFirstWorker) {
  const CommandLine line;
  write_job(line, two_buckets("25MB", "30ms", "60ms") + ", measured_buffers: 25MB");
  EXPECT_NEAR(step_ms(line, "simulate job.yaml"), 20 + 60 + 20 + 5, 1);
  EXPECT_NEAR(step_ms(line, "simulate job.yaml --fidelity priced"), 20 + 60 + 20 + 5, 1);
  EXPECT_NEAR(step_ms(line, "simulate job.yaml --set sync.average_statistics=false"), 60 + 20 + 5, 1);
  EXPECT_THAT(line.tandem("simulate job.yaml --workers 2 --within 10Gbps").output,
              AllOf(HasSubstr("because the last bucket (25.0 MB) leaves 20."),
                    HasSubstr("sent to all before each forward pass, take 20.")));
  EXPECT_EQ(line.tandem("simulate job.yaml --set stop.rounds=1 --chakra traces --out new").exit_code, 0);
  const auto described = line.tandem("import traces/job.1.et --json 2> /dev/null");
  EXPECT_EQ(json::parse(described.output).at("description").at("broadcast_bytes"), 25'000'000);
}

/// Written by a simulation, read by an import, and simulated again.
TEST(Import, ReadsTheChakraTracesOfASimulation) {
  const CommandLine line;
  write_job(line, two_buckets("25MB", "30ms", "60ms"), 1);
  EXPECT_EQ(line.tandem("simulate job.yaml --chakra traces").exit_code, 0);
  const auto described = line.tandem("import traces/job.1.et --json 2> /dev/null");
  EXPECT_EQ(described.exit_code, 0);
  const json job = json::parse(described.output).at("description");
  ASSERT_EQ(job.at("buckets").size(), 2U);
  for (const auto& [bucket, ready_us] : {std::pair(0, 30'000), std::pair(1, 60'000)}) {
    EXPECT_EQ(job.at("buckets").at(bucket).at("bytes"), 25'000'000);
    EXPECT_EQ(job.at("buckets").at(bucket).at("ready_us"), ready_us);
  }
  EXPECT_EQ(job.at("update_us"), 5'000);
  EXPECT_EQ(line.tandem("import traces/job.0.et --device v100 --out again.yaml").exit_code, 0);
  EXPECT_NEAR(step_ms(line, "simulate again.yaml --workers 2 --within 10Gbps"), 60 + 20 + 5, 1);
  EXPECT_THAT(line.tandem("simulate job.yaml --chakra traces --out new").output,
              HasSubstr("job.0.et already exists"));
  // A ring of messages: two rounds of it for each bucket, a send and a receive in each.
  EXPECT_EQ(line.tandem("simulate job.yaml --set sync.collective=ring --chakra ring --out new").exit_code, 0);
  EXPECT_THAT(line.tandem("import ring/job.0.et").output,
              HasSubstr("refused (not data-parallel): 8 messages"));
}

/// One of three steps counts.
TEST(Import, FilesSayWhichChecksFailed) {
  const CommandLine line;
  line.write("trace.json", steps_text(3, R"("deviceProperties": [{"id": 9, "name": "Tesla V100"}], )"));
  EXPECT_EQ(line.tandem("import trace.json --out job.yaml").exit_code, 0);
  EXPECT_THAT(line.shell("cat job.html").output,
              HasSubstr("a check of the trace failed. steps that count: 1"));
  EXPECT_THAT(line.tandem("simulate job.yaml --workers 2 --within 10Gbps").output,
              HasSubstr("less certain: steps that count: 1"));
  // Of one bound alone, in a file whose name has the variant's.
  EXPECT_THAT(
      line.tandem("study job.yaml --variant gpu-alone --vary bandwidth --workers 2 --within 10Gbps --list")
          .output,
      AllOf(HasSubstr("2-v100-10Gbps"), Not(HasSubstr("as-profiled"))));
}

/// The made trace sends its buckets in 16 bits.
TEST(Import, DoesNotOfferWhatTheJobDoesAlready) {
  const CommandLine line;
  line.write("trace.json", steps_text(6, R"("deviceProperties": [{"id": 9, "name": "Tesla V100"}], )"));
  EXPECT_EQ(line.tandem("import trace.json --out job.yaml").exit_code, 0);
  EXPECT_THAT(line.shell("cat job.html").output, HasSubstr("16-bit gradients, as recorded"));
  EXPECT_THAT(line.tandem("study job.yaml --vary compression --workers 2 --within 10Gbps --list").output,
              AllOf(HasSubstr("the buckets are sent in fp16 already"), Not(HasSubstr("compression=none"))));
}

TEST(Import, WritesAnExperimentThatIsSimulatedUnedited) {
  const CommandLine line;
  line.write("trace.json",
             steps_text(6, R"("deviceProperties": [{"id": 9, "name": "NVIDIA A100-SXM4-40GB"}], )"));
  const auto result = line.tandem("import trace.json --out job.yaml");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  // Each cluster has results of its own.
  EXPECT_EQ(line.tandem("simulate job.yaml --workers 4 --within 10Gbps").exit_code, 0);
  const auto answer = line.tandem("simulate job.yaml --workers 4 --within 25Gbps");
  EXPECT_EQ(answer.exit_code, 0) << answer.output;
  EXPECT_THAT(answer.output,
              AllOf(HasSubstr("4-a100-25Gbps.xml"), HasSubstr("results/job/4-a100-25Gbps/simulated"),
                    HasSubstr("launch-bound: between"), HasSubstr("--step-time")));
  // The bounds are no variants to choose from.
  const auto study =
      line.tandem("study job.yaml --workers 2 --within 1Gbps,10Gbps --vary bandwidth --json 2> /dev/null");
  const auto down = json::parse(study.output).at("answer").at("down");
  EXPECT_EQ(down.at("name"), "bound");
  EXPECT_EQ(down.at("values"), json::array({"as profiled", "GPU alone"}));
  // With the step's time there is one number, not two bounds.
  EXPECT_EQ(line.tandem("import trace.json --out known.yaml --step-time 90ms").exit_code, 0);
  EXPECT_THAT(line.shell("cat known.yaml").output,
              AllOf(HasSubstr("measured_host"), Not(HasSubstr("gpu-alone"))));
  const auto again = line.tandem("import trace.json --out job.yaml");
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.output, HasSubstr("already exists"));
  const auto unknown = line.tandem("import trace.json --out other.yaml --device rtx");
  EXPECT_EQ(unknown.exit_code, 2);
}

using LongImport = ::testing::Test;

std::string slow_steps() {
  MadeTrace made;
  for (int step = 0; step < 6; ++step) made.slow_step(step, 1000 + 100'000 * step);
  return made.text(R"("deviceProperties": [{"id": 9, "name": "Tesla V100-SXM2-32GB"}], )");
}

/// On emulated devices: the same operations, and no step is shorter than its work. How much longer it is
/// depends on what else the machine does.
TEST_F(LongImport, AnImportedJobRunsAsItIsSimulated) {
  const CommandLine line;
  line.write("trace.json", slow_steps());
  EXPECT_EQ(line.tandem("import trace.json --out job.yaml").exit_code, 0);
  const std::string job = " job.yaml --workers 2 --within 10Gbps --set stop.rounds=8 --operations";
  EXPECT_NEAR(step_ms(line, "simulate" + job), 100, 2);
  EXPECT_EQ(line.shell("mv out simulated").exit_code, 0);
  EXPECT_GE(step_ms(line, "run" + job), 99);
  EXPECT_THAT(line.tandem("compare simulated out --out compared --tolerance 1000").output,
              HasSubstr("parity passed"));
  EXPECT_THAT(line.tandem("show job.yaml").output, HasSubstr("compression: fp16"));
}

/// Two emulated GPUs. Lower bounds alone, which a loaded machine keeps.
TEST_F(LongImport, ARunWaitsForTheProcessorThatLaunchesIt) {
  const CommandLine line;
  write_job(line, two_buckets("40kB", "30ms", "60ms"));
  const std::string host = " job.yaml --set workload.measured_host=300ms";
  EXPECT_NEAR(step_ms(line, "simulate job.yaml"), 65, 2);
  EXPECT_NEAR(step_ms(line, "simulate" + host), 300, 2);
  EXPECT_GE(step_ms(line, "run job.yaml"), 64);
  EXPECT_GE(step_ms(line, "run" + host), 299);
}

/// What each worker sends in a step of a job, in bytes of an all-reduce that the library makes.
double bytes_per_step(const CommandLine& line, const std::string& words) {
  const auto result = line.tandem(words + " --force --out out --json 2> /dev/null");
  EXPECT_EQ(result.exit_code, 0) << words;
  const auto summary = json::parse(result.output).at("summary");
  return summary.at("bytes").at("sent").get<double>() / summary.at("steps").get<double>();
}

/// ResNet-18 has 11,689,512 parameters in three buckets of DDP, which sums no running statistics: 9,600
/// floats. The last one, 15.9 MB, is complete at the end of the backward pass.
TEST_F(LongImport, ARunSumsDdpsBuckets) {
  const CommandLine line;
  write_job(line,
            "model: resnet18, dataset: synthetic-imagenet, batch: 32, measured_forward: 100ms, "
            "measured_backward: 200ms",
            3);
  const std::string settings = " job.yaml --set workload.bucket_rule=";
  for (const std::string world : {"simulate", "run"}) {
    // Broadcast before the forward pass, or summed with the layers.
    for (const std::string rule : {"ddp", "layers"})
      EXPECT_EQ(bytes_per_step(line, world + settings + rule), 4.0 * (11'689'512 + 9'600)) << world << rule;
    EXPECT_EQ(bytes_per_step(line, world + settings + "ddp --set sync.average_statistics=false"),
              4.0 * 11'689'512)
        << world;
  }
  EXPECT_GE(step_ms(line, "run" + settings + "ddp"), 300);
}

/// ResNet-50 has matrices of 136,611, 219,102 and 384,084 floats together at rank 1, 2 and 4, biases and
/// norms included: PyTorch's PowerSGD sends as many.
TEST_F(LongImport, CompressesTheMatricesOfAnExecutionTrace) {
  const std::string nodes = stored_trace("../chakra/resnet_2gpu_et.json.gz");
  if (nodes.empty()) GTEST_SKIP() << "the stored traces are absent";
  const CommandLine line;
  const auto imported = line.tandem("import " + nodes + " --device a100 --step-time 60ms --out job.yaml");
  EXPECT_EQ(imported.exit_code, 0) << imported.output;
  const std::string simulate =
      "simulate job.yaml --workers 2 --within 10Gbps --set sync.average_statistics=false --set "
      "sync.compression=";
  EXPECT_EQ(bytes_per_step(line, simulate + "none"), 4.0 * 25'557'032);
  for (const auto& [rank, floats] : std::map<int, int>{{1, 136'611}, {2, 219'102}, {4, 384'084}})
    EXPECT_EQ(bytes_per_step(
                  line, simulate + "power-sgd --set sync.compression_options.rank=" + std::to_string(rank)),
              4.0 * floats)
        << rank;
}

/// ResNet-50 on 32 V100, by hand from the trace, and on A100 that wait for their processors.
TEST_F(LongImport, TellsTheStoryOfTheStoredTraces) {
  const std::string v100 = stored_trace("ddp_resnet50_v100_rank0of1.json.gz");
  if (v100.empty()) GTEST_SKIP() << "the stored traces are absent";
  const CommandLine line;
  const auto imported = line.tandem("import " + v100 + " --out job.yaml");
  EXPECT_EQ(imported.exit_code, 0) << imported.output;
  EXPECT_THAT(imported.output, AllOf(HasSubstr("step 95.664 ms on the GPU"), HasSubstr("the CPU runs ahead"),
                                     Not(HasSubstr("failed"))));
  constexpr double tolerance = 0.03;
  const std::string simulate = "simulate job.yaml --workers 32 --within ";
  const std::string fp16 = " --set sync.compression=fp16";
  EXPECT_NEAR(step_ms(line, simulate + "25Gbps"), 99.7, tolerance * 99.7);
  EXPECT_NEAR(step_ms(line, simulate + "10Gbps"), 191.8, tolerance * 191.8);
  EXPECT_NEAR(step_ms(line, simulate + "25Gbps" + fp16), 97.0, tolerance * 97.0);
  EXPECT_NEAR(step_ms(line, simulate + "10Gbps" + fp16), 112.5, tolerance * 112.5);
  EXPECT_NEAR(step_ms(line, "simulate job.yaml"), 95.7, 0.005 * 95.7);
  const auto told = line.tandem(simulate + "25Gbps --force --out out");
  EXPECT_THAT(told.output, HasSubstr("because the last bucket (9.72 MB) leaves"));
  // By hand: 0.5 ms for buffers, 93.9 ms, then 2 x 31/32 x 9.72 MB at 25 Gb/s, and 1.8 ms of what follows.
  EXPECT_THAT(line.shell("cat job.html").output,
              HasSubstr("102.3 ms on 32 of them with 25 Gb/s to each; with fp16 gradients 99.5"));
  const auto study = line.tandem("study job.yaml --vary compression --workers 32 --within 25Gbps,10Gbps");
  EXPECT_EQ(study.exit_code, 0) << study.output;
  EXPECT_THAT(study.output, AllOf(HasSubstr("would not help"), HasSubstr("helps"),
                                  HasSubstr("Does compressing its gradient shorten the step of job")));

  const std::string a100 = stored_trace("ddp_resnet50_a100_rank0of2.json.gz");
  EXPECT_EQ(line.tandem("import " + a100 + " --out a100.yaml").exit_code, 0);
  EXPECT_THAT(
      line.shell("cat a100.html").output,
      HasSubstr("between 78.3 ms and 219.7 ms on 32 of them with 25 Gb/s to each; with fp16 gradients "
                "between "));
  const std::string a100_simulate = "simulate a100.yaml --workers 32 --within 25Gbps";
  EXPECT_NEAR(step_ms(line, a100_simulate), 223.9, tolerance * 223.9);
  EXPECT_NEAR(step_ms(line, a100_simulate + " --variant gpu-alone"), 78.8, tolerance * 78.8);
  EXPECT_THAT(line.tandem(a100_simulate + " --force --out out").output, HasSubstr("launch-bound: between"));
  // By hand: the first bucket is launched after 101.2 x 90 / 219.7 = 41.5 ms; all need 2 x 31/32 x 102.2 MB
  // / 3.125 GB/s = 63.4 ms of the link and 0.4 ms of latency each; the optimiser takes 1.5 ms, and buffers
  // 0.1 ms of the link and ten latencies of 40 us before the forward pass. The processor has launched the
  // step after 90 ms, during the exchange.
  EXPECT_EQ(line.tandem("import " + a100 + " --out a100.yaml --step-time 90ms --force").exit_code, 0);
  EXPECT_NEAR(step_ms(line, a100_simulate), 41.5 + 63.4 + 0.4 + 1.5 + 0.5, 1.0);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
