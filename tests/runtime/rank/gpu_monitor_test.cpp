// The state of a GPU as NVML says it, with stand-ins for the driver's library.
#include "runtime/rank/gpu_monitor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "tests/support/paths.hpp"

namespace tandem {
namespace TANDEM_FILE {

using nlohmann::json;
using std::chrono::hours;
using std::chrono::milliseconds;

const std::string known = "0000:01:00.0";

class GpuMonitorTest : public ::testing::Test {
 protected:
  ~GpuMonitorTest() override {
    unsetenv("NVML_ON_HOST_LIMITS");
    unsetenv("NVML_ON_HOST_INIT");
  }
  static void set_limits(const char* bits) { setenv("NVML_ON_HOST_LIMITS", bits, 1); }
};

TEST_F(GpuMonitorTest, SamplesWhenItStartsAndWhenItEnds) {
  GpuMonitor monitor(known, testing::build_folder() + "/nvml_on_host/libnvidia-ml.so.1");
  monitor.start(3, Seconds(5), hours(1));
  set_limits("0x44");
  std::this_thread::sleep_for(milliseconds(2));
  const auto samples = monitor.finish();
  ASSERT_EQ(samples.size(), 2U);
  for (const GpuRecord& sample : samples) {
    EXPECT_EQ(sample.rank, 3);
    EXPECT_EQ(sample.memory_clock_mhz, 2619);
    EXPECT_EQ(sample.power_w, 512.25);
    EXPECT_EQ(sample.temperature_c, 64);
    EXPECT_EQ(sample.memory_bytes, 1'000'000'000);
  }
  EXPECT_GE(samples[0].time, Seconds(5));
  EXPECT_GE(samples[1].time, samples[0].time + Seconds(0.002));
  EXPECT_EQ(samples[0].clock_mhz, 1980);
  EXPECT_EQ(samples[0].limits, "");
  EXPECT_EQ(samples[1].clock_mhz, 1200);
  EXPECT_EQ(samples[1].limits, "power thermal");
}

TEST_F(GpuMonitorTest, SamplesWhileTheRankWorks) {
  GpuMonitor monitor(known, testing::build_folder() + "/nvml_on_host/libnvidia-ml.so.1");
  for (int use = 0; use < 2; ++use) {
    monitor.start(0, Seconds(use), milliseconds(1));
    std::this_thread::sleep_for(milliseconds(200));
    const auto samples = monitor.finish();
    EXPECT_GE(samples.size(), 4U);
    EXPECT_TRUE(std::ranges::is_sorted(samples, {}, &GpuRecord::time));
    EXPECT_GE(samples.front().time, Seconds(use));
  }
}

/// A rank that fails does not wait for the next sample.
TEST_F(GpuMonitorTest, EndsWithoutItsSamples) {
  GpuMonitor monitor(known, testing::build_folder() + "/nvml_on_host/libnvidia-ml.so.1");
  monitor.start(0, Seconds(0), hours(1));
}

TEST_F(GpuMonitorTest, DescribesTheGpu) {
  EXPECT_EQ(GpuMonitor(known, testing::build_folder() + "/nvml_on_host/libnvidia-ml.so.1").description(),
            json({{"address", known},
                  {"driver", "580.65.06"},
                  {"clock_mhz", 1980},
                  {"memory_clock_mhz", 2619},
                  {"power_w", 700.0},
                  {"memory_bytes", 80'000'000'000}}));
}

TEST_F(GpuMonitorTest, WhatAnOldDriverDoesNotSayIsLeftOut) {
  set_limits("8");
  GpuMonitor monitor(known, testing::build_folder() + "/nvml_on_host_old/libnvidia-ml.so.1");
  EXPECT_FALSE(monitor.description().contains("power_w"));
  EXPECT_EQ(monitor.description().at("clock_mhz"), 1980);
  monitor.start(0, Seconds(0), hours(1));
  const auto samples = monitor.finish();
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0].power_w, 0.0);
  EXPECT_EQ(samples[0].clock_mhz, 1200);
  EXPECT_EQ(samples[0].limits, "hardware");
}

/// That nothing is recorded, and why.
void expect_unknown(const std::string& address, const std::string& library, const std::string& why) {
  GpuMonitor monitor(address, library);
  const std::string unknown = monitor.description().at("unknown");
  EXPECT_NE(unknown.find(why), std::string::npos) << unknown;
  monitor.start(0, Seconds(0));
  EXPECT_TRUE(monitor.finish().empty());
}

TEST_F(GpuMonitorTest, RecordsNothingWithoutTheLibrary) {
  expect_unknown(known, "libnvidia-ml-of-nobody.so.1", "libnvidia-ml-of-nobody.so.1");
  expect_unknown(known, "libm.so.6", "libm.so.6 has no nvmlInit_v2");
}

TEST_F(GpuMonitorTest, RecordsNothingOfAnUnknownGpu) {
  expect_unknown("0000:02:00.0", testing::build_folder() + "/nvml_on_host/libnvidia-ml.so.1",
                 "no GPU of this address");
}

TEST_F(GpuMonitorTest, RecordsNothingWhereTheDriverDoesNotWork) {
  setenv("NVML_ON_HOST_INIT", "9", 1);
  expect_unknown(known, testing::build_folder() + "/nvml_on_host/libnvidia-ml.so.1", "failed with code 9");
  EXPECT_TRUE(Nvml(testing::build_folder() + "/nvml_on_host/libnvidia-ml.so.1").gpus().empty());
}

TEST_F(GpuMonitorTest, LimitsAreNamed) {
  const Nvml nvml(testing::build_folder() + "/nvml_on_host/libnvidia-ml.so.1");
  const auto limits = [&](const char* bits) {
    set_limits(bits);
    return nvml.state(nvml.find(known)).limits;
  };
  EXPECT_EQ(limits("0"), "");
  EXPECT_EQ(limits("1"), "idle");
  EXPECT_EQ(limits("0x2"), "settings");
  EXPECT_EQ(limits("0x110"), "settings");
  EXPECT_EQ(limits("0x4"), "power");
  EXPECT_EQ(limits("0x20"), "thermal");
  EXPECT_EQ(limits("0x60"), "thermal");
  EXPECT_EQ(limits("0x88"), "hardware brake");
  EXPECT_EQ(limits("0x106"), "settings power");
  EXPECT_EQ(limits("0x10000004"), "power unknown");
}

TEST_F(GpuMonitorTest, GpusOfTheMachineAreNamed) {
  const auto gpus = Nvml(testing::build_folder() + "/nvml_on_host/libnvidia-ml.so.1").gpus();
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0].name, "CUDA on the host");
  EXPECT_EQ(gpus[0].memory, 80'000'000'000);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
