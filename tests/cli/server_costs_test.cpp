// Jobs whose server's host states its costs, simulated and on real ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/command.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using nlohmann::json;
using ::testing::HasSubstr;

class ServerCosts : public ::testing::Test {
 protected:
  ServerCosts() {
    write_lab("lab.xml", "");
    line_.write("lab.yaml",
                "platform: lab.xml\n"
                "workload: {model: mlp, dataset: synthetic, math: modelled, train_samples: 4000, batch: 8}\n"
                "placement: {workers: [w1, w2, w3, w4, w5, w6, w7, w8], servers: [store]}\n"
                "sync: {algorithm: asp}\n"
                "physics: {ensemble: 0}\n"
                "stop: {rounds: 12}\n");
  }

  /// Eight workers and a server on a switch. `properties`: elements of the server's host.
  void write_lab(const std::string& name, const std::string& properties) const {
    std::string zone = "<host id='store' speed='20Gf'>" + properties + "</host>\n";
    std::string links = "<link id='store' bandwidth='1GBps' latency='20us' sharing_policy='SPLITDUPLEX'/>\n";
    std::string routes = "<route src='store' dst='switch'><link_ctn id='store' direction='UP'/></route>\n";
    for (int worker = 1; worker <= 8; ++worker) {
      const std::string id = 'w' + std::to_string(worker);
      zone += "<host id='" + id + "' speed='5Gf'/>\n";
      links += "<link id='" + id + "' bandwidth='1GBps' latency='20us' sharing_policy='SPLITDUPLEX'/>\n";
      routes += "<route src='" + id + "' dst='switch'><link_ctn id='" + id + "' direction='UP'/></route>\n";
    }
    line_.write(name,
                "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                "<platform version=\"4.1\">\n<zone id='lab' routing='Floyd'>\n" +
                    zone + "<router id='switch'/>\n" + links + routes + "</zone>\n</platform>\n");
  }

  double step_time(const std::string& words, const std::string& out) const {
    const auto result = line_.tandem(words + " --out " + out);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    const json summary = json::parse(std::ifstream(line_.folder() / out / "summary.json"));
    return summary.at("step_time_s").at("mean");
  }

  CommandLine line_;
};
using LongServerCosts = ServerCosts;

TEST_F(ServerCosts, WrongUnitsOfAPlatformAreRefused) {
  write_lab("lab.xml", "<prop id='tandem:server_message' value='3MB'/>");
  const auto result = line_.tandem("simulate lab.yaml --out out");
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("lab.xml: host 'store': property 'tandem:server_message': expected a "
                                       "time >= 0 (like 200us; ns us ms s min h d), found '3MB'"));
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out"));
}

/// The server of real ranks takes as long as its host states: two workers wait for it in turn.
TEST_F(LongServerCosts, RealRanksTakeTheStatedTime) {
  write_lab("slow.xml",
            "<prop id='tandem:server_message' value='15ms'/><prop id='tandem:server_tensor' value='1ms'/>");
  const std::string job = " lab.yaml --set placement.worker_count=2 --set stop.rounds=25 --operations";
  const double fast = step_time("run" + job, "fast");
  const double slow = step_time("run" + job + " --set platform=slow.xml", "slow");
  const double simulated = step_time("simulate" + job + " --set platform=slow.xml", "simulated");
  EXPECT_GT(slow, 3 * fast);
  EXPECT_NEAR(slow / simulated, 1, 0.15);
  const auto count = [&](const std::string& out) {
    std::map<std::string, int> works;
    for (const auto& operation : read_results((line_.folder() / out).string()).journal.operations)
      if (operation.kind == "compute") ++works[operation.work];
    return works;
  };
  for (const char* out : {"simulated", "slow"}) {
    auto works = count(out);
    // The other worker may have a push on its way when the job ends.
    EXPECT_GE(works["push"], 50) << out;
    EXPECT_LE(works["push"], 51) << out;
    for (const char* work : {"reply", "update", "reduce"})
      EXPECT_EQ(works[work], works["push"]) << out << work;
  }
  EXPECT_FALSE(count("fast").contains("push"));
  // Two threads on two cores work for both workers at the same time.
  write_lab("two.xml",
            "<prop id='tandem:server_message' value='15ms'/><prop id='tandem:server_tensor' value='1ms'/>"
            "<prop id='tandem:server_parallel' value='2'/>");
  line_.shell("sed -i \"s/speed='20Gf'/& core='2'/\" two.xml");
  const double two = step_time("run" + job + " --set platform=two.xml", "two");
  EXPECT_LT(two, 0.7 * slow);
  EXPECT_NEAR(two / step_time("simulate" + job + " --set platform=two.xml", "two_simulated"), 1, 0.15);
  EXPECT_GE(count("two")["push"], 50);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
