// Jobs of tandem-rank on the machine's GPU, each twice: a deterministic job trains the same model, bit by
// bit, whatever overlaps. Skipped without a GPU; some of the jobs also run on emulated GPUs, where libtorch
// computes on the processor.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "runtime/gpu/gpu.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/gpu_lab.hpp"
#include "tests/cli/rank_world.hpp"
#include "tests/support/paths.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

struct Gpu {
  const char* name;
  bool is_emulated;
  const char* workload;  ///< settings
};
struct Exchange {
  const char* name;
  const char* settings;
};

void PrintTo(const Gpu& gpu, std::ostream* out) { *out << gpu.name; }
void PrintTo(const Exchange& exchange, std::ostream* out) { *out << exchange.name; }

std::string why_no_gpu() {
  if (const Gpus there = visible_gpus(); there.count == 0) return there.why_none;
  return learner_gpus() == 0 ? "libtorch finds no GPU" : "";
}

class GpuJobs : public ::testing::TestWithParam<std::tuple<Gpu, Exchange, const char*>> {
 protected:
  void SetUp() override {
    if (std::get<Gpu>(GetParam()).is_emulated) return;
    if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  }

  Results run(const std::string& out) const {
    const auto& [gpu, exchange, overlap] = GetParam();
    const std::string words = line_.experiment("evaluate_every: 2\nrun: {devices: native}\n") +
                              " --set platform=" + gpu_lab(line_, true) +
                              " --set placement.workers=[node-1,node-6] --set workload.deterministic=true "
                              "--set optimizer.momentum=0.9 --set sync.overlap=" +
                              overlap + ' ' + gpu.workload + ' ' + exchange.settings + " --out " + out;
    const CommandResult result =
        gpu.is_emulated ? run_in_shared_world(line_, words, testing::build_folder() + "/bin/served_gpu_rank")
                        : line_.tandem("run " + words);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return read_results((line_.folder() / out).string());
  }
  static std::map<std::pair<Rank, int>, double> losses(const Results& results) {
    std::map<std::pair<Rank, int>, double> by_step;
    for (const auto& step : results.journal.steps) by_step[{step.rank, step.step}] = step.loss;
    return by_step;
  }
  CommandLine line_{"real"};
};

TEST_P(GpuJobs, TrainTheSameModelTwice) {
  const Results first = run("first");
  const Results second = run("second");
  EXPECT_TRUE(first.info.physics.at("computed_on").at(0).get<std::string>().starts_with("cuda:0"));
  EXPECT_FALSE(losses(first).empty());
  EXPECT_EQ(losses(first), losses(second));
  const std::string model = text_of(line_.folder() / "first/model.pt");
  EXPECT_GT(model.size(), 1000U);
  // Not EXPECT_EQ, which would print both models.
  EXPECT_TRUE(model == text_of(line_.folder() / "second/model.pt"));
}

// Buckets of which a model has several, so that they overlap.
constexpr Gpu emulated = {"Emulated", true, "--set workload.model=lenet --set workload.bucket_bytes=64KiB"};
constexpr Gpu real = {"Gpu", false,
                      "--set workload.model=resnet18 --set workload.batch=32 --set stop.rounds=20 "
                      "--set workload.train_samples=1280 --set workload.bucket_bytes=1MiB"};

std::string name_of_job(const ::testing::TestParamInfo<GpuJobs::ParamType>& instance) {
  const auto& [gpu, exchange, overlap] = instance.param;
  return std::string(gpu.name) + '_' + exchange.name + '_' + overlap;
}

const auto exchanges =
    ::testing::Values(Exchange{"Ring", "--set sync.over=all-reduce --set sync.collective=ring"},
                      Exchange{"Server", ""}, Exchange{"TopK", "--set sync.compression=top-k"},
                      Exchange{"TopKGathered", "--set sync.over=all-reduce --set sync.compression=top-k"},
                      Exchange{"Bf16",
                               "--set sync.over=all-reduce --set sync.collective=ring "
                               "--set workload.precision=bf16"});
/// On emulated GPUs, whose jobs are also compared with those of processors (GpuRanks).
const auto few_exchanges =
    ::testing::Values(Exchange{"Ring", "--set sync.over=all-reduce --set sync.collective=ring"},
                      Exchange{"TopK", "--set sync.compression=top-k"});
const auto overlaps = ::testing::Values("none", "backward");

INSTANTIATE_TEST_SUITE_P(LongDeterministic, GpuJobs,
                         ::testing::Combine(::testing::Values(emulated), few_exchanges,
                                            ::testing::Values("backward")),
                         name_of_job);
INSTANTIATE_TEST_SUITE_P(Deterministic, GpuJobs,
                         ::testing::Combine(::testing::Values(real), exchanges, overlaps), name_of_job);

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
