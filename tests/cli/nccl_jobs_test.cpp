// Whole jobs whose GPUs sum with NCCL: `tandem run` starts mpirun, whose ranks compute on CUDA emulated on
// the host and sum with an emulated NCCL (tests/support/nccl_on_host). Each worker has a GPU of its own.
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <cstdint>
#include <map>
#include <ostream>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/cli/gpu_lab.hpp"
#include "tests/support/paths.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

const std::vector<std::string> two = {"node-1", "node-6"};
const std::vector<std::string> four = {"node-1", "node-2", "node-3", "node-6"};

class NcclJobs : public ::testing::Test {
 protected:
  /// The command starts the program beside it, here the one with the emulations.
  void SetUp() override {
    const auto made = line_.shell(
        "mkdir bin && { ln \"$TANDEM\" bin/tandem 2> /dev/null || cp \"$TANDEM\" bin/tandem; } && "
        "for lib in \"$(dirname \"$TANDEM\")\"/*.so*; do ln -s \"$lib\" bin/; done && "
        "ln -s \"$(dirname \"$TANDEM\")/tandem-rank-cuda-on-host\" bin/tandem-rank");
    ASSERT_EQ(made.exit_code, 0) << made.output;
  }

  /// The mixed lab, where each of the hosts has a GPU number of its own: all ranks are on this machine.
  std::string platform(const std::vector<std::string>& hosts) const {
    std::vector<Edit> edits;
    for (std::size_t gpu = 0; gpu < hosts.size(); ++gpu)
      edits.push_back(property_of(hosts[gpu], "tandem:gpu", std::to_string(gpu)));
    return edited_lab(line_, edits);
  }
  /// `environment`: NAME=VALUE ...
  CommandResult run(const std::vector<std::string>& workers, const std::string& settings,
                    const std::string& out, const std::string& environment = "") const {
    std::string list;
    for (const std::string& worker : workers) list += (list.empty() ? "" : ",") + worker;
    return line_.shell(environment + " CUDA_ON_HOST_DEVICES=" + std::to_string(workers.size()) +
                       " bin/tandem run " + line_.experiment("evaluate_every: 3\nrun: {devices: native}\n") +
                       " --operations" + " --set placement.workers=[" + list + "] --set platform=" +
                       platform(workers) + " --set sync.over=all-reduce --set sync.collective=native" +
                       " --set workload.bucket_bytes=64KiB " + settings + " --out " + out);
  }
  Results results_of(const std::vector<std::string>& workers, const std::string& settings,
                     const std::string& out, const std::string& environment = "") const {
    const CommandResult result = run(workers, settings, out, environment);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return read_results((line_.folder() / out).string());
  }
  std::string model(const std::string& out) const { return text_of(line_.folder() / out / "model.pt"); }

  static std::string native_sums(const Results& results) {
    return results.info.physics.at("native_sums").get<std::string>();
  }
  static std::map<std::pair<Rank, int>, double> losses(const Results& results) {
    std::map<std::pair<Rank, int>, double> by_step;
    for (const auto& step : results.journal.steps) by_step[{step.rank, step.step}] = step.loss;
    return by_step;
  }
  /// Bytes that messages and sums have copied from GPUs to the host.
  static std::int64_t copied_out(const Results& results) {
    std::int64_t bytes = 0;
    for (const auto& operation : results.journal.operations)
      if (is_copy(operation) && operation.work == "out") bytes += operation.bytes;
    return bytes;
  }
  CommandLine line_{"real"};
};
using LongNcclJobs = NcclJobs;

const std::string without_nccl = "NCCL_ON_HOST_HIDDEN=1";

struct Sums {
  const char* name;
  std::string settings;
  std::size_t rounds = 6;
};
void PrintTo(const Sums& sums, std::ostream* out) { *out << sums.name; }

class NcclJobsOf : public NcclJobs, public ::testing::WithParamInterface<Sums> {};

// Two summands have one sum, in whatever order they are added.
TEST_P(NcclJobsOf, TwoWorkersTrainTheModelOfMpi) {
  const std::string settings =
      GetParam().settings + " --set stop.rounds=" + std::to_string(GetParam().rounds);
  const Results first = results_of(two, settings, "first");
  const CommandResult without = run(two, settings, "mpi", without_nccl);
  ASSERT_EQ(without.exit_code, 0) << without.output;
  EXPECT_NE(without.output.find("rank 0: NCCL does not load, its GPU sums through MPI: hidden"),
            std::string::npos)
      << without.output;
  const Results by_mpi = read_results((line_.folder() / "mpi").string());
  EXPECT_EQ(native_sums(first), "NCCL");
  EXPECT_EQ(native_sums(by_mpi), "MPI");
  EXPECT_TRUE(first.info.physics.at("computed_on").at(1).get<std::string>().starts_with("cuda:1"));
  EXPECT_EQ(copied_out(first), 0);
  EXPECT_GT(copied_out(by_mpi), 0);
  EXPECT_EQ(losses(first).size(), 2 * GetParam().rounds);
  EXPECT_EQ(losses(first), losses(by_mpi));
  EXPECT_GT(model("first").size(), 1000U);
  // Not EXPECT_EQ, which would print the models.
  EXPECT_TRUE(model("first") == model("mpi"));
}

INSTANTIATE_TEST_SUITE_P(LongNcclOnHost, NcclJobsOf,
                         ::testing::Values(Sums{"BehindBackward", "--set sync.overlap=backward"},
                                           Sums{"Fp16", "--set sync.compression=fp16"},
                                           // Emulated kernels take seconds for each round.
                                           Sums{"TopKGathered", "--set sync.compression=top-k", 2}),
                         [](const auto& instance) { return instance.param.name; });

// NCCL and MPI add in different orders, so that the last digits differ.
TEST_F(LongNcclJobs, FourWorkersTrainTheModelOfMpiButForRounding) {
  const Results first = results_of(four, "", "first");
  const Results again = results_of(four, "", "again");
  const Results by_mpi = results_of(four, "", "mpi", without_nccl);
  EXPECT_EQ(native_sums(first), "NCCL");
  EXPECT_EQ(native_sums(by_mpi), "MPI");
  EXPECT_TRUE(model("first") == model("again"));
  const auto own = losses(first), of_mpi = losses(by_mpi);
  ASSERT_EQ(own.size(), 24U);
  ASSERT_EQ(of_mpi.size(), own.size());
  for (const auto& [step, loss] : own) EXPECT_NEAR(loss, of_mpi.at(step), 1e-4 * std::abs(loss));
}

// All buckets are parts of it.
TEST_F(LongNcclJobs, TheFlatGradientIsRegisteredOnceAndGivenUp) {
  const Results results = results_of(two, "", "registered", "NCCL_ON_HOST_LOG=log");
  const Results old = results_of(two, "", "old", "NCCL_ON_HOST_OLD=1 NCCL_ON_HOST_LOG=old_log");
  EXPECT_EQ(native_sums(results), "NCCL");
  EXPECT_EQ(native_sums(old), "NCCL");
  EXPECT_TRUE(model("registered") == model("old"));
  std::map<std::string, int> lines;
  std::istringstream log(text_of(line_.folder() / "log"));
  for (std::string line; std::getline(log, line);) ++lines[line];
  const std::string gradient = std::to_string(199210 * sizeof(float));
  std::map<std::string, int> wanted;
  for (const std::string rank : {"rank 0", "rank 1"})
    for (const std::string what : {" registers ", " gives up "}) wanted[rank + what + gradient] = 1;
  EXPECT_EQ(lines, wanted);
  EXPECT_EQ(text_of(line_.folder() / "old_log"), "");
}

TEST_F(LongNcclJobs, WorkersThatShareAGpuSumThroughMpi) {
  const std::string shared = line_.write(
      "shared.xml", std::regex_replace(text_of(platform(two)), std::regex("value=\"1\""), "value=\"0\""));
  const Results results = results_of(two, "--set platform=" + shared, "shared");
  EXPECT_EQ(native_sums(results), "MPI");
  EXPECT_GT(copied_out(results), 0);
}

/// For rank 1, in the middle of its fifth sum.
std::string signal_in_a_sum(int signal) { return "NCCL_ON_HOST_SIGNAL=1:5:" + std::to_string(signal); }

// Its sum would wait for it for half an hour.
TEST_F(LongNcclJobs, ARankThatIsKilledDuringASumEndsTheJobAndIsNamed) {
  const CommandResult result = run(two, "", "killed", signal_in_a_sum(SIGKILL));
  EXPECT_EQ(result.exit_code, 70) << result.output;
  EXPECT_TRUE(std::regex_search(result.output,
                                std::regex("rank 1 (on host \\S+: )?was ended by signal 9 \\(Killed\\)")))
      << result.output;
  EXPECT_NE(text_of(line_.folder() / "killed/INCOMPLETE").find("was ended by signal 9"), std::string::npos);
}

TEST_F(LongNcclJobs, ARankThatHangsDuringASumEndsTheJobAfterTheTimeOfSums) {
  const CommandResult result = run(two, "--set run.sum_timeout=2s", "hung", signal_in_a_sum(SIGSTOP));
  EXPECT_EQ(result.exit_code, 70) << result.output;
  EXPECT_NE(result.output.find("ncclAllReduce of ranks 0 1 has not ended after 2 s: one of them hangs"),
            std::string::npos)
      << result.output;
  const CommandResult left = line_.shell(list_processes("tandem-rank.*|mpirun"));
  EXPECT_EQ(left.output, "") << "processes are left";
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
