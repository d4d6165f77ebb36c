// Jobs whose decisions depend on timing are simulated as an ensemble: `tandem simulate` and `tandem study`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class Ensembles : public ::testing::Test {
 protected:
  Ensembles() {
    line_.experiment(
        "variants:\n  bsp: {}\n  asp: {sync.algorithm: asp}\n  adacomm: {sync.algorithm: adacomm}\n");
  }

  json summary_of(const std::string& words, const std::string& out) const {
    const auto result = line_.tandem("simulate experiment.yaml --out " + out + " " + words);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return json::parse(std::ifstream(line_.folder() / out / "summary.json"));
  }

  CommandLine line_;
};
using LongEnsembles = Ensembles;

TEST_F(Ensembles, HaveIntervalsAroundTheSimulationThatIsKept) {
  const json summary = summary_of("--variant asp", "out");
  const json& ensemble = summary.at("ensemble");
  EXPECT_EQ(ensemble.at("replicas"), 16);
  for (const char* key : {"step_time_s", "throughput", "makespan_s"}) {
    const json& figure = ensemble.at("figures").at(key);
    EXPECT_LT(figure.at("low"), figure.at("high")) << key << ": workers start at drawn times";
    EXPECT_LE(figure.at("low"), figure.at("median"));
    EXPECT_LE(figure.at("median"), figure.at("high"));
  }
  const auto recorded = ensemble.at("recorded").get<std::size_t>();
  EXPECT_EQ(ensemble.at("figures").at("step_time_s").at("values").at(recorded - 1),
            summary.at("step_time_s").at("mean"));
  for (const auto& entry : std::filesystem::directory_iterator(line_.folder()))
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("replicas"))) << "left over";
}

TEST_F(Ensembles, AreTheSameEveryTimeAndEachReplicaCanBeRepeated) {
  const json first = summary_of("--variant asp", "first");
  EXPECT_EQ(summary_of("--variant asp", "second"), first);
  const auto recorded = first.at("ensemble").at("recorded").get<int>();
  json alone = summary_of("--variant asp --repetition " + std::to_string(recorded), "alone");
  EXPECT_FALSE(alone.contains("ensemble"));
  alone["ensemble"] = first.at("ensemble");
  EXPECT_EQ(alone, first);
}

TEST_F(Ensembles, AreOnlyOfJobsThatDependOnTiming) {
  EXPECT_FALSE(summary_of("--variant bsp", "bsp").contains("ensemble"));
  EXPECT_FALSE(summary_of("--variant asp --set physics.ensemble=0", "one").contains("ensemble"));
  EXPECT_EQ(summary_of("--variant asp --set physics.ensemble=5", "five").at("ensemble").at("replicas"), 5);
}

/// Half a round is a mean.
TEST_F(Ensembles, RoundsThatDifferAreThoseOfAWorker) {
  for (const char* variant : {"asp", "bsp"}) {
    const auto result =
        line_.tandem("simulate experiment.yaml --set physics.ensemble=0 --set workload.math=" +
                     std::string("modelled --force --out out --variant ") + variant);
    ASSERT_EQ(result.exit_code, 0) << result.output;
    const json summary = json::parse(std::ifstream(line_.folder() / "out" / "summary.json"));
    const auto rounds = summary.at("rounds").get<double>();
    EXPECT_THAT(result.output, HasSubstr(rounds == std::floor(rounds) ? " rounds, " : " rounds per worker, "))
        << rounds;
  }
}

/// Nothing depends on timing between workers.
TEST_F(Ensembles, AreNotOfOneWorker) {
  for (const std::string worker : {"--set placement.workers=[node-1]", "--set placement.worker_count=1"}) {
    const auto result = line_.tandem("simulate experiment.yaml --variant asp --set workload.math=modelled " +
                                     worker + " --force --out out");
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_THAT(result.output, Not(HasSubstr("interval of")));
    EXPECT_FALSE(json::parse(std::ifstream(line_.folder() / "out" / "summary.json")).contains("ensemble"));
  }
}

TEST_F(Ensembles, OfFewerThanFourAreRefused) {
  const auto result =
      line_.tandem("simulate experiment.yaml --variant asp --set physics.ensemble=3 --out out");
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("physics.ensemble"));
  EXPECT_THAT(result.output, HasSubstr("at least 4 simulations"));
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out"));
}

TEST_F(Ensembles, OfRealMathematicsAreModelledUnlessThatChangesDecisions) {
  const std::string real = "simulate experiment.yaml --set workload.math=real --out ";
  const auto result = line_.tandem(real + "asp --variant asp");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("interval of 16 simulations"));
  EXPECT_THAT(result.output,
              HasSubstr("the job is simulated 16 times for medians with 90 % intervals, because "
                        "asp decides by timing; once: --set physics.ensemble=0"));
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "asp" / "model.pt")) << "the kept one is real";
  const auto by_losses = line_.tandem(real + "adacomm --variant adacomm");
  EXPECT_EQ(by_losses.exit_code, 0) << by_losses.output;
  EXPECT_THAT(by_losses.output, HasSubstr("adacomm decides by losses"));
  EXPECT_THAT(by_losses.output, Not(HasSubstr("interval of")));
}

TEST_F(LongEnsembles, EndWithTheirCommand) {
  const auto result = line_.tandem_ended_early(
      "simulate experiment.yaml --variant asp --set stop.rounds=100000000 --yes "
      "--out out",
      {.processes = list_processes("tandem"), .when = "ls out.replicas/1.log"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out.replicas"));
}

TEST_F(LongEnsembles, OfAStudyDrawItsIntervals) {
  const auto result = line_.tandem("study experiment.yaml --variant asp --out out");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("the job is simulated 16 times"));
  const json report = json::parse(std::ifstream(line_.folder() / "out" / "report.json"));
  const json& interval = report.at("configurations").at(0).at("intervals").at("throughput");
  EXPECT_LT(interval.at(0), interval.at(1));
}

// ---- Spread of computing times without a profile ----

double computing_of(const json& summary) {
  return summary.at("phases").at("forward").at("mean_s").get<double>() +
         summary.at("phases").at("backward").at("mean_s").get<double>();
}

/// A model whose messages and updates take next to no time.
const std::string computes =
    "--variant bsp --set stop.rounds=4000 --set workload.model=synthetic --set "
    "workload.synthetic_parameters=10 "
    "--set workload.synthetic_forward=1e9 --set workload.synthetic_backward=2e9 ";
constexpr double variation = 0.2;
const double sigma = std::sqrt(std::log1p(variation * variation));

TEST_F(Ensembles, ASpreadKeepsMeansAndHasItsQuantiles) {
  const std::string alone = computes + "--set placement.worker_count=1 ";
  const json without = summary_of(alone, "without");
  const json with = summary_of(alone + "--set physics.noise=spread --set physics.spread=0.2", "with");
  EXPECT_NEAR(computing_of(with) / computing_of(without), 1.0, 4 * variation / std::sqrt(4000.0));
  const double normal_95 = 1.645;
  EXPECT_NEAR(
      with.at("step_time_s").at("p95").get<double>() / without.at("step_time_s").at("mean").get<double>(),
      std::exp(sigma * normal_95 - sigma * sigma / 2), 0.03);
  EXPECT_EQ(summary_of(alone + "--set physics.noise=spread --set physics.spread=0.2", "again"), with);
}

/// A round waits for the slower of two workers: the mean of the larger of two log-normal times is
/// 2 Phi(sigma / sqrt(2)) times their mean.
TEST_F(Ensembles, ASpreadMakesRoundsWaitForTheSlowest) {
  const std::string equal = computes +
                            "--set placement.workers=[node-1,node-2] --set placement.servers=[server] "
                            "--set platform=" +
                            testing::source_folder() + "/platforms/quad.xml ";
  const json without = summary_of(equal, "without");
  const json with = summary_of(equal + "--set physics.noise=spread --set physics.spread=0.2", "with");
  const double larger = 1 + std::erf(sigma / 2);
  const auto step = [](const json& summary) { return summary.at("step_time_s").at("mean").get<double>(); };
  EXPECT_NEAR((step(with) - step(without)) / (computing_of(without) * (larger - 1)), 1.0, 0.1);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
