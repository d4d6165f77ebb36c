// The shipped small lab as a user runs it. The machine of a test may be busy, so times are not held to
// anything here; operations, decisions and bytes are exact where the order of arrival does not decide.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"

namespace tandem::testing {
namespace {

using nlohmann::json;

/// What the worlds may differ by in rounds and bytes, as a share. Where arrival decides, pushes of the last
/// round come before the end of one world and after that of the other.
double allowed(const json& configuration) {
  // ESync's rounds end with their slowest worker, however many steps the others took.
  const bool ends_by_arrival = configuration["gates"]["operations"]["state"] != "passed" &&
                               !configuration["name"].get<std::string>().ends_with("/esync");
  if (!ends_by_arrival) return 0.0;
  for (const auto& figure : configuration["figures"])
    if (figure["key"] == "rounds") return 1.0 / figure["measured"].get<double>();
  return 0.0;
}

TEST(LabSuite, BothWorldsDoTheSameOnEveryConfiguration) {
  const CommandLine line;
  const auto result = line.tandem("validate '" TANDEM_SOURCE_DIR
                                  "/validation/suites/lab_small.yaml' --tolerance 1000 --out out");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  std::ifstream file(line.folder() / "out/report.json");
  const json report = json::parse(file);
  EXPECT_GE(report["configurations"].size(), 24U);
  for (const auto& configuration : report["configurations"]) {
    const std::string name = configuration["name"];
    EXPECT_EQ(configuration["failure"], "") << name;
    for (const char* gate : {"operations", "decisions", "replay"})
      EXPECT_NE(configuration["gates"][gate]["state"], "failed") << name << ": " << gate;
    for (const auto& figure : configuration["figures"]) {
      const std::string key = figure["key"];
      if (key == "bytes_sent" || key == "bytes_received" || key == "rounds") {
        EXPECT_LE(std::abs(figure["error"].get<double>()), allowed(configuration)) << name << ": " << key;
      }
    }
  }
}

}  // namespace
}  // namespace tandem::testing
