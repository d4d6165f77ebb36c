// Copies between device memory and pinned memory, timed on devices without a GPU.
#include <gtest/gtest.h>

#include <map>

#include "tests/support/apart_device.hpp"
#include "tests/support/delayed_device.hpp"
#include "workloads/calibration/measurement.hpp"

namespace tandem::calibration {
namespace TANDEM_FILE {

using testing::ApartDevice;
using testing::DelayedDevice;

CalibrationSetting setting_of(int repetitions) {
  CalibrationSetting setting;
  setting.message_bytes = {1, 4096, 1 << 20};
  setting.message_repetitions = repetitions;
  return setting;
}

/// Its clock advances only for copies: out at 1 GB/s, in at half of that, plus 5 us each.
class ClockedDevice : public ApartDevice {
 public:
  DeviceMark copy_out(std::byte* pinned, const std::byte* own, std::size_t bytes) override {
    now_s_ += time_s(bytes, true);
    return reached(ApartDevice::copy_out(pinned, own, bytes));
  }
  DeviceMark copy_in(std::byte* own, const std::byte* pinned, std::size_t bytes) override {
    now_s_ += time_s(bytes, false);
    return reached(ApartDevice::copy_in(own, pinned, bytes));
  }
  Seconds between(DeviceMark begin, DeviceMark end) override { return Seconds(at_.at(end) - at_.at(begin)); }
  static double time_s(std::size_t bytes, bool out) {
    return 5e-6 + static_cast<double>(bytes) * (out ? 1e-9 : 2e-9);
  }

 private:
  DeviceMark reached(DeviceMark mark) {
    at_[mark] = now_s_;
    return mark;
  }
  double now_s_ = 0.0;
  std::map<DeviceMark, double> at_;
};

TEST(Copies, UseTheDevicesClockInEachDirection) {
  ClockedDevice device;
  const auto setting = setting_of(4);
  const auto entries = measure_copies(device, setting, 1);
  ASSERT_EQ(entries.size(), 2 * setting.message_bytes.size());
  std::map<bool, int> directions;
  for (const auto& entry : entries) {
    ++directions[entry.out];
    EXPECT_EQ(entry.raw_s.size(), 4U);
    EXPECT_NEAR(entry.median_s, ClockedDevice::time_s(static_cast<std::size_t>(entry.bytes), entry.out), 1e-9)
        << entry.bytes << (entry.out ? " out" : " in");
    EXPECT_NEAR(entry.spread, 0.0, 1e-3);
  }
  EXPECT_EQ(directions[true], 3);
  EXPECT_EQ(directions[false], 3);
  EXPECT_EQ(device.marks(), 0U);
  EXPECT_EQ(device.memories(), 0U);
  EXPECT_EQ(device.pinned_memories(), 0);
  EXPECT_EQ(device.wrong_forgets, 0);
}

/// Asking for the time of a copy that has not ended throws.
TEST(Copies, OnADelayedDeviceAreAwaitedAndReleased) {
  DelayedDevice device(7);
  const auto entries = measure_copies(device, setting_of(8), 1);
  ASSERT_EQ(entries.size(), 6U);
  for (const auto& entry : entries) {
    EXPECT_GT(entry.median_s, 0.0);
    EXPECT_EQ(entry.raw_s.size(), 8U);
  }
  EXPECT_EQ(device.live(), DelayedDevice::Live{});
  EXPECT_EQ(device.misuses(), 0);
}

TEST(Copies, AreNotMeasuredOnAProcessor) {
  EXPECT_TRUE(measure_copies(host_device(), setting_of(2), 1).empty());
}

}  // namespace TANDEM_FILE
}  // namespace tandem::calibration
