// Steps of simulated jobs take the time that a user measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/command.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using ::testing::HasSubstr;
using ::testing::Not;

class MeasuredStep : public ::testing::Test {
 protected:
  void SetUp() override {
    EXPECT_EQ(line_.tandem("init job --gpus a100:1,t4:1 --model resnet50").exit_code, 0);
  }
  std::string simulated(const std::string& settings) const {
    const auto result = line_.tandem("simulate job.yaml --set stop.rounds=3 --out out --force " + settings);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return result.output;
  }
  /// Forward and backward pass of the last step of a rank.
  double computing_s(int rank) const {
    std::ifstream file(line_.folder() / "out" / "steps.csv");
    std::string line;
    std::getline(file, line);
    const auto names = cells(line);
    double sum = 0;
    while (std::getline(file, line)) {
      const auto values = cells(line);
      if (values[0] != std::to_string(rank)) continue;
      sum = 0;
      for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == "forward_s" || names[i] == "backward_s") sum += std::stod(values[i]);
    }
    return sum;
  }
  static std::vector<std::string> cells(const std::string& line) {
    std::vector<std::string> all;
    std::istringstream words(line);
    for (std::string word; std::getline(words, word, ',');) all.push_back(word);
    return all;
  }
  CommandLine line_;
};

/// A T4 has 3.24 of the A100's 7.8 Tflop/s in fp32, and 19.5 of 93.6 in fp16. No launches are added, and
/// buckets add up, however many there are.
TEST_F(MeasuredStep, IsThatOfTheSimulation) {
  constexpr double rounding = 1e-7;
  const std::string told = simulated("--set workload.measured_step=180ms");
  EXPECT_THAT(
      told, HasSubstr("1 x a100 (step of 32 samples 180 ms, measured), 1 x t4 (step of 32 samples 433.3 ms, "
                      "scaled from a100: not measured)"));
  EXPECT_NEAR(computing_s(0), 0.180, rounding);
  EXPECT_NEAR(computing_s(1), 0.180 * 7.8 / 3.24, rounding);
  simulated(
      "--set workload.measured_step=180ms --set workload.bucket_bytes=25MiB --set workload.precision=fp16");
  EXPECT_NEAR(computing_s(0), 0.180, rounding);
  EXPECT_NEAR(computing_s(1), 0.180 * 93.6 / 19.5, rounding);
  simulated(
      "--set workload.measured_forward=50ms --set workload.measured_backward=100ms --set "
      "workload.measured_on=t4");
  EXPECT_NEAR(computing_s(0), 0.150 * 3.24 / 7.8, rounding);
  EXPECT_NEAR(computing_s(1), 0.150, rounding);
  EXPECT_THAT(simulated(""), Not(HasSubstr("measured)")));
}

TEST_F(MeasuredStep, AnUnknownDeviceIsNamedWithTheNearest) {
  const auto result =
      line_.tandem("simulate job.yaml --set workload.measured_step=180ms --set workload.measured_on=a101");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output,
              HasSubstr("key 'workload.measured_on': expected a device of `tandem list device`, found "
                        "'a101'; did you mean 'a100'?"));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
