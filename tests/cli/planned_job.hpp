// A job on two emulated devices, and made offers to plan it with.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "policies/vocabulary/stream_text.hpp"
#include "tests/cli/command.hpp"

namespace tandem::testing {

/// Dollars per hour of the job's server, and of a spot machine with two devices.
constexpr double server_per_hour = 0.2, pair_per_hour = 0.25;

class PlannedJob : public ::testing::Test {
 protected:
  PlannedJob() {
    std::string hosts, links, routes;
    for (const std::string name : {"server", "worker-1", "worker-2"}) {
      hosts +=
          "<host id='" + name + "' speed='1Gf'>" +
          (name == "server" ? "<prop id='price_per_hour' value='0.2'/>" : "<prop id='device' value='t4'/>") +
          "</host>\n";
      links += "<link id='l-" + name + "' bandwidth='8Gbps' latency='50us' sharing_policy='SPLITDUPLEX'/>\n";
      routes +=
          "<route src='" + name + "' dst='switch'><link_ctn id='l-" + name + "' direction='UP'/></route>\n";
    }
    line_.write("lab.xml",
                "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                "<platform version='4.1'><zone id='z' routing='Floyd'>" +
                    hosts + "<router id='switch'/>" + links + routes + "</zone></platform>\n");
    line_.write("job.yaml",
                "platform: lab.xml\n"
                "workload: {math: modelled, model: lenet, dataset: fashion-mnist, batch: 32,\n"
                "           measured_step: 150ms}\n"
                "placement: {workers: [worker-1, worker-2], servers: [server]}\n"
                "transience: {lifetime: weibull, options: {shape: 0.7, scale: 60}, start: 5, detect: 1}\n"
                "recovery: {policy: replace}\n"
                "checkpoint: {at_end: false}\n"
                "stop: {rounds: 400}\n"
                "seed: 4\n");
    write_offers(1.0);
  }

  /// `factor`: on the prices. `has_pair`: spot machines of two devices, too.
  void write_offers(double factor, bool has_pair = false) const {
    const auto row = [&](const std::string& instance, const std::string& kind, double price) {
      return "made,here," + instance + ",t4," + (instance == "pair" ? "2," : "1,") + kind + "," +
             std::to_string(factor * price) + ",USD,1,10,8,made,2026-11-01\n";
    };
    line_.write("offers.csv",
                "provider,region,instance,device,count,kind,price_per_hour,currency,billing_step,"
                "billing_minimum,network_gbps,source,date\n" +
                    row("one", "on-demand", 0.5) + row("dear", "on-demand", 0.6) + row("one", "spot", 0.125) +
                    (has_pair ? row("pair", "spot", pair_per_hour) : ""));
  }

  nlohmann::json plan(const std::string& words, int exit_code = 0) const {
    const auto result = line_.tandem("plan job.yaml --offers 'offers.csv" + words + " --force --out out");
    EXPECT_EQ(result.exit_code, exit_code) << result.output;
    std::ifstream file(line_.folder() / "out" / "plan.json");
    return nlohmann::json::parse(file);
  }
  /// Without what the shell command wrote to standard error.
  std::string printed(const std::string& words) const {
    const auto result = line_.shell("\"$TANDEM\" plan job.yaml " + words + " --force --out out 2> notes");
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return result.output;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(line_.folder() / name);
    return rest_of(file);
  }
  nlohmann::json summary(const std::string& out) const {
    std::ifstream file(line_.folder() / out / "summary.json");
    return nlohmann::json::parse(file);
  }
  CommandLine line_;
};

}  // namespace tandem::testing
