// What `tandem simulate` and `tandem run` say of a job before its results: the question, and what is probably
// a mistake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/cli/lab.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Warnings : public ::testing::Test {
 protected:
  std::string output(const std::string& words, int exit_code = 0) {
    const auto result = line_.tandem(words + " --out out --force");
    EXPECT_EQ(result.exit_code, exit_code) << result.output;
    return result.output;
  }
  std::string simulated(const std::string& settings) {
    return output("simulate " + line_.experiment() + " " + settings);
  }
  CommandLine line_;
};

TEST_F(Warnings, AModelForPhotographsOnSmallImagesNamesBothWaysOut) {
  const auto small = simulated("--set workload.model=resnet50 --set stop.rounds=1");
  EXPECT_THAT(small,
              AllOf(HasSubstr("warning: model 'resnet50'"), HasSubstr("224 x 224"), HasSubstr("28 x 28"),
                    HasSubstr("workload.dataset: synthetic-imagenet"), HasSubstr("workload.model: lenet")));
  const auto photographs = simulated(
      "--set workload.model=resnet50 --set workload.dataset=synthetic-imagenet --set stop.rounds=1");
  EXPECT_THAT(photographs, Not(HasSubstr("made for photographs")));
  EXPECT_THAT(simulated("--set workload.model=resnet18 --set workload.image_size=224 --set stop.rounds=1"),
              Not(HasSubstr("made for photographs")));
  EXPECT_THAT(simulated("--set workload.model=lenet"), Not(HasSubstr("warning")));
}

TEST_F(Warnings, TheQuestionIsPrintedBeforeTheResults) {
  const auto told = simulated("--set workload.model=lenet --set workload.batch=16");
  EXPECT_THAT(
      told, AllOf(HasSubstr("model lenet (431,080 parameters, 1.72 MB) on 400 images of synthetic (28 x 28, "
                            "grey, 10 classes)"),
                  HasSubstr("per sample 4.6 Mflop forward and 8.63 Mflop backward; batch 16 on each of 4 "
                            "workers: 64 samples per step of all"),
                  HasSubstr("memory in addition to the program, about: worker ")));
  EXPECT_LT(told.find("model lenet"), told.find("simulated: "));
}

TEST_F(Warnings, LackOfMemoryIsAWarningOfASimulationAndAnErrorOfARun) {
  const std::string settings = "--set workload.model=lenet --set workload.batch=1000000 --set stop.rounds=1";
  const auto told = simulated(settings);
  EXPECT_THAT(told,
              AllOf(HasSubstr("warning: host 'node-"), HasSubstr("needs about 1"), HasSubstr("activations"),
                    HasSubstr("workload.batch"), HasSubstr("other hosts lack memory")));
  std::ifstream file(line_.folder() / "out" / "run.json");
  const auto memory = nlohmann::json::parse(file).at("memory");
  EXPECT_GT(memory.at(0).at("activations").get<double>(), 1e11);
  std::filesystem::remove_all(line_.folder() / "out");
  const auto refused = output("run " + line_.experiment() + " " + settings, 2);
  EXPECT_THAT(refused, AllOf(HasSubstr("mixed_lab.xml: host 'node-"), HasSubstr("<prop id=\"memory\">")));
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out"));
}

/// Two A100 and six T4, with a server.
const std::string two_sites =
    "--set platform=" + testing::source_folder() +
    "/platforms/two_sites.xml --set placement.servers=[server] --set "
    "placement.workers=[first-a100-1,first-a100-2,second-t4-1,second-t4-2,second-t4-3,second-t4-4,"
    "second-t4-5,second-t4-6] ";

TEST_F(Warnings, ADeviceWithoutTheJobsPrecisionIsNamed) {
  const std::string sites = two_sites;
  EXPECT_THAT(simulated(sites + "--set workload.precision=tf32"),
              AllOf(HasSubstr("warning: no rate in tf32 is in the data sheet of device 't4' (host "
                              "'second-t4-1'; known: fp32 | fp16), so simulated work there takes the time of "
                              "fp32, in which these compute where tf32 is allowed\n"),
                    Not(HasSubstr("'a100'")), Not(HasSubstr("second-t4-2"))));
  EXPECT_THAT(simulated(sites + "--set workload.precision=fp16"), Not(HasSubstr("warning: no rate")));
  const auto refused =
      output("simulate " + line_.experiment() + " " + sites + "--set workload.precision=bf16", 2);
  EXPECT_THAT(refused,
              AllOf(HasSubstr("--set: key 'workload.precision': expected a precision that the data sheet of "
                              "device 't4' (host 'second-t4-1' of "),
                    HasSubstr("gives (fp32 | fp16), or a profile measured in it, found 'bf16'")));
}

TEST_F(Warnings, RealMathematicsMayHaveAPrecisionWithoutARate) {
  EXPECT_THAT(
      output("simulate " + line_.experiment() +
             " --set workload.math=real --set workload.precision=bf16 --set stop.rounds=1"),
      AllOf(HasSubstr("warning: no rate in bf16 is in the data sheet of device 'raspberry-pi-4' (host "
                      "'node-1'; known: fp32), device "),
            HasSubstr("takes the time of fp32; a profile (tandem calibrate) would have its own\n")));
}

TEST_F(Warnings, RatesOfTheDevicesNameTheirPrecision) {
  const auto told = [&](const std::string& precision) {
    return simulated(two_sites + ("--set workload.precision=" + precision));
  };
  EXPECT_THAT(told("fp32"), HasSubstr("2 x a100 (7.8 Tflop/s in fp32), 6 x t4 (3.24 Tflop/s in fp32)"));
  EXPECT_THAT(told("tf32"), HasSubstr("2 x a100 (46.8 Tflop/s in tf32), 6 x t4 (3.24 Tflop/s in fp32)"));
  EXPECT_THAT(told("fp16"), HasSubstr("2 x a100 (93.6 Tflop/s in fp16), 6 x t4 (19.5 Tflop/s in fp16)"));
}

TEST_F(Warnings, AGpuWithoutAPropertyHasTheMemoryOfItsDataSheet) {
  const std::string batch = " --set workload.model=lenet --set stop.rounds=1 --set workload.batch=";
  EXPECT_THAT(
      simulated(two_sites + batch + "200000"),
      AllOf(HasSubstr("warning: host 'second-t4-1'"), HasSubstr("needs about 21.6 GB"),
            HasSubstr("device 't4' in the device catalogue gives it 16 GB; 5 other hosts lack memory"),
            HasSubstr("<prop id=\"tandem:device_memory\">")));
  EXPECT_THAT(simulated(two_sites + batch + "20000"), Not(HasSubstr("warning")));
  // 8 workers lack memory of their GPUs and of their own.
  EXPECT_THAT(simulated(std::string(two_sites) +
                        " --set workload.model=resnet50 --set workload.dataset=synthetic-imagenet "
                        "--set stop.rounds=1 --set workload.batch=1000000"),
              HasSubstr("; 7 other hosts lack memory"));
}

TEST_F(Warnings, DisksThatNobodyReadsAreNamed) {
  const std::string lab = "--set platform=" + edited_lab(line_, {disks_of("node-1", "1MBps", "1MBps")}) + " ";
  const std::string stored = lab +
                             "--set data.source=storage --set data.cache_capacity=100kB --set "
                             "placement.cache_nodes=[server] ";
  EXPECT_THAT(simulated(stored + "--set placement.workers=[node-2,node-3]"),
              AllOf(HasSubstr("warning: nobody reads the disk of host 'node-1'"),
                    HasSubstr("placement.cache_nodes")));
  EXPECT_THAT(simulated(lab + "--set placement.workers=[node-2,node-3]"), Not(HasSubstr("nobody reads")))
      << "no data are read from storage";
  EXPECT_THAT(simulated(stored + "--set placement.workers=[node-2,node-3] --set "
                                 "placement.cache_nodes=[server,node-1]"),
              Not(HasSubstr("nobody reads")));
  EXPECT_THAT(simulated(stored + "--set placement.workers=[node-2,node-3] --set placement.stores=[server] "
                                 "--set placement.cache_nodes=[node-2]"),
              Not(HasSubstr("nobody reads")))
      << "the stores are named";
}

TEST_F(Warnings, KeysWithoutEffectAreNamedInOneLine) {
  EXPECT_THAT(
      simulated("--set data.cache_capacity=1MB --set data.disk_capacity=1MB --set checkpoint.keep=3"),
      HasSubstr("warning: no effect in this job: data.cache_capacity (--set), data.disk_capacity (--set) "
                "act with data.source: storage; checkpoint.keep (--set) acts with checkpoint.policy"));
  EXPECT_THAT(simulated(""), Not(HasSubstr("no effect")));
}

TEST_F(Warnings, LifetimesOfMachinesWithoutWorkersAreNamed) {
  const auto told = [&](const std::string& host, const std::string& model) {
    return simulated("--set platform=" + edited_lab(line_, {property_of(host, "tandem:lifetime", model)}));
  };
  EXPECT_THAT(
      told("server", "exponential mean=1h"),
      AllOf(
          HasSubstr("warning: the lifetime of host 'server' has no effect: only machines of workers depart"),
          HasSubstr("with transience.lifetime, those of cache nodes and stores depart, too")));
  EXPECT_THAT(told("server", "never"), Not(HasSubstr("has no effect")));
  EXPECT_THAT(told("node-1", "never"), Not(HasSubstr("has no effect")));
}

TEST_F(Warnings, WorkersThatShareADeviceInTheSimulationOnly) {
  EXPECT_THAT(simulated("--set placement.workers=[node-2,node-3,node-2]"),
              HasSubstr("warning: host 'node-2' has 2 workers, which share its device in a simulation"));
  EXPECT_THAT(simulated("--set placement.workers=[node-2,node-3]"), Not(HasSubstr("share its device")));
  line_.write(
      "cores.xml",
      "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<platform "
      "version='4.1'><zone id='z' routing='Full'><host id='a' speed='1Gf' core='2'><prop id='slots' "
      "value='3'/></host><host id='b' speed='1Gf'/><link id='l' bandwidth='1GBps' latency='1us'/><route "
      "src='a' dst='b'><link_ctn id='l'/></route></zone></platform>\n");
  const std::string cores = "--set platform=cores.xml --set placement.servers=[b] --set placement.workers=";
  EXPECT_THAT(simulated(cores + "[a,a]"), Not(HasSubstr("share its device"))) << "each has a core";
  EXPECT_THAT(simulated(cores + "[a,a,a]"), HasSubstr("host 'a' has 3 workers, which share its device"));
}

TEST_F(Warnings, ALongRouteWithoutAWindowIsNamedInTheResults) {
  const Edit distance{"latency=\"[^\"]*\"", "latency=\"1s\""};
  edited_lab(line_, {distance}, "long.xml");
  edited_lab(line_, {distance, property_of("server", "tandem:window", "1kB")}, "small.xml");
  const auto told = simulated("--set platform=long.xml --set stop.rounds=1");
  EXPECT_THAT(told, AllOf(HasSubstr("warning: from "), HasSubstr("set the property tandem:window")));
  std::ifstream file(line_.folder() / "out" / "run.json");
  EXPECT_THAT(nlohmann::json::parse(file).at("warnings").back().get<std::string>(),
              HasSubstr("more than TCP's usual window of 4 MiB"));
  std::filesystem::remove_all(line_.folder() / "out");
  EXPECT_THAT(output("simulate " + line_.experiment() + " --set platform=small.xml --set stop.rounds=1", 2),
              HasSubstr("small.xml: host 'server': property 'tandem:window': expected a size of at least "
                        "1500B (a packet), found '1kB'"));
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out"));
}

TEST_F(Warnings, ASimulationThatTakesTooLongStopsAndNamesItsOption) {
  const std::string endless = " --set stop.rounds=1000000000 --longest 2";
  const auto told = output("simulate " + line_.experiment() + endless, 2);
  EXPECT_THAT(told, AllOf(HasSubstr("would take about "), HasSubstr("longer than 2 s"), HasSubstr("--yes")));
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out"));
  EXPECT_THAT(simulated("--set stop.rounds=2000 --longest 0.001 --yes"), HasSubstr("2,000 rounds"));
}

/// 400 samples, of which 4 x 8 in a round; by default the last 1024 losses count.
TEST_F(Warnings, ASamplerThatSelectsNoSamplesIsNamed) {
  const std::string importance = "--set data.sampling=importance --set data.sampling_options.history=64 ";
  EXPECT_THAT(
      simulated(importance + "--set stop.epochs=3 --set stop.rounds=0"),
      HasSubstr("warning: no epoch is sampled by importance: data.sampling_options.warm_up 5 of 3 epochs"));
  EXPECT_THAT(simulated(importance + "--set stop.rounds=6"), HasSubstr("warm_up 5 of 1 epoch"));
  EXPECT_THAT(simulated(importance + "--set data.sampling_options.warm_up=1 --set stop.epochs=3 --set "
                                     "stop.rounds=0"),
              Not(HasSubstr("sampled by importance")));
  EXPECT_THAT(simulated("--set data.sampling=importance --set stop.rounds=6"),
              HasSubstr("data.sampling_options.history 1024 of 400 samples"));
  EXPECT_THAT(simulated("--set stop.rounds=6"), Not(HasSubstr("sampled by")));
}

TEST_F(Warnings, TheRoundsOfALoneWorkerAreAllCounted) {
  EXPECT_THAT(simulated("--set sync.over=all-reduce --set placement.workers=[node-1] --set stop.rounds=5"),
              HasSubstr("simulated: 5 rounds, 40 samples"));
  EXPECT_THAT(simulated("--set placement.workers=[node-1] --set stop.rounds=5"),
              HasSubstr("simulated: 5 rounds, 40 samples"));
  EXPECT_THAT(simulated("--set sync.algorithm=local-sgd --set sync.over=all-reduce --set "
                        "placement.workers=[node-1] --set stop.rounds=5"),
              HasSubstr("simulated: 5 rounds, "));
}

TEST_F(Warnings, TheRoundOfAnAccuracyIsPrinted) {
  EXPECT_THAT(output("simulate " + line_.experiment("evaluate_every: 4\n") +
                     " --set workload.math=real --set placement.evaluator=server --set stop.rounds=6"),
              AllOf(HasSubstr("simulated: 6 rounds"), HasSubstr(" after round 4 of 6\n")));
}

TEST_F(Warnings, ASmallPartOfSyntheticImagenetTrainsFromStorage) {
  const auto told = output(
      "simulate " + line_.experiment("evaluate_every: 2\n") +
      " --set workload.math=real --set workload.model=mobilenet-v2 --set "
      "workload.dataset=synthetic-imagenet --set "
      "workload.train_samples=8 --set workload.test_samples=4 --set workload.batch=2 --set stop.rounds=2 "
      "--set placement.workers=[node-1,node-2] --set placement.evaluator=server --set data.source=storage "
      "--set placement.cache_nodes=[server] --set data.prefetch=0");
  EXPECT_THAT(told, AllOf(HasSubstr("8 images of synthetic-imagenet (224 x 224, colour, 1000 classes)"),
                          HasSubstr("test accuracy "), Not(HasSubstr("warning"))));
  std::ifstream file(line_.folder() / "out" / "summary.json");
  const auto cache = nlohmann::json::parse(file).at("cache");
  EXPECT_EQ(cache.at("storage"), 8);
  EXPECT_EQ(cache.at("storage_bytes"), 8 * 112'898);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
