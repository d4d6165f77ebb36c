// `tandem discover` on an emulated cluster finds the bandwidths and the racks of the platform file, and bad
// input is refused. The first is skipped without the rights or the kernel support that clusters need.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "platforms/topology.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class Discover : public ::testing::Test {
 protected:
  /// Two racks of two machines with cables of 100 Mb/s, whose uplinks have as much, and one machine between
  /// them with half of that.
  static std::string racks() {
    std::string text =
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        "<platform version='4.1'><zone id='z' routing='Floyd'>\n";
    std::string links, routes;
    const auto cable = [&](const std::string& from, const std::string& to, const char* rate) {
      links += "<link id='c-" + from + "' bandwidth='" + rate +
               "' latency='50us' sharing_policy='SPLITDUPLEX'/>\n";
      routes += "<route src='" + from + "' dst='" + to + "'><link_ctn id='c-" + from +
                "' direction='UP'/></route>\n";
    };
    for (const std::string host : {"a1", "a2", "b1", "b2", "server"}) {
      text += "<host id='" + host + "' speed='1Gf'/>\n";
      cable(host, host == "server" ? "core" : host.substr(0, 1), host == "server" ? "6.25MBps" : "12.5MBps");
    }
    for (const std::string rack : {"a", "b"}) cable(rack, "core", "12.5MBps");
    return text + "<router id='a'/><router id='b'/><router id='core'/>\n" + links + routes +
           "</zone></platform>\n";
  }
  void refuses(const std::string& words, const std::string& part) const {
    const auto result = line_.tandem("discover " + words);
    EXPECT_EQ(result.exit_code, 2) << words << '\n' << result.output;
    EXPECT_NE(result.output.find(part), std::string::npos) << part << '\n' << result.output;
  }
  CommandLine line_;
};
using LongDiscover = Discover;

TEST_F(LongDiscover, FindsTheBandwidthsAndRacksOfAnEmulatedCluster) {
  const std::string id = line_.folder().filename().string();
  const std::string file = line_.write(id + ".xml", racks());
  const auto made = line_.tandem("cluster up " + file);
  if (made.exit_code == 2 && made.output.find("an emulated cluster needs") != std::string::npos)
    GTEST_SKIP() << made.output;
  ASSERT_EQ(made.exit_code, 0) << made.output;
  const auto found = line_.tandem("discover --cluster " + file + " --out found.xml --disk .");
  line_.tandem("cluster down " + file);
  ASSERT_EQ(found.exit_code, 0) << found.output;
  EXPECT_NE(found.output.find("a1, a2 share a link"), std::string::npos) << found.output;
  EXPECT_NE(found.output.find("b1, b2 share a link"), std::string::npos) << found.output;
  const auto expected = platforms::load_topology(file);
  const auto measured = platforms::load_topology((line_.folder() / "found.xml").string());
  for (const auto& from : expected.hosts())
    for (const auto& to : expected.hosts()) {
      if (from == to) continue;
      const auto path = measured.between(from, to);
      ASSERT_TRUE(path) << from << ' ' << to;
      EXPECT_NEAR(path->bandwidth.count() / expected.between(from, to)->bandwidth.count(), 1.0, 0.05)
          << from << ' ' << to << '\n'
          << found.output;
      // Racks: the same number of links.
      EXPECT_EQ(path->channels.size(), expected.between(from, to)->channels.size()) << from << ' ' << to;
    }
  const auto shown = line_.tandem("show found.xml");
  EXPECT_EQ(shown.exit_code, 0) << shown.output;
}

TEST_F(LongDiscover, OfThisMachineWritesAPlatformThatCanBeSimulated) {
  const auto result = line_.tandem("discover --out mine.xml --disk . --json 2> /dev/null");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto found = nlohmann::json::parse(result.output);
  ASSERT_EQ(found.at("machines").size(), 1U);
  const auto& machine = found.at("machines")[0];
  EXPECT_GT(machine.at("core_speed").get<double>(), 1e8);
  EXPECT_GT(machine.at("memory").get<double>(), 1e8);
  EXPECT_GT(machine.at("disk_write").get<double>(), 1e5);
  EXPECT_GT(found.at("tree").at("loopbacks")[0].at("rate").get<double>(), 1e7);
  const std::string host = found.at("names")[0];
  line_.write("job.yaml",
              "platform: mine.xml\nworkload: {model: lenet, dataset: synthetic}\nstop: {rounds: 2}\n"
              "placement: {workers: ['" +
                  host + "', '" + host + "'], servers: ['" + host + "']}\n");
  const auto simulated = line_.tandem("simulate job.yaml --out simulated");
  EXPECT_EQ(simulated.exit_code, 0) << simulated.output;
  // A file is not replaced without being told so.
  refuses("--out mine.xml", "mine.xml already exists");
}

TEST_F(LongDiscover, RefusesBadInputBeforeAnythingStarts) {
  refuses("--hosts a,a --out x.xml", "'a'");
  refuses("--hosts a --hostfile b --out x.xml", "expected one of --hosts, --hostfile and --slurm");
  refuses("--hosts a --cluster none.xml --out x.xml", "expected no --hosts");
  refuses("--cluster none.xml --out x.xml", "none.xml");
  refuses("--interface eth0 --out x.xml", "--interface: expected --hosts");
  refuses("--slurm --out x.xml", "SLURM_JOB_NODELIST");
  refuses("--batch 0 --out x.xml", "--batch");
  line_.write("topology.conf", "SwitchName=s Nodes=elsewhere[1-2]\n");
  refuses("--slurm-topology topology.conf --out x.xml",
          "topology.conf: expected nodes that are machines here");
  line_.write("bad.conf", "Switch=s\n");
  refuses("--slurm-topology bad.conf --out x.xml", "bad.conf:1: expected SwitchName");
  const auto disk = line_.tandem("discover --disk /nowhere/at/all --out x.xml");
  EXPECT_EQ(disk.exit_code, 70) << disk.output;
  EXPECT_NE(disk.output.find("the disk of /nowhere/at/all cannot be measured"), std::string::npos)
      << disk.output;
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "x.xml"));
}

TEST_F(LongDiscover, TakesAllReduceTimesOfNcclTestsIntoAProfile) {
  line_.write("table.txt",
              "#  Rank  0 Pid 1 on m device 0\n#  Rank  1 Pid 2 on m device 1\n"
              "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
              "1048576 262144 float sum -1 100 10.49 10.49 0 90 11.65 11.65 0\n");
  line_.write("job.yaml", "platform: " + testing::source_folder() +
                              "/platforms/quad.xml\nworkload: {model: mlp, dataset: "
                              "synthetic}\nstop: {rounds: 2}\n");
  const auto calibrated = line_.tandem("calibrate job.yaml --out profile.json -q");
  ASSERT_EQ(calibrated.exit_code, 0) << calibrated.output;
  const auto refused = line_.tandem("calibrate --from-nccl-tests table.txt --into profile.json");
  EXPECT_EQ(refused.exit_code, 2) << "it would be replaced";
  const auto taken =
      line_.tandem("calibrate --from-nccl-tests table.txt --into profile.json --force --json 2> /dev/null");
  ASSERT_EQ(taken.exit_code, 0) << taken.output;
  const auto profile = nlohmann::json::parse(taken.output);
  int of_two = 0;
  for (const auto& entry : profile.at("all_reduces"))
    if (entry.at("ranks") == 2) {
      ++of_two;
      EXPECT_DOUBLE_EQ(entry.at("median_s").get<double>(), 90e-6);
    }
  EXPECT_EQ(of_two, 1) << "instead of the measured ones";
  for (const std::string words : {"", "job.yaml --from-nccl-tests table.txt", "--into profile.json"}) {
    const auto result = line_.tandem("calibrate " + words);
    EXPECT_EQ(result.exit_code, 2) << words << result.output;
    EXPECT_NE(
        result.output.find(words.starts_with("--into") ? "--into requires --from-nccl-tests" : "expected"),
        std::string::npos)
        << result.output;
  }
}

/// Four workers on the links of the mixed lab; a sum takes two seconds.
class TablesOfNccl : public ::testing::Test {
 protected:
  TablesOfNccl() {
    line_.write("table.txt",
                "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
                "1024 256 float sum -1 2000000 0 0 0 2000000 0 0 0\n"
                "67108864 16777216 float sum -1 2000000 0.03 0.05 0 2000000 0.03 0.05 0\n");
    const auto taken = line_.tandem("calibrate --from-nccl-tests table.txt --ranks 4 --out tables.json");
    EXPECT_EQ(taken.exit_code, 0) << taken.output;
  }
  CommandResult simulated(const std::string& settings) const {
    return line_.tandem("simulate " + line_.experiment() +
                        " --set workload.math=modelled --set sync.over=all-reduce --set "
                        "sync.collective=native --set physics.profile=tables.json --force --out out " +
                        settings);
  }
  CommandLine line_;
};

TEST_F(TablesOfNccl, CountWithThePlatformsLinksWithoutAProfileOfAMachine) {
  const auto result = simulated("");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("library all-reduce timed as calibrated"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("simulated links of mixed_lab.xml"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("device catalogue"), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("measured on another machine"), std::string::npos) << result.output;
  const auto summary = nlohmann::json::parse(std::ifstream(line_.folder() / "out" / "summary.json"));
  EXPECT_GE(summary.at("step_time_s").at("mean").get<double>(), 2.0);
  EXPECT_EQ(simulated("--set run.devices=native").exit_code, 0);
}

TEST_F(TablesOfNccl, HaveNoNetworkOfTheirOwn) {
  const auto result = simulated("--set physics.network=profile");
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_NE(result.output.find("physics.network': expected platform, because the profile has times of "
                               "all-reduces alone"),
            std::string::npos)
      << result.output;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
