// A rank program whose device is CUDA's, emulated by the processor (tests/support/cuda_on_host): the same
// jobs as on processors, whose memory, queues, marks, pinned copies and kernels are those of a GPU. What it
// cannot show are a GPU's speed and libtorch's own kernels there.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "tests/cli/command.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Case {
  std::string name;
  std::string settings;
  bool servers_too = true;  ///< the server's host has a GPU as well
};

class GpuRanks : public ::testing::TestWithParam<Case> {
 protected:
  /// The mixed lab, with a GPU number on each host that is to have one.
  std::string platform(bool servers_too) const {
    const std::string host = servers_too ? "(<host id=\"[^>]*>)" : "(<host id=\"node[^>]*>)";
    return line_.write(
        "lab.xml", std::regex_replace(text_of(TANDEM_SOURCE_DIR "/platforms/mixed_lab.xml"), std::regex(host),
                                      "$1<prop id=\"tandem:gpu\" value=\"0\"/>"));
  }
  /// Runs the job on processors and on the emulated GPU, each in a result directory.
  void play(const Case& what) {
    const std::string words = "run " + line_.experiment("evaluate_every: 3\nrun: {devices: native}\n") +
                              " --decisions --operations " + what.settings;
    const auto processors = line_.tandem(words + " --out processors");
    ASSERT_EQ(processors.exit_code, 0) << processors.output;
    const auto gpus = line_.shell("\"$TANDEM\" " + words + " --set platform=" + platform(what.servers_too) +
                                  " --out gpus --print-command | sed 's#/tandem-rank#&-cuda-on-host#' | sh");
    ASSERT_EQ(gpus.exit_code, 0) << gpus.output;
    processors_ = read_results((line_.folder() / "processors").string());
    gpus_ = read_results((line_.folder() / "gpus").string());
  }
  static std::map<std::pair<Rank, int>, double> losses(const Results& results) {
    std::map<std::pair<Rank, int>, double> by_step;
    constexpr double no_number = -1.0;  // which equals itself
    for (const auto& step : results.journal.steps)
      by_step[{step.rank, step.step}] = std::isnan(step.loss) ? no_number : step.loss;
    return by_step;
  }
  CommandLine line_;
  Results processors_;
  Results gpus_;
};

TEST_P(GpuRanks, TrainAsProcessorsDo) {
  play(GetParam());
  EXPECT_EQ(losses(processors_), losses(gpus_));
  ASSERT_EQ(processors_.journal.evaluations.size(), gpus_.journal.evaluations.size());
  ASSERT_FALSE(gpus_.journal.evaluations.empty());
  for (std::size_t i = 0; i < gpus_.journal.evaluations.size(); ++i)
    EXPECT_EQ(processors_.journal.evaluations[i].accuracy, gpus_.journal.evaluations[i].accuracy);
  EXPECT_EQ(text_of(line_.folder() / "processors/model.pt"), text_of(line_.folder() / "gpus/model.pt"));
  for (const char* key : {"samples", "applied_samples", "staleness", "local_steps", "bytes"})
    EXPECT_EQ(processors_.summary.at(key), gpus_.summary.at(key)) << key;
}

const std::string all_reduce = "--set sync.over=all-reduce --set workload.bucket_bytes=4KiB ";
INSTANTIATE_TEST_SUITE_P(
    CudaOnHost, GpuRanks,
    ::testing::Values(
        Case{"Server", ""}, Case{"ServerOnProcessor", "", false},
        Case{"Momentum", "--set optimizer.momentum=0.9 --set optimizer.weight_decay=1e-3"},
        Case{"Adam", "--set optimizer.kind=adam --set optimizer.update_at=workers"},
        Case{"ShardsWithOverlap",
             "--set placement.servers=[server,server] --set sync.overlap=backward --set "
             "workload.bucket_bytes=4KiB"},
        Case{"Ring", all_reduce + "--set sync.collective=ring"},
        Case{"HalvingDoublingBehind",
             all_reduce + "--set sync.collective=halving-doubling --set sync.overlap=backward"},
        Case{"LocalSgd", "--set sync.algorithm=local-sgd"},
        Case{"SlowMo", all_reduce + "--set sync.algorithm=slowmo"},
        Case{"Easgd", "--set sync.algorithm=easgd"},
        Case{"Peers", "--set sync.algorithm=d-psgd --set sync.over=peers"},
        Case{"TopK", "--set sync.compression=top-k", false},
        Case{"TopKGathered", all_reduce + "--set sync.compression=top-k"},
        Case{"OneBit", "--set sync.compression=one-bit --set placement.servers=[server,server]"},
        Case{"Bf16Sums", all_reduce + "--set sync.compression=bf16"},
        Case{"Qsgd", "--set sync.compression=qsgd"},
        Case{"PowerSgdSums", all_reduce + "--set sync.compression=power-sgd"},
        Case{"Convolutions", "--set workload.model=lenet"},
        Case{"Statistics",
             "--set workload.model=resnet18 --set workload.train_samples=48 --set workload.test_samples=10 "
             "--set workload.batch=2 --set stop.rounds=3"},
        Case{"SkippedWithOverlap",
             "--set workload.non_finite=skip --set optimizer.learning_rate=1e18 --set sync.overlap=backward "
             "--set workload.bucket_bytes=4KiB"},
        Case{"SkippedSteps", "--set workload.non_finite=skip --set optimizer.learning_rate=1e18"}),
    [](const auto& instance) { return instance.param.name; });

TEST_F(GpuRanks, OperationsHaveTheDevicesOwnTime) {
  play({"", "--set sync.algorithm=bsp"});
  int computed = 0;
  for (const auto& operation : gpus_.journal.operations) {
    EXPECT_GE(operation.end.count(), operation.start.count());
    computed += operation.kind == "compute" ? 1 : 0;
  }
  EXPECT_GT(computed, 0);
}

TEST_F(GpuRanks, AGpuThatIsNotThereIsToldBeforeAnythingStarts) {
  if (std::filesystem::exists("/dev/nvidia0")) GTEST_SKIP() << "it is there";
  const std::string file = platform(true);
  const auto result = line_.tandem("run " + line_.experiment("run: {devices: native}\n") +
                                   " --set platform=" + file + " --out x");
  EXPECT_EQ(result.exit_code, 70);
  EXPECT_NE(result.output.find("is to compute on GPU 0 of its machine (tandem:gpu in"), std::string::npos)
      << result.output;
}

}  // namespace
}  // namespace tandem::testing
