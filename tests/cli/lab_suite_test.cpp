// Validates the shipped small lab as a user would. The machine may be busy, so times are not checked;
// operations, decisions and bytes are exact unless the order of arrival matters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using nlohmann::json;

/// The allowed relative difference of rounds and bytes between simulation and measurement. If the order of
/// arrival matters, pushes of the last round may arrive before the end of the job in one of them and after it
/// in the other.
double allowed(const json& configuration) {
  // An ESync round ends with its slowest worker, however many steps the other workers take.
  const bool ends_by_arrival = configuration["gates"]["operations"]["state"] != "passed" &&
                               !configuration["name"].get<std::string>().ends_with("/esync");
  if (!ends_by_arrival) return 0.0;
  for (const auto& figure : configuration["figures"])
    if (figure["key"] == "rounds") return 1.0 / figure["measured"].get<double>();
  return 0.0;
}

TEST(LongLabSuite, SimulationAndMeasurementAgreeOnEveryConfiguration) {
  const CommandLine line;
  const auto result = line.tandem("validate '" + testing::source_folder() +
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

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
