// Figures of GPUs from hand-made samples.
#include "workloads/records/gpu_figures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "workloads/experiment/json_fields.hpp"
#include "workloads/records/summary_fields.hpp"

namespace tandem {
namespace TANDEM_FILE {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

RunInfo info_of_two() {
  RunInfo info;
  info.roles = {"worker", "worker"};
  info.hosts = {"a", "b"};
  info.physics = {{"gpus", {{"rank 0", {{"clock_mhz", 1980}}}}}};
  return info;
}

GpuRecord sample(Rank rank, double time, int clock, double power, const char* limits) {
  return {.rank = rank,
          .time = Seconds(time),
          .clock_mhz = clock,
          .memory_clock_mhz = 2619,
          .power_w = power,
          .temperature_c = 60,
          .memory_bytes = 1000,
          .limits = limits};
}

Journal journal_of(std::vector<GpuRecord> samples) {
  Journal journal;
  journal.gpus = std::move(samples);
  return journal;
}

TEST(GpuFigures, LeaveIdleSamplesOut) {
  const auto gpus = write_fields(gpu_figures(
      info_of_two(), journal_of({sample(0, 0, 345, 70, "idle"), sample(0, 1, 1800, 690, "power"),
                                 sample(0, 2, 1980, 500, ""), sample(0, 3, 1200, 700, "power thermal"),
                                 sample(0, 4, 1500, 110, "settings")})));
  ASSERT_EQ(gpus.size(), 1U);
  const auto& gpu = gpus[0];
  EXPECT_EQ(gpu["host"], "a");
  EXPECT_EQ(gpu["samples"], 4);
  EXPECT_EQ(gpu["clock_mhz"], nlohmann::json({{"min", 1200}, {"mean", 1620.0}, {"max", 1980}}));
  EXPECT_EQ(gpu["power_w"], nlohmann::json({{"min", 110.0}, {"mean", 500.0}, {"max", 700.0}}));
  EXPECT_EQ(gpu["limits"], nlohmann::json({{"power", 0.5}, {"thermal", 0.25}, {"settings", 0.25}}));
  EXPECT_EQ(gpu["throttled"], 0.5);
}

TEST(GpuFigures, KnowAnIdleGpuAndUnknownFigures) {
  const auto gpus = write_fields(
      gpu_figures(info_of_two(), journal_of({sample(1, 0, 345, 0, "idle"), sample(1, 9, 345, 0, "idle")})));
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0]["rank"], 1);
  EXPECT_EQ(gpus[0]["samples"], 2);
  EXPECT_TRUE(gpus[0]["power_w"].is_null());
  EXPECT_EQ(gpus[0]["limits"], nlohmann::json({{"idle", 1.0}}));
  EXPECT_EQ(gpus[0]["throttled"], 0.0);
}

TEST(GpuFigures, NameThrottledGpusOnly) {
  const std::vector<GpuRecord> fine = {sample(0, 0, 345, 70, "idle hardware"), sample(0, 1, 1980, 600, ""),
                                       sample(0, 2, 1500, 600, "settings"),
                                       sample(0, 3, 1980, 600, "unknown")};
  EXPECT_THAT(throttled_gpus(info_of_two(), journal_of(fine)), IsEmpty());
  EXPECT_THAT(
      throttled_gpus(
          info_of_two(),
          journal_of({sample(0, 0, 1200, 700, "power thermal"), sample(1, 0, 1100, 500, "hardware brake"),
                      sample(0, 1, 1500, 700, "power"), sample(0, 2, 1980, 400, "")})),
      ElementsAre("the GPU of rank 0 on 'a' was throttled at 2 of 3 samples: power limit (2), "
                  "temperature (1); 1200 to 1980 of at most 1980 MHz; its times are those of a slower "
                  "GPU",
                  "the GPU of rank 1 on 'b' was throttled at 1 of 1 samples: power supply (1), "
                  "protection of the hardware (1); 1100 to 1100 MHz; its times are those of a slower "
                  "GPU"));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
