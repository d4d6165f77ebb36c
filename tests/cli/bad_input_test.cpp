// Bad input ends with exit code 2, names the problem, and leaves no partial output.
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class BadInput : public ::testing::Test {
 protected:
  /// The command fails, and its message contains every one of `words`.
  void refuses(const std::string& arguments, const std::vector<std::string>& words) {
    const CommandResult result = line_.tandem(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.output;
    for (const auto& word : words)
      EXPECT_NE(result.output.find(word), std::string::npos) << word << "\n" << result.output;
    EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out"));
  }
  CommandLine line_;
};
using LongBadInput = BadInput;

TEST_F(BadInput, NoSuchCommand) { refuses("simulat x.yaml", {"'simulat'", "simulate", "--help"}); }
TEST_F(BadInput, ChakraTracesOfMoreThanPlainDataParallelism) {
  const std::string command = "simulate " + line_.experiment() + " --out out --chakra traces ";
  refuses(command + "--set evaluate_every=3",
          {"--chakra", "workers and servers alone", "found a rank 'evaluator'"});
  // Found when the sums have been simulated.
  refuses(
      command + "--set sync.algorithm=group-average --set sync.over=all-reduce --set sync.collective=native",
      {"--chakra: expected sums of all workers (ranks 0-3), found"});
}
TEST_F(BadInput, ExperimentMissing) { refuses("simulate nowhere.yaml --out out", {"nowhere.yaml"}); }
TEST_F(BadInput, UnknownKeySuggestsTheNearest) {
  refuses("simulate " + line_.experiment("optimiser: {learning_rate: 1}\n") + " --out out",
          {"experiment.yaml:5", "optimiser", "optimizer"});
}
TEST_F(BadInput, WrongType) {
  refuses("simulate " + line_.experiment() + " --set workload.batch=many --out out",
          {"workload.batch", "integer", "many"});
}
TEST_F(LongBadInput, NotPositive) {
  refuses("simulate " + line_.experiment() + " --set workload.batch=0 --out out", {"workload.batch", "0"});
}
TEST_F(LongBadInput, TensorsThatDoNotAddUpOrAreNone) {
  line_.write("net.tensors", "4MB\n16kB fc many 1\n");
  const std::string command = "simulate " + line_.experiment() + " --out out --set workload.model=synthetic ";
  refuses(command + "--set workload.synthetic_tensors=[4MB,16kB] --set workload.synthetic_parameters=1000000",
          {"--set: key 'workload.synthetic_parameters': expected 1004000", "(4016kB)", "found '1000000'"});
  refuses(command + "--set workload.synthetic_tensors=[42B]",
          {"--set: key 'workload.synthetic_tensors': tensor 1: expected", "a multiple of 4 bytes",
           "found '42B'"});
  refuses(command + "--set workload.synthetic_tensors=net.tensors",
          {"net.tensors:2: expected the work of the forward pass", "found 'many'"});
  refuses(command + "--set workload.synthetic_tensors=absent.tensors", {"absent.tensors", "no such file"});
}
/// Only the whole job shows that these do not suit it.
TEST_F(BadInput, KeyThatDoesNotSuitTheJobIsNamedWithItsPlace) {
  line_.write("cached.yaml", "platform: " + testing::source_folder() +
                                 "/platforms/quad.xml\n"
                                 "workload: {math: modelled, model: lenet, dataset: synthetic-colour, "
                                 "train_samples: 960, batch: 16}\n"
                                 "sync: {over: all-reduce}\nstop: {epochs: 3}\n"
                                 "placement: {cache_nodes: [server], worker_count: 1}\n"
                                 "data:\n"
                                 "  source: storage\n"
                                 "  sampling: importance\n"
                                 "  cache: icache\n"
                                 "  cache_capacity: 100kB\n"
                                 "  cache_options:\n"
                                 "    package: 64\n");
  refuses("simulate cached.yaml --out out",
          {"cached.yaml:12: key 'data.cache_options.package': expected at most 3 samples", "found '64'"});
  refuses("run cached.yaml --out out", {"cached.yaml:12: key 'data.cache_options.package'"});
  refuses("simulate cached.yaml --set data.cache_capacity=10B --out out",
          {"--set: key 'data.cache_capacity': expected 0 (no cache) or at least 3073B", "found 10B"});
}
TEST_F(LongBadInput, NumberAboveItsLimit) {
  refuses("simulate " + line_.experiment() + " --set stop.epochs=1e18 --out out",
          {"stop.epochs", "<= 1000000000"});
  refuses("simulate " + line_.experiment() + " --set workload.train_samples=5000000000 --out out",
          {"workload.train_samples", "<= 1000000000"});
}
TEST_F(LongBadInput, PlatformThatCannotBeSimulated) {
  line_.write("ns3.xml",
              "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
              "<platform version=\"4.1\">\n<config><prop id=\"network/model\" value=\"ns-3\"/></config>\n"
              "<zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/><host id=\"b\" "
              "speed=\"1Gf\"/></zone></platform>\n");
  line_.write(
      "ns3.yaml",
      "platform: ns3.xml\nworkload: {math: modelled, model: lenet, dataset: fashion-mnist, batch: 32}\n"
      "placement: {workers: [a, b], servers: [a]}\nstop: {rounds: 2}\n");
  refuses("simulate ns3.yaml --out out", {"ns3.xml:4: prop 'network/model': expected CM02", "found 'ns-3'"});
}
TEST_F(BadInput, SettingsForAPlatform) {
  refuses("show lab.xml --set seed=1", {"--set", "experiment", "lab.xml"});
}
TEST_F(BadInput, DrawingOfAnExperiment) {
  refuses("show " + line_.experiment() + " --svg drawing.svg", {"--svg", "expected a platform"});
}
TEST_F(BadInput, PlatformMissing) {
  refuses("simulate " + line_.experiment() + " --set platform=nowhere.xml --out out", {"nowhere.xml"});
}
TEST_F(LongBadInput, PlatformMalformed) {
  refuses("show " + line_.write("bad.xml", "<platform version='4.1'><zone"), {"bad.xml"});
}
TEST_F(LongBadInput, PlatformWithImpossibleFigures) {
  const auto platform = [&](const std::string& speed, const std::string& bandwidth) {
    return line_.write("figures.xml",
                       "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
                       "\"https://simgrid.org/simgrid.dtd\">\n<platform version='4.1'><zone id='z' "
                       "routing='None'><host id='h' speed='" +
                           speed + "'/><link id='l' bandwidth='" + bandwidth +
                           "' latency='1us'/></zone></platform>\n");
  };
  refuses("show " + platform("-1", "1GBps"), {"figures.xml", "host 'h'", "speed (flop/s) from 0.001"});
  refuses("show " + platform("1Gf", "-3GBps"), {"figures.xml", "link 'l'", "bandwidth (bytes/s) from 0.001"});
}
TEST_F(LongBadInput, ListThatContainsItself) {
  refuses("show " + line_.write("self.yaml", "platform: x.xml\na: &a [*a]\n"), {"self.yaml:2", "alias"});
}
TEST_F(BadInput, NameThatEscapesItsFolder) {
  refuses("simulate " + line_.experiment("name: ../out\n"), {"experiment.yaml:5", "name", "folder"});
  refuses("simulate " + line_.experiment("name: \xff\n"), {"experiment.yaml:5", "UTF-8"});
}
TEST_F(BadInput, SuiteInsteadOfAnExperiment) {
  refuses("simulate '" + testing::source_folder() + "/validation/suites/lab.yaml' --out out",
          {"lab.yaml", "suite", "validate"});
}
TEST_F(BadInput, NumberOutOfRange) {
  refuses("validate " + line_.experiment() + " --tolerance 0 --out out", {"--tolerance", "above 0", "'0'"});
}
TEST_F(LongBadInput, PlatformWithUnknownDevice) {
  const auto path =
      line_.write("device.xml",
                  "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
                  "\"https://simgrid.org/simgrid.dtd\">\n<platform version='4.1'><zone id='z' "
                  "routing='None'><host id='h' speed='1Gf'><prop id='device' value='v101'/></host>"
                  "</zone></platform>\n");
  refuses("show " + path, {"h", "v101", "v100"});
}
TEST_F(LongBadInput, RouteMissingBetweenRoles) {
  const auto path =
      line_.write("islands.xml",
                  "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
                  "\"https://simgrid.org/simgrid.dtd\">\n<platform version='4.1'><zone id='z' "
                  "routing='Full'><host id='left' speed='1Gf'/><host id='right' speed='1Gf'/>"
                  "<link id='l' bandwidth='1GBps' latency='1us'/>"
                  "<route src='left' dst='left'><link_ctn id='l'/></route></zone></platform>\n");
  refuses("simulate " + line_.experiment() + " --set platform=" + path +
              " --set placement.workers=[left] --set placement.servers=[right] --out out",
          {"left", "right", "route"});
}
TEST_F(LongBadInput, MoreRolesThanTheHostAllows) {
  refuses("simulate " + line_.experiment() +
              " --set 'placement.workers=[node-6, node-6, node-6, node-6]' --out out",
          {"node-6"});
}
TEST_F(BadInput, UnknownHost) {
  refuses("simulate " + line_.experiment() + " --set placement.workers=[node-11] --out out",
          {"--set", "node-11", "node-1"});
  refuses("simulate " + line_.experiment("variants: {far: {placement.servers: [node-11]}}\n") +
              " --variant far --out out",
          {"experiment.yaml:5", "variants.far.placement.servers", "node-11"});
}
TEST_F(LongBadInput, CacheLargerThanTheMemory) {
  refuses("simulate " + line_.experiment() +
              " --set data.source=storage --set data.cache_capacity=64GiB --set "
              "placement.cache_nodes=[server] --out out",
          {"cache_capacity", "server"});
}
TEST_F(LongBadInput, StoresWithoutADisk) {
  const std::string stored =
      "simulate " + line_.experiment() +
      " --out out --set data.source=storage --set placement.cache_nodes=[node-1] --set ";
  refuses(stored + "placement.stores=[server,node-2]", {"placement.stores", "hosts with a disk", "node-2"});
  refuses(stored + "placement.stores=[server,server]", {"placement.stores", "different host", "server"});
  refuses(stored + "placement.stores=[serber]", {"placement.stores", "did you mean 'server'"});
  refuses("simulate " + line_.experiment() + " --set placement.stores=[server] --out out",
          {"placement.stores", "data.source"});
}
TEST_F(BadInput, CacheSmallerThanASample) {
  refuses("simulate " + line_.experiment() +
              " --set data.source=storage --set data.cache_capacity=100 --set "
              "placement.cache_nodes=[server] --out out",
          {"cache_capacity", "the size of a sample", "100"});
}
TEST_F(BadInput, UnknownModel) {
  refuses("simulate " + line_.experiment() + " --set workload.model=lennet --out out", {"lennet", "lenet"});
}
TEST_F(LongBadInput, DataSetNotInstalled) {
  refuses(
      "simulate " + line_.experiment() +
          " --set workload.math=real --set workload.dataset=fashion-mnist --set workload.dataset_directory=" +
          line_.folder().string() + " --out out",
      {"dataset-fashion-mnist"});
}
TEST_F(LongBadInput, TruncatedDataSet) {
  line_.shell(
      "cp /usr/share/datasets/fashion-mnist/* . && gunzip -c train-images-idx3-ubyte.gz | head -c 5000 > t "
      "&& "
      "rm train-images-idx3-ubyte.gz && mv t train-images-idx3-ubyte");
  refuses(
      "simulate " + line_.experiment() +
          " --set workload.math=real --set workload.dataset=fashion-mnist --set workload.dataset_directory=" +
          line_.folder().string() + " --set workload.train_samples=0 --out out",
      {"train-images-idx3-ubyte"});
}
TEST_F(BadInput, CheckpointOfAnotherModel) {
  const std::string real = "simulate " + line_.experiment() + " --set workload.math=real ";
  ASSERT_EQ(line_.tandem(real + "--out first").exit_code, 0);
  refuses(real + "--set workload.initial=first/model.pt --set workload.model=lenet --out out",
          {"mlp", "lenet"});
  refuses(real + "--set workload.initial=. --set name=second --out out",
          {"--set", "workload.initial", "the results of a job with model.pt or checkpoints"});
}
TEST_F(BadInput, InvalidClusterName) {
  refuses("cluster up '" + testing::source_folder() + "/platforms/mixed_lab.xml' --name 'a b/../c'",
          {"--name", "a b/../c"});
}
TEST_F(BadInput, ExistingResultsAreKept) {
  ASSERT_EQ(line_.tandem("simulate " + line_.experiment() + " --out first").exit_code, 0);
  const auto again = line_.tandem("simulate " + line_.experiment() + " --out first");
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_NE(again.output.find("--force"), std::string::npos) << again.output;
  EXPECT_EQ(line_.tandem("simulate " + line_.experiment() + " --out first --force").exit_code, 0);
}
TEST_F(BadInput, UnknownVariantOptionAndAlgorithm) {
  refuses("simulate " + line_.experiment() + " --variant fast --out out", {"fast"});
  refuses("simulate " + line_.experiment() + " --set sync.algorithm=bps --out out", {"bps", "bsp"});
  refuses("simulate " + line_.experiment() +
              " --set sync.algorithm=local-sgd --set 'sync.options={hh: 2}' --out out",
          {"hh"});
}
TEST_F(BadInput, CompareNeedsASimulatedAndAMeasuredResult) {
  ASSERT_EQ(line_.tandem("simulate " + line_.experiment() + " --out first").exit_code, 0);
  refuses("compare first first --out out", {"measured", "simulated"});
  refuses("compare first nowhere --out out", {"nowhere"});
}
TEST_F(BadInput, StaleOrMissingProfile) {
  refuses("simulate " + line_.experiment() + " --set physics.profile=none.json --out out",
          {"none.json", "calibrate"});
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
