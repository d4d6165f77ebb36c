// `tandem fit network`, `server` and `collectives`: the numbers that made a table are found again. The tables
// come from simulations of every message, and from formulas written out here, not from the closed forms that
// are fitted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "policies/vocabulary/rng.hpp"
#include "tests/cli/command.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;

struct Lab {
  const char* bandwidth = "1GBps";
  const char* latency = "20us";
  const char* speed = "10Gf";  ///< of workers
  const char* server = "";     ///< properties of its host
};

class FitTables : public ::testing::Test {
 protected:
  void write_lab(const std::string& file, const Lab& lab) const {
    const auto link = [&](const std::string& id) {
      return "<link id='" + id + "' bandwidth='" + lab.bandwidth + "' latency='" + lab.latency +
             "' sharing_policy='SPLITDUPLEX'/>\n";
    };
    const auto route = [&](const std::string& host) {
      return "<route src='" + host + "' dst='switch'><link_ctn id='l-" + host +
             "' direction='UP'/></route>\n";
    };
    std::string hosts = std::string("<host id='store' speed='20Gf'>") + lab.server + "</host>\n";
    std::string links = link("l-store"), routes = route("store");
    for (int worker = 1; worker <= 8; ++worker) {
      const std::string id = "w" + std::to_string(worker);
      hosts += "<host id='" + id + "' speed='" + lab.speed + "'/>\n";
      links += link("l-" + id);
      routes += route(id);
    }
    line_.write(file,
                "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                "<platform version=\"4.1\">\n<zone id='lab' routing='Floyd'>\n" +
                    hosts + "<router id='switch'/>\n" + links + routes + "</zone>\n</platform>\n");
  }

  void write_job(const std::string& file, const std::string& platform) const {
    line_.write(file,
                "platform: " + platform +
                    "\nworkload: {model: mlp, dataset: synthetic, math: modelled, train_samples: 4000, "
                    "batch: 8}\nplacement: {workers: [w1, w2, w3, w4, w5, w6, w7, w8], servers: [store]}\n"
                    "physics: {ensemble: 0}\nstop: {rounds: 5}\n"
                    "variants: {asp: {sync.algorithm: asp}, server: {}}\n");
  }

  /// Step times that the simulation of every message gives on the platform.
  void make_table(const std::string& file, const Lab& truth, const std::vector<std::string>& models,
                  const std::string& variant = "server") {
    write_lab("true.xml", truth);
    write_job("true.yaml", "true.xml");
    std::string table = "workers,model,step_time\n";
    for (const std::string& model : models)
      for (const std::string workers : {"1", "2", "8"}) {
        const std::string out = "made/" + model + workers;
        const auto result =
            line_.tandem("simulate true.yaml --variant " + variant + " --set workload.model=" + model +
                         " --set placement.worker_count=" + workers + " --out " + out);
        ASSERT_EQ(result.exit_code, 0) << result.output;
        const json summary = json::parse(std::ifstream(line_.folder() / out / "summary.json"));
        table += workers + ',' + model + ',' + summary.at("step_time_s").at("mean").dump() + '\n';
      }
    line_.write(file, table);
  }

  json fit(const std::string& words) const {
    const auto result = line_.tandem("fit " + words + " --json 2> errors");
    EXPECT_EQ(result.exit_code, 0) << words << '\n' << result.output;
    return json::parse(result.output);
  }

  double predicted(const std::string& words, const std::string& platform) const {
    const auto result =
        line_.tandem("predict lab.yaml " + words + " --json --set platform=" + platform + " 2> errors");
    return json::parse(result.output).at("round_s").get<double>();
  }

  static json number(const json& document, const std::string& begin) {
    for (const auto& each : document.at("numbers"))
      if (each.at("name").get<std::string>().starts_with(begin)) return each;
    ADD_FAILURE() << begin << " is missing in " << document.dump(1);
    return {{"value", 0.0}, {"is_determined", false}};
  }

  CommandLine line_;
};

/// The platform before the fit has links of eight times the rate and a tenth of the latency, and workers
/// twice as fast.
TEST_F(FitTables, OfStepsGiveLinksAndDevices) {
  make_table("steps.csv", {.bandwidth = "125MBps", .latency = "500us", .speed = "5Gf"}, {"mlp", "resnet32"});
  write_lab("lab.xml", {.latency = "50us"});
  write_job("lab.yaml", "lab.xml");
  const json found = fit("network steps.csv lab.yaml --variant server --out found.xml");
  EXPECT_NEAR(number(found, "bandwidth").at("value").get<double>(), 0.125, 0.125 * 0.05) << found.dump(1);
  EXPECT_FALSE(number(found, "latency").at("is_determined").get<bool>())
      << "every round has the same latencies, as it has the same computing";
  EXPECT_LT(found.at("error").get<double>(), 0.03);
  // A round on the platform that was found takes as long as on the one that made the table.
  line_.shell("sed -i s/10Gf/5Gf/ found.xml");
  const std::string job = "--variant server --set workload.model=resnet32";
  EXPECT_NEAR(predicted(job, "found.xml") / predicted(job, "true.xml"), 1.0, 0.03);
  EXPECT_EQ(line_.tandem("fit network steps.csv lab.yaml --variant server --out found.xml").exit_code, 2)
      << "exists";
  EXPECT_EQ(found.at("links").size(), 9U);
  const json one = fit("network steps.csv lab.yaml --variant server --links l-store --confidence 0.5");
  EXPECT_EQ(one.at("links").size(), 1U);
  EXPECT_LT(number(one, "bandwidth").at("value").get<double>(), 0.5) << "the server's link is shared by all";
}

/// 64 KiB in each round trip of 2 ms: alone, a worker does not use its link.
TEST_F(FitTables, OfStepsGiveTheWindow) {
  const Lab links = {.bandwidth = "125MBps", .latency = "500us"};
  Lab truth = links;
  truth.server = "<prop id='tandem:window' value='64KiB'/>";
  make_table("steps.csv", truth, {"mlp", "resnet32"});
  write_lab("lab.xml", links);
  write_job("lab.yaml", "lab.xml");
  const json found = fit("network steps.csv lab.yaml --variant server --window");
  EXPECT_TRUE(number(found, "TCP's window").at("is_determined").get<bool>()) << found.dump(1);
  EXPECT_THAT(found.at("warnings").dump(), HasSubstr("hardly separate them from the others: TCP's window"));
  EXPECT_NEAR(number(found, "TCP's window").at("value").get<double>() / 65536, 1.0, 0.1) << found.dump(1);
  const json without = fit("network steps.csv lab.yaml --variant server");
  EXPECT_GT(without.at("error").get<double>(), 2 * found.at("error").get<double>());
}

/// One core a server; a table of three models and few workers, fast enough for eight to saturate the server
/// with each model: otherwise the table has one equation less than costs.
TEST_F(FitTables, OfStepsGiveCostsOfAServerAndDevices) {
  make_table("steps.csv",
             {.speed = "80Gf",
              .server = "<prop id='tandem:server_message' value='3ms'/><prop id='tandem:server_tensor' "
                        "value='100us'/><prop id='tandem:server_push_rate' value='200MBps'/>"
                        "<prop id='tandem:server_reply_rate' value='200MBps'/>"},
             {"mlp", "lenet", "resnet32"}, "asp");
  write_lab("lab.xml", {});
  write_job("lab.yaml", "lab.xml");
  const json found = fit("server steps.csv lab.yaml --variant asp --out found.xml");
  EXPECT_NEAR(number(found, "time per message").at("value").get<double>(), 3e-3, 0.15e-3) << found.dump(1);
  EXPECT_NEAR(number(found, "time per tensor").at("value").get<double>(), 100e-6, 10e-6) << found.dump(1);
  EXPECT_NEAR(number(found, "time per byte").at("value").get<double>(), 5e-9, 0.5e-9) << found.dump(1);
  EXPECT_LT(found.at("error").get<double>(), 0.03);
  // Also where the table has no row.
  line_.shell("sed -i s/10Gf/80Gf/ found.xml");
  const std::string job = "--variant asp --set workload.model=lenet --set placement.worker_count=6";
  EXPECT_NEAR(predicted(job, "found.xml") / predicted(job, "true.xml"), 1.0, 0.03);
}

/// One model alone determines no costs of bytes and tensors.
TEST_F(FitTables, NameWhatTheyDoNotDetermine) {
  write_lab("lab.xml", {});
  write_job("lab.yaml", "lab.xml");
  line_.write("one.csv", "workers,steps_per_second\n1,10\n2,18\n4,25\n8,26\n");
  const auto result = line_.tandem("fit server one.csv lab.yaml --variant server --set sync.algorithm=asp");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("time per byte, s: 0 (not determined)"));
  EXPECT_THAT(result.output, HasSubstr("warning: the table does not determine these numbers"));
}

/// Rings of 2, 4 and 8 ranks, whose times are written out here, with 2 % of noise.
TEST_F(FitTables, OfAllReducesGiveTheScheduleAndItsLinks) {
  Rng random = Rng::stream(5, "noise of a table");
  std::string table = "ranks,bytes,time\n";
  for (const int ranks : {2, 4, 8})
    for (const double bytes : {16384.0, 262144.0, 4194304.0, 67108864.0}) {
      const double time_s = 2 * (ranks - 1) * (20e-6 + bytes / ranks / 1.25e9);
      table += std::to_string(ranks) + ',' + std::to_string(static_cast<long>(bytes)) + ',' +
               std::to_string(time_s * std::exp(0.02 * random.normal()) * 1e6) + "us\n";
    }
  // Small ones, which a library sums in another way.
  line_.write("sums.csv", table + "2,1KiB,500us\n8,1KiB,3us\n");
  const json found = fit("collectives sums.csv --least 16KiB");
  EXPECT_EQ(found.at("rows").size(), 12U);
  EXPECT_EQ(found.at("schedule"), "ring");
  const json byte = number(found, "time per byte"), hop = number(found, "latency");
  EXPECT_NEAR(byte.at("value").get<double>(), 0.8e-9, 0.8e-9 * 0.05);
  EXPECT_NEAR(hop.at("value").get<double>(), 20e-6, 20e-6 * 0.05);
  EXPECT_LT(byte.at("lower").get<double>(), byte.at("value").get<double>());
  EXPECT_FALSE(number(found, "time per summed byte").at("is_determined").get<bool>())
      << "a ring sums as many bytes as it receives";
}

TEST_F(FitTables, RefuseWhatIsNoTable) {
  write_lab("lab.xml", {});
  write_job("lab.yaml", "lab.xml");
  const auto refuses = [&](const std::string& table, const std::string& words, const std::string& part) {
    line_.write("bad.csv", table);
    const auto result = line_.tandem("fit " + words);
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_THAT(result.output, HasSubstr(part));
  };
  const std::string network = "network bad.csv lab.yaml --variant server";
  refuses("workers\n1\n", network, "one of the columns step_time and steps_per_second");
  refuses("workers,step_time\n1,0\n", network, "a time above 0");
  refuses("workers,step_time\n9,1\n", network, "bad.csv:2:");
  refuses("workers,step_time\n2,1\n2,1\n", network, "expected each job once");
  refuses("workers,step_time\n", network, "expected rows below the header");
  refuses("step_time,sync.algoritm\n1,bsp\n", network, "sync.algoritm");
  refuses("workers,step_time\n2,1\n", network + " --links 'x*'", "found none like 'x*'");
  refuses("workers,step_time\n2,1\n", network + " --set sync.algorithm=adsp", "no closed form");
  refuses("workers,step_time\n2,1\n", "server bad.csv lab.yaml --variant server --set sync.over=all-reduce",
          "expected workers that exchange over a server");
  refuses("ranks,bytes,time\n2,1MiB,1ms\n", "collectives bad.csv", "expected at least two all-reduces");
  refuses("ranks,bytes,time\n1,1MiB,1ms\n", "collectives bad.csv", "ranks");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
