// `tandem predict --report`: the speed by the number of workers against figures by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using nlohmann::json;
using ::testing::HasSubstr;

/// One V100: a step of 0.25 s, 100 MB at 1.25 GB/s each way, and an update of 0.011 s. A server's port
/// carries 12.5 such steps per second, of 32 samples. Mean value analysis of eight: 10.33 steps per second
/// (notes of the study cm_dare).
TEST(PredictReport, SpeedGrowsWithWorkersUpToTheCapOfTheServer) {
  const CommandLine line;
  const auto result = line.tandem("predict " + source_folder() +
                                  "/workloads/studies/cm_dare_job.yaml --variant v100-west --report speed");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const json points = json::parse(std::ifstream(line.folder() / "speed/report.json")).at("results");
  ASSERT_EQ(points.size(), 8U);
  const json &one = points.front(), &eight = points.back();
  EXPECT_EQ(one.at("workers"), 1);
  EXPECT_NEAR(one.at("samples_per_s").get<double>(), 32 / (0.25 + 2 * 0.08 + 0.011), 0.5);
  EXPECT_TRUE(one.at("by_servers").is_null()) << "nothing is shared";
  EXPECT_EQ(eight.at("workers"), 8);
  EXPECT_NEAR(eight.at("samples_per_s").get<double>(), 10.33 * 32, 0.01 * 10.33 * 32);
  EXPECT_NEAR(eight.at("by_servers").get<double>(), 12.5 * 32, 0.5);
  EXPECT_NEAR(eight.at("by_workers").get<double>(), 8 * one.at("samples_per_s").get<double>(), 1.0);
  for (const json& point : points) {
    EXPECT_LE(point.at("range_samples_per_s")[0], point.at("samples_per_s"));
    EXPECT_GE(point.at("range_samples_per_s")[1], point.at("samples_per_s"));
  }
  std::ifstream page(line.folder() / "speed/report.md");
  const std::string text((std::istreambuf_iterator<char>(page)), {});
  EXPECT_THAT(text,
              HasSubstr("from 5 on, more workers gain less than half of a proportional gain; the servers "
                        "allow at most 400.0 samples/s"));
  EXPECT_THAT(text, HasSubstr("From 2 servers on"));
}

/// Two workers cannot wait for the gradients of three.
TEST(PredictReport, NumbersThatTheJobRefusesAreNotes) {
  const CommandLine line;
  const auto result = line.tandem("predict " + line.experiment() +
                                  " --set sync.algorithm=k-sync --set sync.options.k=3 --report speed");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const json points = json::parse(std::ifstream(line.folder() / "speed/report.json")).at("results");
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points.front().at("workers"), 3);
  EXPECT_THAT(line.shell("cat speed/report.md").output, HasSubstr("2 workers are left out: "));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
