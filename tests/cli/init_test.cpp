// `tandem init` writes files that other commands accept, says what is allowed where a value is not, and asks
// on a terminal. The templates in platforms/ can be shown and simulated.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class Init : public ::testing::Test {
 protected:
  std::string succeeds(const std::string& words) const {
    const auto result = line_.tandem(words);
    EXPECT_EQ(result.exit_code, 0) << words << '\n' << result.output;
    return result.output;
  }
  void expect_found(const std::string& text, const std::vector<std::string>& parts) const {
    for (const auto& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
  }
  bool has(const std::string& name) const { return std::filesystem::exists(line_.folder() / name); }
  CommandLine line_;
};
using LongInit = Init;

TEST_F(Init, WritesFilesThatAreShownAndSimulated) {
  succeeds("init my-job --sites 2 --gpus a100:2,t4:6 --between 1Gbps --model resnet50 --algorithm esync");
  expect_found(succeeds("show my-job.xml"), {"site-1-a100-1", "site-2-t4-6", "server"});
  succeeds("show my-job.xml --svg my-job.svg");
  expect_found(line_.shell("cat my-job.svg").output, {"<svg ", ">site-1-a100-1<", "1 Gb/s", "</svg>"});
  expect_found(succeeds("show my-job.yaml"), {"resnet50", "esync", "site-2-t4-3"});
  const std::string told = succeeds("simulate my-job.yaml --set stop.rounds=3 --out out");
  expect_found(told, {"2 x a100 (7.8 Tflop/s in fp32), 6 x t4 (3.24 Tflop/s in fp32)"});
  EXPECT_EQ(told.find("warning"), std::string::npos) << told;
  expect_found(line_.shell("cat my-job.xml").output,
               {"its speed is ignored unless",
                "speed=\"7800Gf\" core=\"1\"><disk id=\"disk\" read_bw=\"3GBps\" "
                "write_bw=\"2GBps\"/><prop id=\"device\" value=\"a100\"/>",
                "Disks are assumed: an NVMe drive"});
  // Only one of the six has another speed now.
  line_.shell("sed -i '/site-2-t4-3\\\"/s/3240Gf/1000Gf/' my-job.xml");
  expect_found(
      succeeds("simulate my-job.yaml --set stop.rounds=1 --out slower"),
      {"warning: host 'site-2-t4-3': speed 1000 Gflop/s x 1 core is 1000 Gflop/s, but the device 't4' "
       "computes 3240 Gflop/s in fp32: the device counts"});
  succeeds("simulate my-job.yaml --variant ring --set stop.rounds=3 --out ring");
  EXPECT_TRUE(has("out/summary.json"));
}

/// Every shape of site, and defaults alone.
TEST_F(LongInit, WritesEveryShape) {
  int number = 0;
  for (const char* options :
       {"", "--sites 3 --gpus h100:3,t4:6", "--gpus raspberry-pi-4:3,odroid-c2 --within 100Mbps",
        "--sites 4 --gpus v100:8 --between 12.5MBps --latency 80ms", "--model lenet --dataset synthetic",
        "--model resnet18 --storage 100MBps"}) {
    const std::string name = "job" + std::to_string(++number);
    succeeds("init " + name + ' ' + options);
    succeeds("simulate " + name + ".yaml --set stop.rounds=2 --out " + name);
  }
}

/// Sums of buckets run in a second queue of a GPU, so that they do not wait behind the backward pass of a
/// later bucket: with DDP's buckets, a ring takes as long as the library's all-reduce.
TEST_F(Init, ARingOnGpusHidesItsSumsBehindTheBackwardPass) {
  succeeds("init job --gpus a100:8");
  const auto makespan = [&](const std::string& settings) {
    succeeds(
        "simulate job.yaml --variant ring --set workload.batch=64 --set stop.rounds=10 --force --out out"
        " --set workload.bucket_bytes=25MiB " +
        settings);
    return read_results((line_.folder() / "out").string()).summary.makespan_s;
  };
  const double ring = makespan(""), native = makespan("--set sync.collective=native");
  EXPECT_NEAR(ring, native, 0.03 * native);
  EXPECT_LT(ring, 0.75 * makespan("--set sync.overlap=none"));
  // Sums may slow the computing down: by as much as is asked for, and no more than where all computing is.
  const double slower = makespan("--set physics.overlap_slowdown=1.8");
  EXPECT_GT(slower, 1.05 * ring);
  EXPECT_LT(slower, 1.8 * ring);
}

/// What --gpus, --nodes and --object-store make of the platform and the placement.
struct Shape {
  std::string options;
  std::vector<std::string> in_platform;
  std::vector<std::string> not_in_platform;
  std::vector<std::string> in_experiment;  ///< as `tandem show` resolves it
  int workers;
};

TEST_F(Init, NodesAndObjectStoresHaveTheirShapes) {
  const std::vector<Shape> shapes = {
      // As before: each device is a machine of its own.
      {"--gpus a100:8",
       {"site-1-a100-8", "id=\"cable-site-1-a100-1\" bandwidth=\"10Gbps\""},
       {"node-1", "network-", "tandem:machine"},
       {"over: server"},
       8},
      // Four nodes of eight: NVLink inside, a network between.
      {"--gpus h100:8 --nodes 4 --within 400Gbps",
       {"node-4-h100-8", "<prop id=\"tandem:machine\" value=\"node-4\"/></host>",
        "id=\"cable-node-1-h100-1\" bandwidth=\"450GBps\"", "id=\"network-node-4\" bandwidth=\"400Gbps\""},
       {"node-5", "h100-9", "site-1-h100"},
       {"preset: ddp", "over: all-reduce", "collective: native", "bucket_bytes: 25MiB",
        "first_bucket_bytes: 1MiB"},
       32},
      {"--gpus t4:2 --nodes 2 --nvlink 12GBps --algorithm asp",
       {"id=\"cable-node-2-t4-2\" bandwidth=\"12GBps\"", "id=\"network-node-2\" bandwidth=\"10Gbps\""},
       {},
       {"preset: none", "over: server"},
       4},
      {"--gpus a100:2 --nodes 2 --object-store 500MBps --model resnet18",
       {"id=\"object-store\"", "read_bw=\"500MBps\"", "node-2-processors", "id=\"nvme\"",
        "value=\"1TiB\"/>\n      <prop id=\"tandem:machine\" value=\"node-2\"/>"},
       {"read_bw=\"2GBps\" write_bw=\"1GBps\"/>\n      <prop id=\"device\" value=\"epyc"},
       {"source: storage", "stores: [object-store]", "node-1-processors", "over: all-reduce"},
       4},
      // Each device is a machine of its own, with a cache.
      {"--gpus a100:2 --object-store 500MBps --model resnet18",
       {"id=\"object-store\""},
       {"processors"},
       {"source: storage", "stores: [object-store]", "over: all-reduce"},
       2}};
  int number = 0;
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(shape.options);
    const std::string name = "shape" + std::to_string(++number);
    succeeds("init " + name + ' ' + shape.options);
    const std::string platform = line_.shell("cat " + name + ".xml").output;
    expect_found(platform, shape.in_platform);
    for (const auto& part : shape.not_in_platform)
      EXPECT_EQ(platform.find(part), std::string::npos) << part << '\n' << platform;
    const auto shown = line_.shell("$TANDEM show " + name + ".yaml --json 2> /dev/null").output;
    EXPECT_EQ(nlohmann::json::parse(shown).at("placement").at("workers").size(),
              static_cast<std::size_t>(shape.workers));
    expect_found(succeeds("show " + name + ".yaml"), shape.in_experiment);
    const std::string told = succeeds(
        "simulate " + name + ".yaml --set stop.rounds=2 --set workload.train_samples=4096 --out " + name);
    EXPECT_EQ(told.find("warning"), std::string::npos) << told;
  }
}

/// sqrt(2 x 0.1024 s x 14400 s) = 54.3 s are 301 rounds of 180 ms: the GPUs of a node have one life.
TEST_F(Init, TheDevicesOfANodeDepartAsOne) {
  succeeds("init job --gpus a100:8 --nodes 4 --within 100Gbps --model resnet50");
  const auto told = succeeds(
      "simulate job.yaml --set placement.worker_count=8 --set workload.measured_step=180ms --set "
      "transience.lifetime=exponential --set transience.options.mean=4h --set recovery.mode=restart --set "
      "recovery.policy=restart --set checkpoint.policy=optimal --set checkpoint.options.mtbf_s=14400 --set "
      "stop.rounds=1000 --set physics.ensemble=0 --out out");
  expect_found(told, {"commits: 5 of ", "every 301 rounds"});
}

/// MinIO's tiers hold the share of each node: after the first epoch nothing is read from the store.
TEST_F(LongInit, CachesOfNodesKeepWhatTheObjectStoreSent) {
  succeeds("init job --gpus a100:2 --nodes 2 --object-store 500MBps --model lenet --dataset synthetic");
  const auto cache_of = [&](const std::string& variant) {
    succeeds("simulate job.yaml --out " + variant + (variant == "all" ? "" : " --variant " + variant));
    return nlohmann::json::parse(std::ifstream(line_.folder() / variant / "summary.json")).at("cache");
  };
  const auto all = cache_of("all"), none = cache_of("no-cache");
  const double samples = all.at("requests").get<double>();
  EXPECT_NEAR(all.at("storage").get<double>(), samples / 2, 0.01 * samples) << all;
  EXPECT_NEAR(none.at("storage").get<double>(), samples, 0.01 * samples) << none;
}

/// Without a cache, reading takes as long as the disk; half of the samples fit into MinIO's cache.
TEST_F(LongInit, StorageIsReadThroughACache) {
  succeeds("init job --model lenet --gpus a100:4 --storage 1MBps --dataset synthetic");
  expect_found(line_.shell("cat job.xml").output, {"read_bw=\"1MBps\""});
  const auto summary_of = [&](const std::string& variant) {
    succeeds("simulate job.yaml --variant " + variant + " --out " + variant);
    return nlohmann::json::parse(std::ifstream(line_.folder() / variant / "summary.json"));
  };
  const auto none = summary_of("no-cache"), minio = summary_of("minio"), memory = summary_of("no-storage");
  // The disk serves one worker after the other, and all wait for the last one.
  expect_found(succeeds("simulate job.yaml --variant no-cache --out told"),
               {"\n  step time: data ", "the others waited another "});
  const double read_s = none.at("cache").at("storage_bytes").get<double>() / 1e6;
  EXPECT_NEAR(none.at("makespan_s").get<double>(), read_s, 0.05 * read_s);
  EXPECT_NEAR(minio.at("makespan_s").get<double>(), 0.75 * read_s, 0.05 * read_s);
  EXPECT_LT(memory.at("makespan_s").get<double>(), 0.5 * read_s);
}

TEST_F(Init, AMistakeIsAnsweredWithWhatIsAllowed) {
  const auto refuses = [&](const std::string& words, const std::vector<std::string>& parts) {
    const auto result = line_.tandem("init job " + words);
    EXPECT_EQ(result.exit_code, 2) << words << '\n' << result.output;
    expect_found(result.output, parts);
    EXPECT_FALSE(has("job.yaml")) << words;
    EXPECT_FALSE(has("job.xml")) << words;
  };
  refuses("--gpus a101:2", {"--gpus", "'a101'", "did you mean 'a100'", "tandem list device"});
  refuses("--gpus a100:0", {"--gpus", "a count from 1 to 1000", "a100:0"});
  refuses("--gpus a100:3 --sites 2", {"--gpus", "one entry per site", "a100:3"});
  refuses("--sites many", {"--sites", "from 1 to 20", "'many'"});
  refuses("--between fast", {"--between", "1Gbps", "'fast'"});
  refuses("--between 0Gbps", {"--between", "above 0", "'0Gbps'"});
  refuses("--storage slow", {"--storage", "1Gbps", "'slow'"});
  refuses("--latency 0", {"--latency", "10ms", "'0'"});
  refuses("--latency 10", {"--latency", "with its unit (like 10ms; ns us ms s min h d)", "'10'"});
  refuses("--gpus pascal:2", {"--gpus", "'pascal'", "tandem list device", "leave out <prop id=\"device\">"});
  refuses("--model llama-7b",
          {"--model", "'llama-7b'", "tandem list model", "workload.model: synthetic", "FILE.pt"});
  refuses("--nodes 0", {"--nodes", "from 1 to 500", "'0'"});
  refuses("--nodes 2 --sites 2", {"--nodes", "one site", "found 2"});
  refuses("--nvlink 300GBps", {"--nvlink", "--nodes"});
  refuses("--object-store fast", {"--object-store", "1Gbps", "'fast'"});
  refuses("--object-store 1GBps --storage 1GBps", {"--object-store", "--storage"});
  refuses("--model resnet5", {"--model", "resnet5", "resnet50"});
  refuses("--algorithm bps", {"--algorithm", "bps", "did you mean 'bsp'"});
  EXPECT_NE(line_.tandem("init ../job").output.find("letters, digits"), std::string::npos);
}

TEST_F(Init, ExistingFilesAreReplacedOnlyWithForce) {
  line_.write("job.yaml", "mine");
  EXPECT_EQ(line_.tandem("init job").exit_code, 2);
  EXPECT_FALSE(has("job.xml"));
  succeeds("init job --force");
}

/// `script` makes a terminal. A wrong answer is asked for again.
TEST_F(Init, AsksOnATerminal) {
  if (line_.shell("script -qec true /dev/null").exit_code != 0)
    GTEST_SKIP() << "no program `script`, or no pseudo-terminals";
  const auto result = line_.shell(
      "{ sleep 1; printf '2\\na1000:4\\na100:4\\n\\n2Gbps\\n\\n\\n\\nasp\\n\\n'; sleep 1; } | "
      "script -qec '\"'$TANDEM'\" init asked' /dev/null");
  expect_found(result.output, {"Number of sites [1]:", "expected a device", "Synchronisation algorithm"});
  expect_found(succeeds("show asked.yaml"), {"asp", "site-2-a100-2"});
  expect_found(line_.shell("cat asked.xml").output, {"2Gbps"});
}

TEST_F(LongInit, TemplatesAreShownAndSimulated) {
  for (const std::string name : {"two_sites", "two_racks", "rack", "four_h200", "cloud"}) {
    const std::string platform = testing::source_folder() + "/platforms/" + name + ".xml";
    succeeds("show " + platform);
    const std::string experiment = line_.write(
        name + ".yaml", "platform: " + platform +
                            "\nworkload: {model: resnet18, dataset: synthetic-colour, math: modelled}\n"
                            "stop: {rounds: 2}\n");
    succeeds("simulate " + experiment + " --out " + name);
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
