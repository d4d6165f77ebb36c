// Shared by the tests of compute devices: the devices that this program tests, vectors in a device's memory
// between guards, and bitwise comparisons.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "policies/vocabulary/rng.hpp"
#include "workloads/vectors/compute_device.hpp"
#include "workloads/vectors/host_copy.hpp"

namespace tandem {

struct TestedDevice {
  std::string name;
  /// Returns null if this machine has no such device: its tests are skipped.
  std::function<std::shared_ptr<ComputeDevice>()> make;
};
inline void PrintTo(const TestedDevice& device, std::ostream* stream) { *stream << device.name; }
/// The host and emulated CUDA in one program (emulated_devices.cpp), a GPU in another (gpu_devices.cpp),
/// since both define CUDA's functions.
std::vector<TestedDevice> tested_devices();

class DeviceTest : public ::testing::TestWithParam<TestedDevice> {
 protected:
  void SetUp() override {
    device_ = GetParam().make();
    if (!device_) GTEST_SKIP() << "no GPU on this machine";
  }
  ComputeDevice& device() { return *device_; }

 private:
  std::shared_ptr<ComputeDevice> device_;
};

inline std::string name_of_device(const ::testing::TestParamInfo<TestedDevice>& info) {
  return info.param.name;
}

/// Elements in a device's memory with any starting element, between guards.
template <class Element>
class Guarded {
 public:
  Guarded(ComputeDevice& device, const std::vector<Element>& values, std::size_t start = 0)
      : device_(device),
        size_(values.size()),
        start_(guards + start),
        host_(device),
        memory_(device, size_ + start_ + guards) {
    const std::span<Element> all = host_.of(memory_.size());
    std::fill(all.begin(), all.end(), guard());
    std::copy(values.begin(), values.end(), all.begin() + static_cast<std::ptrdiff_t>(start_));
    copy_and_await(device, memory_.data(), all.data(), all.size_bytes());
  }
  Element* data() const { return memory_.data() + start_; }
  std::span<Element> span() const { return {data(), size_}; }
  /// The current contents. Checks that the guards are unchanged.
  std::vector<Element> read() {
    const std::span<Element> now = host_.of(memory_.size());
    copy_and_await(device_, now.data(), memory_.data(), now.size_bytes());
    for (std::size_t at = 0; at < now.size(); ++at)
      if (at < start_ || at >= start_ + size_) {
        EXPECT_EQ(now[at], guard()) << "outside, at " << at << " from " << start_ << ", size " << size_;
      }
    const auto begin = now.begin() + static_cast<std::ptrdiff_t>(start_);
    return {begin, begin + static_cast<std::ptrdiff_t>(size_)};
  }

 private:
  static constexpr std::size_t guards = 64 / sizeof(Element);
  static Element guard() { return static_cast<Element>(77); }

  ComputeDevice& device_;
  std::size_t size_;
  std::size_t start_;
  HostCopy<Element> host_;
  DeviceArray<Element> memory_;
};

/// Numbers of very different magnitudes, and zeros of both signs.
inline std::vector<float> mixed_values(std::size_t count, Rng& random) {
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(std::ldexp(random.normal(), static_cast<int>(random.below(12)) - 8));
    if (random.below(50) == 0) value = std::copysign(0.0F, value);
  }
  return values;
}

/// Random bits: including infinities, subnormals and NaNs.
inline std::vector<float> any_floats(std::size_t count, Rng& random) {
  std::vector<float> values(count);
  for (float& value : values) {
    auto bits = static_cast<std::uint32_t>(random.next());
    if (random.below(4) == 0) bits |= 0x7f800000U;
    if (random.below(8) == 0) bits &= 0xff800000U;
    if (random.below(8) == 0) bits &= 0x807fffffU;
    value = std::bit_cast<float>(bits);
  }
  return values;
}

/// Compares bit by bit; any NaN equals any other.
inline void expect_same(const std::vector<float>& found, const std::vector<float>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t at = 0; at < found.size(); ++at) {
    if (std::isnan(found[at]) && std::isnan(wanted[at])) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(found[at]), std::bit_cast<std::uint32_t>(wanted[at]))
        << found[at] << " instead of " << wanted[at] << " at " << at << " of " << found.size();
  }
}

}  // namespace tandem
