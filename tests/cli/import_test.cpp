// `tandem import` as a user sees it: what it prints, refusals with exit code 2, and bad files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

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
                    HasSubstr("ok     steps that count: 4"), Not(HasSubstr("secret"))));
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
  line.write("empty.json", "[]");
  line.write("cut.json", steps_text(3).substr(0, 40));
  line.write("other.json", "{\"a\": 1}");
  const auto empty = line.tandem("import empty.json");
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_THAT(empty.output,
              AllOf(HasSubstr("refused (no Kineto)"), HasSubstr("Record with PyTorch from pytorch.org")));
  const auto cut = line.tandem("import cut.json");
  EXPECT_EQ(cut.exit_code, 2);
  EXPECT_THAT(cut.output, HasSubstr("refused (no GPU)"));
  const auto other = line.tandem("import other.json");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.output, HasSubstr("other.json: expected a trace with \"traceEvents\""));
  EXPECT_EQ(line.tandem("import missing.json").exit_code, 2);
}

/// The mean step of a simulation, in ms.
double step_ms(const CommandLine& line, const std::string& words) {
  const auto result = line.tandem(words + " --force --out out --json 2> /dev/null");
  EXPECT_EQ(result.exit_code, 0) << words;
  return 1e3 * json::parse(result.output).at("summary").at("step_time_s").at("mean").get<double>();
}

/// Two workers sum 25 MB in 20 ms over 10 Gb/s, one bucket after the other. Without a trace: two buckets, the
/// last ready after 60 ms, and 5 ms that follow the exchange.
TEST(Import, AnExperimentNamesBucketsAndWhenTheyAreReady) {
  const CommandLine line;
  EXPECT_EQ(line.tandem("init two --gpus v100:2 --within 10Gbps").exit_code, 0);
  const auto step = [&](const std::string& first, const std::string& second) {
    line.write(
        "job.yaml",
        "platform: two.xml\n"
        "workload:\n"
        "  {model: synthetic, dataset: synthetic, batch: 1, measured_on: v100, measured_forward: 20ms,\n"
        "   measured_update: 5ms, measured_buckets: [25MB " +
            first + ", 25MB " + second +
            "]}\n"
            "placement: {servers: [server]}\n"
            "sync: {preset: ddp}\n"
            "stop: {rounds: 6}\n");
    return step_ms(line, "simulate job.yaml");
  };
  constexpr double near = 1.0;  // latencies, and what the sums of the GPUs take
  EXPECT_NEAR(step("30ms", "60ms"), 60 + 20 + 5, near);
  EXPECT_NEAR(step("30ms", "70ms"), 70 + 20 + 5, near) << "the last bucket is 10 ms later";
  EXPECT_NEAR(step("40ms", "60ms"), 60 + 20 + 5, near) << "the first one is hidden all the same";
  EXPECT_NEAR(step("55ms", "60ms"), 55 + 20 + 20 + 5, near) << "the last one waits for the first";
  step("30ms", "60ms");
  EXPECT_THAT(line.tandem("simulate job.yaml --workers 2 --within 10Gbps --force --out out").output,
              HasSubstr("because the last bucket (25.0 MB) leaves 20."));
  EXPECT_THAT(line.tandem("simulate job.yaml --workers 8 --within 10Gbps --force --out out").output,
              HasSubstr("50.0 MB a step need 70.0 ms of each link"));
}

TEST(Import, WritesAnExperimentThatIsSimulatedUnedited) {
  const CommandLine line;
  line.write("trace.json",
             steps_text(6, R"("deviceProperties": [{"id": 9, "name": "NVIDIA A100-SXM4-40GB"}], )"));
  const auto result = line.tandem("import trace.json --out job.yaml");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  const auto answer = line.tandem("simulate job.yaml --workers 4 --within 25Gbps --out out");
  EXPECT_EQ(answer.exit_code, 0) << answer.output;
  EXPECT_THAT(answer.output, AllOf(HasSubstr("4-a100-25Gbps.xml"), HasSubstr("launch-bound: between"),
                                   HasSubstr("--step-time")));
  const auto again = line.tandem("import trace.json --out job.yaml");
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.output, HasSubstr("already exists"));
  const auto unknown = line.tandem("import trace.json --out other.yaml --device rtx");
  EXPECT_EQ(unknown.exit_code, 2);
}

using LongImport = ::testing::Test;

/// Steps of 100 ms that the GPU binds: the bucket of 100 kB in 16 bits is ready after 40 ms.
std::string slow_steps() {
  MadeTrace made;
  for (int step = 0; step < 6; ++step) {
    const double at = 1000 + 100'000 * step;
    made.span("user_annotation", "ProfilerStep#" + std::to_string(step), at, 90'000);
    made.kernel("gemm", at + 10, at + 1000, 20'000);
    const std::string node = "autograd::engine::evaluate_function: ";
    made.span("cpu_op", node + "AddmmBackward0", at + 20, 80, "\"Sequence number\": 3", 2);
    made.kernel("gemm_backward", at + 30, at + 21'000, 20'000, 2);
    made.sum("allreduce", "50000", at + 50, at + 41'000, 10);
    made.span("cpu_op", node + "torch::autograd::AccumulateGrad", at + 120, 10, "", 2);
    made.kernel("add", at + 121, at + 41'000, 10'000, 2);
    made.span("user_annotation", "Optimizer.step#SGD.step", at + 140, 10);
    made.kernel("sgd", at + 141, at + 51'000, 10'000);
  }
  return made.text(R"("deviceProperties": [{"id": 9, "name": "Tesla V100-SXM2-32GB"}], )");
}

/// On emulated devices; the sum of 100 kB is short in both worlds.
TEST_F(LongImport, AnImportedJobRunsAsLongAsItIsSimulated) {
  const CommandLine line;
  line.write("trace.json", slow_steps());
  EXPECT_EQ(line.tandem("import trace.json --out job.yaml").exit_code, 0);
  const std::string job = " job.yaml --workers 2 --within 10Gbps --set stop.rounds=8";
  const double simulated = step_ms(line, "simulate" + job);
  EXPECT_NEAR(simulated, 100, 2);
  EXPECT_NEAR(step_ms(line, "run" + job), simulated, 0.1 * simulated);
  EXPECT_THAT(line.tandem("show job.yaml").output, HasSubstr("compression: fp16"));
}

/// ResNet-50 on 32 V100, by hand from the trace, and on A100 that wait for their processors.
TEST_F(LongImport, TellsTheStoryOfTheStoredTraces) {
  const std::string v100 = stored_trace("ddp_resnet50_v100_rank0of1.json.gz");
  if (v100.empty()) GTEST_SKIP() << "the stored traces are absent";
  const CommandLine line;
  const auto imported = line.tandem("import " + v100 + " --out job.yaml");
  EXPECT_EQ(imported.exit_code, 0) << imported.output;
  EXPECT_THAT(imported.output, HasSubstr("step 95.664 ms on the GPU"));
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
  const auto study = line.tandem("study job.yaml --vary compression --workers 32 --within 25Gbps,10Gbps");
  EXPECT_EQ(study.exit_code, 0) << study.output;
  EXPECT_THAT(study.output, AllOf(HasSubstr("would not help"), HasSubstr("helps")));

  const std::string a100 = stored_trace("ddp_resnet50_a100_rank0of2.json.gz");
  EXPECT_EQ(line.tandem("import " + a100 + " --out a100.yaml").exit_code, 0);
  const std::string a100_simulate = "simulate a100.yaml --workers 32 --within 25Gbps";
  EXPECT_NEAR(step_ms(line, a100_simulate), 223.9, tolerance * 223.9);
  EXPECT_NEAR(step_ms(line, a100_simulate + " --variant gpu-alone"), 78.8, tolerance * 78.8);
  EXPECT_THAT(line.tandem(a100_simulate + " --force --out out").output, HasSubstr("launch-bound: between"));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
