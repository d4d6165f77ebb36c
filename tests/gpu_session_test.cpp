// tests/gpu_session with programs that only print what the test needs, and with emulated CUDA: verdicts,
// records, report, failures, limits of time, interruption, bundle. No GPU is needed, and one that is there is
// not used.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/process/run_program.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string root = testing::source_folder();

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A benchmark's output file with one counter of each benchmark.
std::string benchmarks(const std::vector<std::pair<std::string, double>>& values,
                       const std::string& counter) {
  json list = json::array();
  for (const auto& [name, value] : values)
    list.push_back({{"name", name}, {"real_time", 2.5}, {"time_unit", "ms"}, {counter, value}});
  return json{{"context", {{"date", "now"}}}, {"benchmarks", list}}.dump(2);
}

/// The output of a training step whose two targets are measured.
std::string training_step(const std::string& name, double ratio) {
  json output = json::parse(benchmarks({{name, ratio}}, "ratio"));
  output.at("benchmarks").at(0)["graphs"] = 0.9;
  return output.dump(2);
}

class GpuSession : public ::testing::Test {
 protected:
  void SetUp() override {
    program("tandem-rank", "echo fake");
    // Takes the place of the machine's own, whether it has a GPU or not.
    gpu("NVIDIA H100 80GB HBM3, 580.159.04, 81559 MiB, 1980 MHz, 2619 MHz, 700.00 W");
  }
  /// What nvidia-smi says about the GPU; empty: it finds none.
  void gpu(const std::string& line) const {
    executable("path/nvidia-smi", line.empty()
                                      ? "echo 'No devices were found'; exit 6"
                                      : "case $* in *--loop*) echo '1755, 2619, 512.5, 60, 99'; sleep 60 ;; "
                                        "*) echo '" +
                                            line + "' ;; esac");
  }
  void program(const std::string& name, const std::string& script) const {
    executable("build/bin/" + name, script);
  }
  /// A program that writes `text` to the file that its arguments name.
  void benchmark(const std::string& name, const std::string& text, const std::string& then = "") const {
    program(name, "cat > benchmarks.json << 'END'\n" + text + "\nEND\n" + then);
  }
  ProgramResult session(const std::string& words, const std::string& build = "") const {
    return shell(command(words, build));
  }
  std::string command(const std::string& words, const std::string& build = "") const {
    return "PATH='" + folder_.path("path") + "':\"$PATH\" '" + root +
           "/tests/gpu_session' --out out --build '" + (build.empty() ? folder_.path("build") : build) +
           "' " + words;
  }
  ProgramResult shell(const std::string& text) const {
    return run_program({"sh", "-c", "cd '" + folder_.path().string() + "'; " + text},
                       {.time_limit = Seconds(400)});
  }
  json record(const std::string& step) const {
    return json::parse(text_of(folder_.path("out/" + step + ".json")));
  }
  std::set<std::string> files(const std::string& folder) const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path(folder)))
      names.insert(entry.path().filename());
    return names;
  }
  TemporaryFolder folder_;

 private:
  void executable(const std::string& name, const std::string& script) const {
    const std::string path = folder_.write(name, "#!/bin/sh\n" + script + "\n");
    fs::permissions(path, fs::perms::owner_all);
  }
};
using LongGpuSession = GpuSession;

void expect_text(const ProgramResult& result, const std::string& text) {
  EXPECT_NE(result.output.find(text), std::string::npos) << text << "\nnot found in\n" << result.output;
}

TEST_F(GpuSession, HelpHasExamplesAndListHasEveryStep) {
  const auto help = session("--help");
  EXPECT_EQ(help.status.shell_code(), 0);
  expect_text(help, "examples:");
  expect_text(help, "tests/gpu_session --report --out");
  const auto list = session("--list");
  for (const char* step :
       {"device_tests", "learner_tests", "kernels", "copies", "messages", "steps_224", "steps_32", "worker",
        "exchange", "ranks", "nccl", "calibrate", "validate", "sanitize_memcheck", "sanitize_racecheck",
        "sanitize_initcheck", "sanitize_synccheck"})
    expect_text(list, step);
}

TEST_F(GpuSession, WrongWordsAreReported) {
  const auto step = session("kernel");
  EXPECT_EQ(step.status.shell_code(), 2);
  expect_text(step, "no step is called 'kernel'; steps: device_tests, ");
  const auto limit = session("--limit 481");
  EXPECT_EQ(limit.status.shell_code(), 2);
  expect_text(limit, "expected 1 to 480 seconds, found 481");
  const auto build = session("kernels", "nowhere");
  EXPECT_EQ(build.status.shell_code(), 2);
  expect_text(build, "nowhere: expected a build folder with bin/");
  const auto report = session("--report");
  EXPECT_EQ(report.status.shell_code(), 2);
  expect_text(report, "out: expected the results of a session");
}

TEST_F(GpuSession, TheReadmeHasTheTargets) {
  const auto table = session("--targets");
  ASSERT_EQ(table.status.shell_code(), 0) << table.output;
  EXPECT_NE(text_of(root + "/runtime/gpu/README.md").find(table.output), std::string::npos)
      << "runtime/gpu/README.md has to contain what `tests/gpu_session --targets` prints:\n"
      << table.output;
}

TEST_F(LongGpuSession, WithoutAGpuEverythingIsSkipped) {
  gpu("");
  const auto result = session("");
  EXPECT_EQ(result.status.shell_code(), 77) << result.output;
  expect_text(result, "kernels: of_copy at least 0.85: skipped: no GPU\n");
  expect_text(result, "validate: step_time_error at most 0.05: skipped: no GPU\n");
  EXPECT_EQ(result.output.find("reached"), std::string::npos) << result.output;
  for (const auto& name : files("out")) {
    const json step = json::parse(text_of(folder_.path("out/" + name)));
    EXPECT_EQ(step.at("status"), "skipped") << name;
    EXPECT_EQ(step.at("reason"), "no GPU") << name;
    for (const json& target : step.at("targets")) EXPECT_EQ(target.at("verdict"), "skipped") << name;
  }
  EXPECT_EQ(files("out").size(), 17U);
}

TEST_F(GpuSession, TargetsAreReachedOrMissedByTheWorstFigure) {
  benchmark("kernels_benchmark", benchmarks({{"add/KiB:131072/manual_time", 0.95},
                                             {"fill/KiB:131072/manual_time", 0.75},
                                             {"fill/KiB:4096/manual_time", 0.2}},
                                            "of_copy"));
  benchmark("learner_benchmark",
            training_step("gpu_step/resnet18/32/bf16/fastest/iterations:30/manual_time", 1.01));
  const auto result = session("kernels steps_32");
  EXPECT_EQ(result.status.shell_code(), 1) << result.output;
  expect_text(result, "kernels: of_copy at least 0.85: missed by 0.1 (0.75, fill/KiB:131072; 1 of 2)\n");
  expect_text(result, "kernels: of_torch at least 1: not measured: the step printed no such figure\n");
  expect_text(
      result,
      "steps_32: ratio at most 1.03: reached, 0.02 to spare (1.01, gpu_step/resnet18/32/bf16/fastest)\n");
  const json target = record("kernels").at("targets").at(0);
  EXPECT_EQ(target.at("verdict"), "missed");
  EXPECT_DOUBLE_EQ(target.at("by").get<double>(), 0.85 - 0.75);
  EXPECT_EQ(target.at("missed"), json({"fill/KiB:131072"}));
  const json step = record("steps_32");
  EXPECT_EQ(step.at("status"), "done");
  EXPECT_EQ(step.at("machine").at("gpu").at("name"), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(step.at("clocks").at("clocks.sm").at("median"), 1755.0);
  EXPECT_EQ(step.at("commands").at(0).at("words").at(0), "learner_benchmark");
  EXPECT_EQ(session("steps_32").status.shell_code(), 0);
}

TEST_F(LongGpuSession, TheReportHasDeviceClocksFiguresAndCommands) {
  benchmark("learner_benchmark",
            benchmarks({{"gpu_step/resnet18/32/tf32/fastest/manual_time", 1.125}}, "ratio"));
  session("steps_32");
  const auto made = session("--report report.md");
  ASSERT_EQ(made.status.shell_code(), 0) << made.output;
  const std::string report = text_of(folder_.path("report.md"));
  for (const char* text :
       {": NVIDIA H100 80GB HBM3\n",
        "`ratio` at most 1.03 | missed | 1.125 (gpu_step/resnet18/32/tf32/fastest) | beyond by 0.095",
        "| GPU: driver_version | 580.159.04 |", "| steps_32 | clocks.sm | 1755 | 1755 | 1755 |",
        "| gpu_step/resnet18/32/tf32/fastest | 2500 | 1.125 |",
        "learner_benchmark --benchmark_out=benchmarks.json", "tests/gpu_session --report --out out"})
    EXPECT_NE(report.find(text), std::string::npos) << text << "\nnot found in\n" << report;
  EXPECT_EQ(report.find("emulated"), std::string::npos);
}

TEST_F(LongGpuSession, AStepThatFailsReachesNothing) {
  benchmark("learner_benchmark", benchmarks({{"gpu_step/resnet18/32/tf32/fastest", 1.0}}, "ratio"),
            "echo out of cheese; exit 3");
  const auto result = session("steps_32");
  EXPECT_EQ(result.status.shell_code(), 1);
  expect_text(result, "steps_32: failed: exit code 3 of: learner_benchmark ");
  expect_text(result, "out of cheese");
  expect_text(result, "ratio at most 1.03: not measured: the step failed\n");
  EXPECT_EQ(record("steps_32").at("status"), "failed");
  EXPECT_NE(text_of(folder_.path("out/steps_32.log")).find("out of cheese"), std::string::npos);
}

TEST_F(LongGpuSession, ABenchmarkThatReportsAnErrorFailsItsStep) {
  benchmark(
      "learner_benchmark",
      R"({"benchmarks": [{"name": "gpu_step/a", "error_occurred": true, "error_message": "no memory left"}]})");
  const auto result = session("steps_32");
  EXPECT_EQ(result.status.shell_code(), 1);
  expect_text(result, "steps_32: failed: gpu_step/a: no memory left");
}

TEST_F(LongGpuSession, TestsThatAreAllSkippedAreNotReached) {
  program("gpu_learner_test", R"(printf 'test.cpp:20: Skipped\nthis libtorch is for the processor only\n'
    echo '{"testsuites": [{"testsuite": [{"name": "A", "result": "SKIPPED"}]}]}' > tests.json)");
  program("gpu_device_test", R"(echo '{"testsuites": [{"testsuite": [{"name": "A", "result": "COMPLETED"},
    {"name": "B", "result": "COMPLETED", "failures": [{}]}]}]}' > tests.json; exit 1)");
  const auto result = session("learner_tests device_tests");
  EXPECT_EQ(result.status.shell_code(), 1);
  expect_text(result,
              "learner_tests: failed_tests at most 0: skipped: this libtorch is for the processor only\n");
  expect_text(result, "device_tests: failed_tests at most 0: missed by 1 (1, gpu_device_test; 1 of 1)\n");
}

TEST_F(LongGpuSession, ProgramsThatTheBuildLacksAreNamed) {
  const auto result = session("exchange");
  EXPECT_EQ(result.status.shell_code(), 77);
  expect_text(result, "of_bound at most 1.1: skipped: no gpu_exchange in ");
}

TEST_F(LongGpuSession, AStepThatRunsOutOfTimeKeepsWhatItMeasured) {
  std::string text =
      benchmarks({{"fill/KiB:131072", 0.9}, {"scale/KiB:131072", 0.5}, {"add/KiB:131072", 0.9}}, "of_copy");
  text.resize(text.find("add/KiB"));  // as the program leaves it when it is killed
  benchmark("kernels_benchmark", text, "sleep 61.25 & sleep 61.25");
  const auto result = session("--limit 1 kernels");
  EXPECT_EQ(result.status.shell_code(), 1);
  expect_text(result, "kernels: timed out: 1 s were over during: kernels_benchmark ");
  expect_text(result, "of_copy at least 0.85: missed by 0.35 (0.5, scale/KiB:131072; 1 of 2)\n");
  EXPECT_EQ(record("kernels").at("status"), "timed out");
  EXPECT_EQ(shell("pgrep -f '^sleep 61.25$'").output, "") << "a program is left";
}

TEST_F(LongGpuSession, AnInterruptionLeavesNothingHalfWritten) {
  benchmark("learner_benchmark", training_step("gpu_step/resnet18/32", 1.0));
  ASSERT_EQ(session("steps_32").status.shell_code(), 0);
  const auto before = files("out");
  const std::string record_before = text_of(folder_.path("out/steps_32.json"));
  benchmark("learner_benchmark", "{", "touch ../../../started; sleep 62.25 & sleep 62.25");
  const auto result =
      shell("(" + command("steps_32") +
            ") & until [ -e started ]; do sleep 0.05; done; kill -INT $!; wait $!; echo code $?");
  expect_text(result, "interrupted by SIGINT");
  expect_text(result, "code 130");
  EXPECT_EQ(files("out"), before);
  EXPECT_EQ(text_of(folder_.path("out/steps_32.json")), record_before);
  EXPECT_EQ(shell("pgrep -f '^sleep 62.25$'").output, "") << "a program is left";
}

TEST_F(LongGpuSession, AResultIsNotReplacedByAMissingGpu) {
  benchmark("learner_benchmark", training_step("gpu_step/resnet18/32", 1.0));
  ASSERT_EQ(session("steps_32").status.shell_code(), 0);
  gpu("");
  const auto result = session("steps_32");
  expect_text(result, "steps_32: skipped: no GPU; out/steps_32.json keeps the earlier result");
  EXPECT_EQ(record("steps_32").at("status"), "done");
}

TEST_F(LongGpuSession, JobsThatTrainAnotherModelAreFound) {
  // The last two words are `--out JOB-RUN -q`.
  program("tandem",
          "while [ $# -gt 2 ]; do shift; done; mkdir \"$1\"; case $1 in top-k-none-*) echo $1 ;; "
          "peer-*) echo peer ;; *) echo same ;; esac > $1/model.pt");
  const auto result = session("ranks");
  EXPECT_EQ(result.status.shell_code(), 1);
  expect_text(result, "ranks: different_models at most 0: missed by 1 (1, top-k-none; 1 of 10)\n");
  expect_text(result, "ranks: other_than_staged at most 0: missed by 1 (1, peer; 1 of 1)\n");
}

TEST_F(LongGpuSession, JobsThatNcclDoesNotSumOrSumsOtherwiseAreFound) {
  // The last two words are `--out JOB-RUN -q`.
  const std::string last = "while [ $# -gt 2 ]; do shift; done; mkdir \"$1\"; ";
  program("tandem", last +
                        "case $1 in fp16-*) by=MPI ;; *) by=NCCL ;; esac; echo "
                        "\"{\\\"physics\\\": {\\\"native_sums\\\": \\\"$by\\\"}}\" > $1/run.json; "
                        "case $1 in top-k-ring) echo ring ;; *) echo same ;; esac > $1/model.pt");
  const auto result = session("nccl");
  EXPECT_EQ(result.status.shell_code(), 1);
  expect_text(result, "nccl: sums_without_nccl at most 0: missed by 1 (1, fp16; 1 of 3)\n");
  expect_text(result, "nccl: different_models at most 0: reached");
  expect_text(result, "nccl: other_than_ring at most 0: missed by 1 (1, top-k; 1 of 3)\n");
}

TEST_F(LongGpuSession, AJobThatFailsIsNoReachedTarget) {
  program(
      "tandem",
      "while [ $# -gt 2 ]; do shift; done; case $1 in fp16-2) echo 'out of memory'; exit 70 ;; esac; mkdir "
      "\"$1\"; echo same > $1/model.pt");
  const auto result = session("nccl");
  EXPECT_EQ(result.status.shell_code(), 1);
  expect_text(result, "nccl: failed: the job fp16-2 has no model");
  EXPECT_EQ(result.output.find("reached"), std::string::npos) << result.output;
}

TEST_F(LongGpuSession, JobsOnTwoGpusAreSkippedWithOne) {
  program(
      "tandem",
      "echo 'tandem: rank 1 on host a: rank 1 (worker on gpu-1) needs GPU 1 of its machine (tandem:gpu in "
      "x.xml), but tandem-rank finds 1; check nvidia-smi'; exit 70");
  expect_text(session("nccl"), "nccl: different_models at most 0: skipped: the machine has one GPU\n");
}

TEST_F(LongGpuSession, TheWorkerOfARunIsComparedWithTheBareLoop) {
  program("tandem", "while [ $# -gt 1 ]; do [ $1 = --out ] && mkdir $2; shift; done");
  program(
      "bare_loop",
      "test -d $1 || exit 2\n"
      "printf 'bare contiguous 20.0 ms\\nbare channels_last  12.500 ms\\nworker of the run  13.125 ms\\n'\n"
      "printf 'worker / bare  1.0500 (resnet18, batch 256, cuda:0 (NVIDIA H100))\\n'");
  expect_text(session("worker"), "worker: ratio at most 1.03: missed by 0.02 (1.05, alone; 1 of 1)\n");
  EXPECT_EQ(record("worker").at("figures").size(), 4U);
  program("bare_loop", "echo 'bare_loop: nothing measured, because libtorch finds no GPU'");
  expect_text(session("worker"), "worker: ratio at most 1.03: skipped: libtorch finds no GPU\n");
}

TEST_F(LongGpuSession, SanitizerErrorsAreAdded) {
  const std::string sanitizer =
      folder_.write("path/compute-sanitizer", "#!/bin/sh\necho '===== ERROR SUMMARY: 2 errors'\n");
  fs::permissions(sanitizer, fs::perms::owner_all);
  program("gpu_device_test", "echo tested");
  const auto result = session("sanitize_synccheck");
  expect_text(result, "sanitize_synccheck: errors at most 0: missed by 2 (2, synccheck; 1 of 1)\n");
}

TEST_F(LongGpuSession, ABundleHasTheScriptAndWhatItsProgramsLoad) {
  program("tandem-rank", "exit 1");
  fs::remove(folder_.path("build/bin/tandem-rank"));
  const auto without = session("--bundle bundle.tar.xz");
  EXPECT_EQ(without.status.shell_code(), 2);
  expect_text(without, "has no program for GPUs: build with the CUDA Toolkit");
  fs::copy_file("/proc/self/exe", folder_.path("build/bin/gpu_device_test"));
  const auto made = session("--bundle bundle.tar.xz");
  ASSERT_EQ(made.status.shell_code(), 0) << made.output;
  expect_text(made, "bundle.tar.xz: ");
  expect_text(made, "not in this build, and therefore not in the bundle: tandem, tandem-rank,");
  const auto listed = shell("tar xf bundle.tar.xz && tandem-gpu/tests/gpu_session --list");
  EXPECT_EQ(listed.status.shell_code(), 0);
  expect_text(listed, "sanitize_synccheck");
  EXPECT_TRUE(fs::exists(folder_.path("tandem-gpu/bin/gpu_device_test")));
  EXPECT_TRUE(fs::exists(folder_.path("tandem-gpu/workloads/experiments/one_h100.yaml")));
  EXPECT_FALSE(fs::exists(folder_.path("tandem-gpu/lib/libc.so.6")));
  EXPECT_EQ(json::parse(text_of(folder_.path("tandem-gpu/manifest.json"))).at("programs"),
            json({"gpu_device_test"}));
}

/// Steps with emulated CUDA, one name after the other.
class EmulatedSession : public GpuSession {
 protected:
  void expect_measured(const std::string& names) const {
    gpu("");
    const auto result = session("--emulated " + names + " steps_224", testing::build_folder());
    EXPECT_EQ(result.status.shell_code(), 0) << result.output;
    EXPECT_EQ(result.output.find("reached"), std::string::npos) << result.output;
    std::istringstream steps(names);
    for (std::string name; steps >> name;) {
      const json step = record(name);
      EXPECT_EQ(step.at("status"), "done") << name << ": " << step.at("reason") << '\n' << result.output;
      EXPECT_TRUE(step.at("emulated").get<bool>());
      EXPECT_FALSE(step.at("figures").empty()) << name;
      for (const json& target : step.at("targets"))
        EXPECT_EQ(target.at("verdict"), target.at("text") == "at most 0" ? "emulated" : "skipped") << name;
    }
    EXPECT_EQ(record("steps_224").at("reason"), "no GPU");
  }
};
using LongEmulatedSession = EmulatedSession;

TEST_F(LongEmulatedSession, StepsRunTheSamePathAndReachNothing) {
  expect_measured(TANDEM_EMULATED_STEPS);
  const auto made = session("--report");
  ASSERT_EQ(made.status.shell_code(), 0) << made.output;
  const std::string report = text_of(folder_.path(made.output.substr(0, made.output.find('\n'))));
  EXPECT_NE(report.find("**CUDA was emulated on the processor.**"), std::string::npos) << report;
}

TEST_F(LongEmulatedSession, EmulatedPredictions) {
  const std::string steps = TANDEM_EMULATED_PREDICTIONS;
  if (steps.empty()) GTEST_SKIP() << "built without SimGrid, MPI or libtorch";
  expect_measured(steps);
  EXPECT_EQ(record("validate").at("figures").at(0).at("figure"), "step_time_error");
}

}  // namespace
}  // namespace tandem::testing
