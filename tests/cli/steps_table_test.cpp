// Tables of measured times: units in names of columns, and tables whose units disagree.
#include "cli/fit/steps_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem::cli {
namespace TANDEM_FILE {

using ::testing::HasSubstr;

TEST(UnitsOfColumns, ShowInTheirNames) {
  using Row = std::tuple<const char*, bool, double>;
  for (const auto& [column, is_rate, of_s] : {Row("steps/s", true, 1.0),
                                              {"images/sec", true, 1.0},
                                              {"Batches/Second", true, 1.0},
                                              {"speed_mean", true, 1.0},
                                              {"steps_per_second", true, 1.0},
                                              {"Speed (steps/min)", true, 60.0},
                                              {"Speed (steps per hour)", true, 3600.0},
                                              {"tokens/s/gpu", true, 1.0},
                                              {"s/step", false, 1.0},
                                              {"ms/step", false, 1e-3},
                                              {"seconds/sample", false, 1.0},
                                              {"step_time", false, 1.0},
                                              {"Step Time (s)", false, 1.0},
                                              {"Step Time (ms)", false, 1e-3},
                                              {"Latency [us]", false, 1e-6},
                                              {"step_ms", false, 1e-3},
                                              {"time_h", false, 3600.0},
                                              {"duration_minutes", false, 60.0}}) {
    const auto unit = unit_of_column(column);
    ASSERT_TRUE(unit) << column;
    EXPECT_EQ(unit->is_rate, is_rate) << column;
    EXPECT_DOUBLE_EQ(unit->of_s, of_s) << column;
  }
  for (const char* column :
       {"Step Time (temp)", "Step Time (parsecs)", "Speed (ms)", "speed_ms", "step_time_min"})
    EXPECT_FALSE(unit_of_column(column)) << column;
}

StepsTable read_steps(const std::string& text, const std::string& target) {
  const tandem::testing::TemporaryFolder folder;
  StepsTableOptions options;
  options.file = folder.write("steps.csv", text);
  options.target = target;
  options.group = "g";
  options.features = "f";
  return read_steps_table(options);
}

TEST(UnitsOfColumns, AreConverted) {
  const StepsTable table =
      read_steps("g,Step Time (ms),f,Speed (steps/s)\na,10,1,100\nb,20,2,50\nc,37,3,27\n", "Step Time (ms)");
  EXPECT_DOUBLE_EQ(table.devices.at("").readings[2].point.value, 0.037);
  const StepsTable rates = read_steps("g,steps/min,f\na,60,1\nb,30,2\nc,15,3\n", "steps/min");
  EXPECT_DOUBLE_EQ(rates.devices.at("").readings[2].point.value, 4.0);
}

TEST(UnitsOfColumns, ThatDisagreeAreRefused) {
  const auto refuses = [](const std::string& text, const std::string& target, const std::string& part) {
    try {
      read_steps(text, target);
      ADD_FAILURE() << text;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(part));
    }
  };
  refuses("g,Step Time (temp),f\na,1,1\n", "Step Time (temp)",
          "steps.csv:1: expected a target whose name has a unit");
  refuses("g,step_ms,f\na,1s,1\n", "step_ms", "steps.csv:2: step_ms: expected a number without a unit");
  const std::string speeds = "g,f,steps/s,Step Time (s)\na,1,100,0.01\nb,2,100,10\n";
  refuses(speeds, "Step Time (s)",
          "steps.csv:3: steps/s: expected about 0.1, because Step Time (s) is 10 (is the unit");
  refuses(speeds, "steps/s", "steps.csv:3: Step Time (s): expected about 0.01, because steps/s is 100");
  refuses("g,t,f\na,1,2e9\nb,2,4e9\nc,3,6e9\na,1.1,2\n", "t",
          "steps.csv:5: f: expected one unit in all rows, found 2 where ");
}

TEST(UnitsOfColumns, AreDoubtedWhereFeaturesJump) {
  const auto notes = [](const std::string& text) { return read_steps(text, "t").notes; };
  const auto doubted = notes("g,t,f\na,1,2e9\nb,2,4e9\nc,3,6e9\nd,1,2e7\ne,2,4e7\n");
  ASSERT_EQ(doubted.size(), 1U);
  EXPECT_THAT(doubted[0], HasSubstr("'f' jumps from 4e+07 to 2e+09"));
  EXPECT_TRUE(notes("g,t,f\na,1,2e9\nb,2,4e9\nc,3,6e9\nd,.01,2e7\n").empty());
}

}  // namespace TANDEM_FILE
}  // namespace tandem::cli
