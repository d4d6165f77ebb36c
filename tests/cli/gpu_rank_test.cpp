// A rank program whose device is CUDA emulated on the host (tests/support/cuda_on_host): the same jobs as on
// processors, with the memory, queues, marks, pinned copies and kernels of a GPU. It does not cover the speed
// of a GPU, nor libtorch's GPU kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/cli/gpu_lab.hpp"
#include "tests/cli/rank_world.hpp"
#include "tests/support/paths.hpp"
#include "validation/compare/gates.hpp"
#include "workloads/cost/profile.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

// Every additional rank makes each of the many jobs a quarter slower; a simulation trains the same model in a
// single process.
const std::string two = "[node-1,node-6]";
const std::string four = "[node-1,node-2,node-3,node-6]";

struct Case {
  std::string name;
  std::string settings;
  bool servers_too = true;  ///< the server's host has a GPU too
  std::string workers = two;
  std::string processors = "simulate";  ///< the command that trains on processors
};

class GpuRanks : public ::testing::Test {
 protected:
  std::string platform(bool servers_too) const { return gpu_lab(line_, servers_too); }
  /// The same lab, where the workers' devices are GPUs of the catalogue; no host has a GPU number.
  std::string catalogue_platform() const {
    return edited_lab(line_, {{"(<host id=\"node[^>]*>\\s*<prop id=\"device\" value=\")[^\"]*", "$1v100"}},
                      "gpus.xml");
  }
  /// Runs the job with the emulated GPUs, which `environment` (NAME=VALUE ...) may limit.
  CommandResult on_gpus(const std::string& words, const std::string& environment = "",
                        const std::string& out = "gpus") const {
    return line_.shell("\"$TANDEM\" " + words + " --out " + out +
                       " --print-command | sed 's#/tandem-rank#&-cuda-on-host#' | " + environment + " sh");
  }
  std::string training() const { return "run " + line_.experiment("run: {devices: native}\n"); }
  /// Runs the job on processors and on the emulated GPU, with one result directory each.
  void play(const Case& what) {
    const std::string words = " " + line_.experiment("evaluate_every: 3\nrun: {devices: native}\n") +
                              " --decisions --operations --set placement.workers=" + what.workers + " " +
                              what.settings;
    const auto processors = line_.tandem(what.processors + words + " --out processors");
    ASSERT_EQ(processors.exit_code, 0) << processors.output;
    const auto gpus =
        run_in_shared_world(line_, words + " --set platform=" + platform(what.servers_too) + " --out gpus",
                            testing::build_folder() + "/bin/served_gpu_rank");
    ASSERT_EQ(gpus.exit_code, 0) << gpus.output;
    processors_ = read_results((line_.folder() / "processors").string());
    gpus_ = read_results((line_.folder() / "gpus").string());
  }
  /// A job on GPUs that is resumed trains the model of one on processors that is not.
  void resume(const std::string& settings) {
    const std::string words =
        "run " + line_.experiment("evaluate_every: 2\nrun: {devices: native}\n") + " --force " + settings;
    const auto whole = line_.tandem(words + "--out whole");
    ASSERT_EQ(whole.exit_code, 0) << whole.output;
    const auto first = on_gpus(words + "--set stop.rounds=4 --set platform=" + platform(true), "", "first");
    ASSERT_EQ(first.exit_code, 0) << first.output;
    const auto second = on_gpus("run --resume first --force --set stop.rounds=6", "", "second");
    ASSERT_EQ(second.exit_code, 0) << second.output;
    EXPECT_EQ(text_of(line_.folder() / "whole/model.pt"), text_of(line_.folder() / "second/model.pt"));
  }
  /// To the byte, and so are the losses of all steps.
  void expect_same_models() const {
    EXPECT_EQ(losses(processors_), losses(gpus_));
    EXPECT_EQ(text_of(line_.folder() / "processors/model.pt"), text_of(line_.folder() / "gpus/model.pt"));
  }
  /// Also evaluates alike, and counts alike.
  void expect_same_training(const Case& what) {
    play(what);
    if (HasFatalFailure()) return;
    expect_same_models();
    ASSERT_EQ(processors_.journal.evaluations.size(), gpus_.journal.evaluations.size());
    ASSERT_FALSE(gpus_.journal.evaluations.empty());
    for (std::size_t i = 0; i < gpus_.journal.evaluations.size(); ++i)
      EXPECT_EQ(processors_.journal.evaluations[i].accuracy, gpus_.journal.evaluations[i].accuracy);
    for (const char* key : {"samples", "applied_samples", "staleness", "local_steps", "bytes"})
      EXPECT_EQ(to_json(processors_.summary).at(key), to_json(gpus_.summary).at(key)) << key;
  }
  static std::map<std::pair<Rank, int>, double> losses(const Results& results) {
    std::map<std::pair<Rank, int>, double> by_step;
    constexpr double no_number = -1.0;  // compares equal to itself, unlike NaN
    for (const auto& step : results.journal.steps)
      by_step[{step.rank, step.step}] = std::isnan(step.loss) ? no_number : step.loss;
    return by_step;
  }
  CommandLine line_{"real"};
  Results processors_;
  Results gpus_;
};
using LongGpuRanks = GpuRanks;

const std::string all_reduce = "--set sync.over=all-reduce --set workload.bucket_bytes=4KiB ";
const std::string of_peers =
    "--set run.device_messages=peer --set workload.model=resnet18 --set workload.train_samples=16 --set "
    "workload.test_samples=4 --set workload.batch=1 --set stop.rounds=3 ";

/// One for each kernel of algorithms, codecs and optimisers, and each way of messages and sums.
std::vector<Case> cases() {
  return {
      Case{"ServerOnProcessor", "", false},
      Case{"Momentum", "--set optimizer.momentum=0.9 --set optimizer.weight_decay=1e-3"},
      Case{"OnePushPerUpdate", "--set sync.algorithm=asp --set optimizer.momentum=0.9", true, "[node-1]"},
      Case{"Adam", "--set optimizer.kind=adam --set optimizer.update_at=workers"},
      Case{"ShardsWithOverlap",
           "--set placement.servers=[server,server] --set sync.overlap=backward --set "
           "workload.bucket_bytes=4KiB"},
      Case{"HalvingDoublingBehind",
           all_reduce + "--set sync.collective=halving-doubling --set sync.overlap=backward", true, four},
      Case{"LocalSgd", "--set sync.algorithm=local-sgd"},
      Case{"SlowMo", all_reduce + "--set sync.algorithm=slowmo"}, Case{"Easgd", "--set sync.algorithm=easgd"},
      Case{"Peers", "--set sync.algorithm=d-psgd --set sync.over=peers", true, four},
      Case{"TopK", "--set sync.compression=top-k", false},
      Case{"OneBit", "--set sync.compression=one-bit --set placement.servers=[server,server]"},
      Case{"TopKGatheredBehind", all_reduce + "--set sync.compression=top-k --set sync.overlap=backward"},
      Case{"SignBehind", all_reduce + "--set sync.compression=sign --set sync.overlap=backward"},
      Case{"PowerSgdBehind", all_reduce + "--set sync.compression=power-sgd --set sync.overlap=backward"},
      Case{"Bf16Sums", all_reduce + "--set sync.compression=bf16"},
      Case{"Qsgd", "--set sync.compression=qsgd"},
      Case{"NativeSumsOfBf16", all_reduce + "--set sync.collective=native --set sync.compression=bf16"},
      Case{"NativeSumsOfFactors",
           all_reduce + "--set sync.collective=native --set sync.compression=power-sgd"},
      Case{"NativeGathersOfTopK",
           all_reduce +
               "--set sync.collective=native --set sync.compression=top-k --set sync.overlap=backward"},
      Case{"NativeSumsOfGroups",
           all_reduce + "--set sync.collective=native --set sync.algorithm=group-average", true, four,
           // MPI's order of additions differs from the simulator's.
           "run"},
      // With one worker, timing-driven algorithms are reproducible.
      Case{"DcAsgd", "--set sync.algorithm=dc-asgd --set placement.workers=[node-1]"},
      Case{"DcAsgdAdaptive", "--set sync.algorithm=dc-asgd-adaptive --set placement.workers=[node-1]"},
      Case{"DcAsgdOfOneBackup", "--set sync.algorithm=dc-asgd-mxnet --set placement.workers=[node-1]"},
      Case{"StorageAndCache",
           "--set data.source=storage --set data.cache_capacity=100000 --set "
           "placement.cache_nodes=[server] --set data.prefetch=2"},
      Case{"Bf16Precision", "--set workload.precision=bf16"},
      Case{"Convolutions", "--set workload.model=lenet"},
      // A model of more than 2 MiB, whose messages ranks copy from each other's GPUs, and with statistics
      // of batches. Over a ring: MessagesBetweenPeersAreCopiedOnce.
      Case{"PeerMessages", of_peers + "--set optimizer.momentum=0.9"},
      Case{"PeerMessagesBehind",
           of_peers + "--set sync.over=all-reduce --set sync.collective=halving-doubling --set "
                      "sync.overlap=backward --set workload.bucket_bytes=4MiB"},
      Case{"SkippedWithOverlap",
           "--set workload.non_finite=skip --set optimizer.learning_rate=1e18 --set sync.overlap=backward "
           "--set workload.bucket_bytes=4KiB"}};
}

/// In one test: ranks are started once for all cases of as many ranks.
TEST_F(LongGpuRanks, TrainTheSameModelAsProcessors) {
  for (const Case& what : cases()) {
    SCOPED_TRACE(what.name);
    for (const char* out : {"processors", "gpus"}) std::filesystem::remove_all(line_.folder() / out);
    expect_same_training(what);
  }
}

class TimingDriven : public GpuRanks, public ::testing::WithParamInterface<Case> {};

/// The order of arrival differs from run to run: every decision has to follow from the events that the rank
/// recorded, and the loss has to fall.
TEST_P(TimingDriven, LearnsAndReplays) {
  play({"", GetParam().settings + " --set stop.rounds=60", true, four, "run"});
  for (const Results* results : {&processors_, &gpus_}) {
    const auto& evaluations = results->journal.evaluations;
    ASSERT_GE(evaluations.size(), 2U);
    EXPECT_LT(evaluations.back().loss, 0.9 * evaluations.front().loss);
    for (const auto& step : results->journal.steps) EXPECT_TRUE(std::isfinite(step.loss));
  }
  const auto replay = validation::replay(processors_, {gpus_});
  EXPECT_EQ(replay.state, validation::Gate::State::passed) << replay.detail;
  EXPECT_GT(replay.checked, 0);
}

INSTANTIATE_TEST_SUITE_P(LongCudaOnHost, TimingDriven,
                         ::testing::Values(Case{"Asp", "--set sync.algorithm=asp"},
                                           Case{"AdPsgd",
                                                "--set sync.algorithm=ad-psgd --set sync.over=peers"}),
                         [](const auto& instance) { return instance.param.name; });

TEST_F(GpuRanks, ATorchScriptFileTrainsAsOnProcessors) {
  const auto made = line_.shell("'" + testing::build_folder() +
                                "/bin/script_file"
                                "' net.pt");
  ASSERT_EQ(made.exit_code, 0) << made.output;
  play({"", "--set workload.model=" + (line_.folder() / "net.pt").string()});
  expect_same_models();
}

/// Also restores the unsent values of codecs and the state of optimisers.
TEST_F(LongGpuRanks, AResumedJobEndsAsOnProcessors) {
  resume("--set sync.compression=top-k --set optimizer.momentum=0.9 --set optimizer.update_at=workers ");
}

// What PowerSGD has learnt is in the memory of the GPU.
TEST_F(LongGpuRanks, AResumedJobContinuesWithItsFactors) {
  resume("--set sync.over=all-reduce --set sync.compression=power-sgd ");
  resume("--set sync.compression=power-sgd ");
}

TEST_F(LongGpuRanks, OperationsAreTimedByTheDevice) {
  // No prefetching: it would decode one more batch on GPUs than on processors.
  play({"", "--set sync.algorithm=bsp --set run.device_messages=staged --set data.prefetch=0", true, two,
        "run"});
  int computed = 0;
  std::map<std::string, std::int64_t> copied;
  for (const auto& operation : gpus_.journal.operations) {
    EXPECT_GE(operation.end.count(), operation.start.count());
    computed += operation.kind == "compute" ? 1 : 0;
    if (is_copy(operation)) copied[operation.work] += operation.bytes;
  }
  EXPECT_GT(computed, 0);
  const std::int64_t sent = gpus_.summary.bytes.sent;
  EXPECT_GE(copied["out"], sent);
  EXPECT_GE(copied["in"], sent);
  const auto parity = validation::operations_parity(processors_, {gpus_});
  EXPECT_EQ(parity.state, validation::Gate::State::passed) << parity.detail;
}

TEST_F(LongGpuRanks, MessagesBetweenPeersAreCopiedOnce) {
  play({"", of_peers + "--set sync.over=all-reduce --set sync.collective=ring"});
  expect_same_models();
  std::map<std::string, std::int64_t> copied;
  for (const auto& operation : gpus_.journal.operations)
    if (is_copy(operation)) copied[operation.work] += operation.bytes;
  const std::int64_t sent = gpus_.summary.bytes.sent;
  EXPECT_LT(copied["out"], sent / 100) << "only small messages pass through pinned memory";
  EXPECT_GE(copied["in"], sent);
}

/// The kinds of work that a rank computes, in the order in which they begin.
std::vector<std::string> works_of(const Results& results, Rank rank) {
  std::vector<std::string> works;
  for (const auto& operation : results.journal.operations)
    if (operation.rank == rank && operation.kind == "compute") works.push_back(operation.work);
  return works;
}

TEST_F(LongGpuRanks, LoadTheNextBatchDuringBackwardOnGpus) {
  play({"", all_reduce + "--set sync.overlap=none --set sync.collective=native", true, two, "run"});
  const auto alone = works_of(processors_, 0), ahead = works_of(gpus_, 0);
  EXPECT_EQ(std::ranges::count(ahead, "decode"), std::ranges::count(alone, "decode") + 1);
  const auto before_second = [](const std::vector<std::string>& works) {
    const auto second = std::find(works.begin() + 1, works.end(), "decode");
    return second == works.end() ? "no batch" : *(second - 1);
  };
  EXPECT_EQ(before_second(alone), "update");
  EXPECT_EQ(before_second(ahead), "backward");
}

void expect_message(const CommandResult& result, const std::string& pattern) {
  EXPECT_NE(result.exit_code, 0);
  EXPECT_TRUE(std::regex_search(result.output, std::regex(pattern))) << pattern << '\n' << result.output;
}

// The mlp has 199210 parameters: a worker holds model and gradient, the server six vectors of that size and
// more.
TEST_F(LongGpuRanks, AWorkerWithoutMemoryIsNamedWithAdvice) {
  expect_message(
      on_gpus(training() + " --set platform=" + platform(false), "CUDA_ON_HOST_MEMORY=1000000"),
      "not enough memory for the worker on 'node-[0-9]' with 'mlp': cudaMalloc on cuda:0: out of memory "
      "\\(cudaErrorMemoryAllocation\\); requested 796840 bytes, [0-9]+ of 1000000 are free; put fewer "
      "ranks on this GPU, .*tandem:gpu");
}

TEST_F(LongGpuRanks, AServerWithoutMemoryIsNamedWithAdvice) {
  expect_message(
      on_gpus(training() + " --set platform=" + platform(true), "CUDA_ON_HOST_MEMORY=3000000"),
      "not enough memory for the server on 'server' with 'mlp': cudaMalloc on cuda:0: .*; requested "
      "796840 bytes, [0-9]+ of 3000000 are free; spread the model over more servers");
}

// The buffer of unsent values, which the codec allocates in addition to model and gradient.
TEST_F(LongGpuRanks, ACodecWithoutMemoryIsNamedWithAdvice) {
  expect_message(on_gpus(training() + " --set sync.compression=top-k --set platform=" + platform(false),
                         "CUDA_ON_HOST_MEMORY=1700000"),
                 "not enough memory for the worker on 'node-[0-9]' with 'mlp': cudaMalloc on cuda:0");
}

TEST_F(LongGpuRanks, LackOfPinnedMemoryIsReportedApartFromLackOfGpuMemory) {
  expect_message(
      on_gpus(training() + " --set platform=" + platform(false), "CUDA_ON_HOST_PINNED=2"),
      "not enough memory for the worker on 'node-[0-9]' with 'mlp': cudaHostAlloc on cuda:0: .* bytes of "
      "host memory; put fewer ranks on this machine");
}

TEST_F(LongGpuRanks, RunJsonRecordsTheTransportOfMessagesAndSums) {
  const auto physics = [this] { return read_results((line_.folder() / "gpus").string()).info.physics; };
  const std::string sums = "--set sync.over=all-reduce --set sync.collective=native ";
  const auto on_devices = on_gpus(training() + " " + sums + "--set platform=" + platform(true));
  ASSERT_EQ(on_devices.exit_code, 0) << on_devices.output;
  EXPECT_EQ(physics().at("computed_on").at(0), "cuda:0 (CUDA on the host)");
  EXPECT_EQ(physics().at("device_messages"), "staged");
  EXPECT_EQ(physics().at("native_sums"), "MPI");
  EXPECT_FALSE(physics().contains("notes"));
  const auto on_processors = on_gpus(training() + " " + sums + "--force");
  ASSERT_EQ(on_processors.exit_code, 0) << on_processors.output;
  for (const char* key : {"device_messages", "native_sums", "notes"})
    EXPECT_FALSE(physics().contains(key)) << key;
  const auto of_servers =
      on_gpus(training() + " --force --set platform=" + platform(true) + " --set run.device_messages=staged");
  ASSERT_EQ(of_servers.exit_code, 0) << of_servers.output;
  EXPECT_EQ(physics().at("device_messages"), "staged");
  EXPECT_FALSE(physics().contains("native_sums"));
  const std::string to_peers = training() + " --force --set run.device_messages=peer --set platform=";
  const auto of_peers = on_gpus(to_peers + platform(false) + " --set placement.workers=" + four);
  ASSERT_EQ(of_peers.exit_code, 0) << of_peers.output;
  EXPECT_EQ(physics().at("device_messages"), "peer");
  EXPECT_EQ(physics().at("peer_pairs"), 6) << "of four workers; the server is on a processor";
}

// A driver may refuse it, as between containers. The workers of the second job are on processors but for one.
TEST_F(LongGpuRanks, PeerMessagesWithoutPeersAreRefused) {
  const std::string refusal =
      "key 'run.device_messages': expected auto or staged, because no two ranks of a machine can read each "
      "other's GPU memory, found 'peer'";
  const std::string words = training() + " --force --set run.device_messages=peer --set platform=";
  expect_message(on_gpus(words + platform(true), "CUDA_ON_HOST_SHARES=0"), refusal);
  expect_message(on_gpus(words + platform(false) + " --set placement.workers=[node-1]"), refusal);
}

TEST_F(LongGpuRanks, RecordTheirClocksAndSayThatTheyWereThrottled) {
  const std::string words =
      training() + " --set placement.workers=[node-1,node-2] --set platform=" + platform(false);
  const auto played = [&](const std::string& environment) {
    const auto result = on_gpus(words + " --force", environment);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return std::pair(result.output, read_results((line_.folder() / "gpus").string()));
  };
  const std::string nvml = "LD_LIBRARY_PATH='" + testing::build_folder() +
                           "/nvml_on_host"
                           "' ";
  const std::string throttled = "the GPU of rank 0 on 'node-1' was throttled at ";
  const auto [slow_output, slow] = played(nvml + "NVML_ON_HOST_LIMITS=0x20");
  EXPECT_NE(slow_output.find(throttled), std::string::npos) << slow_output;
  EXPECT_NE(slow_output.find("temperature ("), std::string::npos) << slow_output;
  std::set<Rank> sampled;
  for (const GpuRecord& sample : slow.journal.gpus) {
    sampled.insert(sample.rank);
    EXPECT_EQ(sample.clock_mhz, 1200);
    EXPECT_EQ(sample.limits, "thermal");
    EXPECT_GE(sample.time, Seconds(0));
  }
  EXPECT_EQ(sampled, (std::set<Rank>{0, 1}));
  EXPECT_GE(slow.journal.gpus.size(), 4U);
  EXPECT_EQ(to_json(slow.summary).at("gpus").at(1).at("throttled"), 1.0);
  EXPECT_EQ(slow.info.physics.at("gpus").at("rank 1").at("power_w"), 700.0);
  ASSERT_EQ(std::ranges::count_if(slow.info.warnings,
                                  [](const std::string& w) { return w.find("throttled") != w.npos; }),
            2);

  const auto [fast_output, fast] = played(nvml);
  EXPECT_EQ(fast_output.find("throttled"), std::string::npos) << fast_output;
  EXPECT_EQ(to_json(fast.summary).at("gpus").at(0).at("throttled"), 0.0);
  EXPECT_EQ(to_json(fast.summary).at("gpus").at(0).at("clock_mhz").at("max"), 1980);
}

TEST_F(LongGpuRanks, RunWithoutNvml) {
  const auto result = on_gpus(training() + " --set platform=" + platform(false),
                              "NVML_ON_HOST_INIT=9 LD_LIBRARY_PATH='" + testing::build_folder() +
                                  "/nvml_on_host"
                                  "'");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto results = read_results((line_.folder() / "gpus").string());
  EXPECT_TRUE(results.journal.gpus.empty());
  EXPECT_FALSE(to_json(results.summary).contains("gpus"));
  const std::string unknown = results.info.physics.at("gpus").at("rank 0").at("unknown");
  EXPECT_NE(unknown.find("failed with code 9"), std::string::npos) << unknown;
}

TEST_F(GpuRanks, MpiMayUseItsTransportForGpuMemory) {
  const auto command = [this](const std::string& settings) {
    const auto result = line_.tandem(training() + " --print-command --force --out x " + settings);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return result.output;
  };
  const std::string open = "--mca btl '^tcp,";
  const std::string gpus = "--set platform=" + platform(true);
  EXPECT_NE(command(gpus + " --set run.device_messages=direct").find(open), std::string::npos);
  for (const std::string& settings : {gpus, gpus + " --set run.device_messages=staged", std::string()})
    EXPECT_NE(command(settings).find("--mca btl self,vader"), std::string::npos) << settings;
}

const std::string old_driver = "CUDA_ON_HOST_COUNT_ERROR=35 CUDA_ON_HOST_DRIVER=12040";
const std::string too_old =
    "the NVIDIA driver is too old, it knows CUDA 12.4 and this tandem-rank needs 13.0";

TEST_F(LongGpuRanks, HostsThatUseTheirProcessorInsteadAreReportedOnce) {
  const auto result = on_gpus(training() + " --set platform=" + catalogue_platform(), old_driver);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const std::size_t first =
      result.output.find("note: node-1, node-2, node-3, node-6 should have a GPU according to ");
  ASSERT_NE(first, std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("should have a GPU", first + 40), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("gpus.xml, but compute on the processor: " + too_old, first),
            std::string::npos)
      << result.output;
  const auto physics = read_results((line_.folder() / "gpus").string()).info.physics;
  ASSERT_EQ(physics.at("notes").size(), 1U);
  EXPECT_TRUE(physics.at("notes").at(0).get<std::string>().ends_with(too_old));
  EXPECT_EQ(physics.at("computed_on").at(0), "host");
}

TEST_F(LongGpuRanks, AMissingGpuEndsTheJobWithTheCause) {
  expect_message(on_gpus(training() + " --set platform=" + platform(true), old_driver),
                 "needs GPU 0 of its machine .*, but tandem-rank finds none: " + too_old);
}

/// Workers on GPUs and a server on the processor; calibrated as on a machine that has only tandem-rank.
TEST_F(LongGpuRanks, AreCalibratedByKindAndSimulatedAsMeasured) {
  const std::string words = line_.experiment("run: {devices: native}\n") +
                            " --set placement.workers=[node-1,node-2] --set platform=" + platform(false);
  const auto calibrated = line_.shell("\"$TANDEM\" calibrate " + words +
                                      " --out profile.json --print-command | "
                                      "sed 's#/tandem-rank#&-cuda-on-host#' | sh");
  ASSERT_EQ(calibrated.exit_code, 0) << calibrated.output;
  const Profile profile = load_profile((line_.folder() / "profile.json").string());
  EXPECT_TRUE(profile.device.starts_with("cuda:0")) << profile.device;
  std::set<bool> directions;
  for (const auto& entry : profile.copies) {
    directions.insert(entry.out);
    EXPECT_GT(entry.median_s, 0.0) << entry.bytes;
  }
  EXPECT_EQ(directions, (std::set<bool>{false, true}));
  for (const Work::Kind kind : {Work::Kind::forward, Work::Kind::backward, Work::Kind::update}) {
    const auto entry = std::ranges::find(profile.compute, kind, &Profile::ComputeEntry::kind);
    ASSERT_NE(entry, profile.compute.end()) << name_of(kind);
    EXPECT_GT(entry->median_s, 0.0) << name_of(kind);
  }
  ASSERT_EQ(profile.hosts.size(), 2U);
  EXPECT_EQ(profile.hosts[0].kind, "gpu");
  EXPECT_EQ(profile.hosts[1].kind, "processor");
  EXPECT_EQ(profile.hosts[1].host, "server");
  EXPECT_GT(profile.hosts[1].ratio_of(Work::Kind::update), 0.0);
  ASSERT_EQ(profile.paths.size(), 2U);
  EXPECT_TRUE(profile.paths[0].is_between("gpu", "gpu"));
  EXPECT_TRUE(profile.paths[1].is_between("gpu", "processor"));

  const auto simulated = line_.tandem("simulate " + words +
                                      " --set physics.network=profile --set physics.profile=profile.json"
                                      " --set physics.noise=profile --out simulated");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  EXPECT_GT(read_results((line_.folder() / "simulated").string()).journal.steps.size(), 0U);
}

/// Another variant may place a role on the processor; a rank without a role measures the processor.
TEST_F(LongGpuRanks, AreCalibratedWithTheProcessorOfTheirPlatform) {
  const auto calibrated = line_.shell(
      "\"$TANDEM\" calibrate " + line_.experiment("run: {devices: native}\n") +
      " --set placement.workers=[node-1] --set placement.servers=[node-3] --set platform=" + platform(false) +
      " --out profile.json --print-command | sed 's#/tandem-rank#&-cuda-on-host#' | sh");
  ASSERT_EQ(calibrated.exit_code, 0) << calibrated.output;
  const Profile profile = load_profile((line_.folder() / "profile.json").string());
  const auto* const processor = profile.host_entry("server", "processor");
  ASSERT_NE(processor, nullptr);
  EXPECT_EQ(processor->host, "");
  EXPECT_GT(processor->ratio_of(Work::Kind::forward), 0.0);
}

TEST_F(GpuRanks, APrintedCalibrationWritesNoPlatform) {
  const auto result = line_.tandem("calibrate " + line_.experiment("run: {devices: native}\n") +
                                   " --print-command --platform mine.xml");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.output.find("--platform"), std::string::npos) << result.output;
}

TEST_F(LongGpuRanks, AMissingGpuIsReportedBeforeAnythingStarts) {
  if (std::filesystem::exists("/dev/nvidia0")) GTEST_SKIP() << "this machine has a GPU";
  const std::string file = platform(true);
  const auto result = line_.tandem("run " + line_.experiment("run: {devices: native}\n") +
                                   " --set platform=" + file + " --out x");
  EXPECT_EQ(result.exit_code, 70);
  EXPECT_NE(result.output.find("needs GPU 0 of its machine (tandem:gpu in"), std::string::npos)
      << result.output;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
