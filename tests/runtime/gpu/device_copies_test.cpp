// Copies concurrent with a device's queue and the pinned memory that they use, without MPI.
#include "runtime/gpu/device_copies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "tests/support/delayed_device.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::DelayedDevice;

class DeviceCopiesTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  void TearDown() override {
    EXPECT_EQ(device.live(), DelayedDevice::Live{});
    EXPECT_EQ(device.misuses(), 0);
  }
  static void finish(DeviceCopies& copies) {
    while (!copies.idle())
      if (!copies.advance()) std::this_thread::yield();
  }
  DelayedDevice device{GetParam()};
};

TEST_P(DeviceCopiesTest, OutgoingCopiesKeepTheirOrder) {
  PinnedPool pool(device);
  DeviceCopies copies(device);
  const DeviceArray<std::byte> own(device, 100'000);
  std::vector<PinnedPool::Block> blocks;
  std::vector<int> order;
  Rng rng(GetParam());
  for (int i = 0; i < 50; ++i) {
    const DeviceCopies::Route route{static_cast<Rank>(rng.below(3)), 0};
    const auto size = static_cast<std::int64_t>(1 + rng.below(100'000));
    const auto then = [&order, i] { order.push_back(i); };
    if (rng.below(3) == 0 && copies.is_leaving(route)) {
      copies.behind(route, then);
    } else {
      blocks.push_back(pool.take(size));
      copies.out(blocks.back().data(), own.data(), size, route, then);
    }
    EXPECT_TRUE(copies.is_leaving(route));
    EXPECT_FALSE(copies.is_leaving({.to = 7, .tag = 0}));
  }
  finish(copies);
  EXPECT_FALSE(copies.is_leaving());
  ASSERT_EQ(order.size(), 50U);
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST_P(DeviceCopiesTest, WatchersSeeEachCopyInOrder) {
  PinnedPool pool(device);
  DeviceCopies copies(device);
  const DeviceArray<std::byte> own(device, 100'000);
  const PinnedPool::Block block = pool.take(100'000);
  const auto both_ways = [&](std::int64_t bytes) {
    copies.out(block.data(), own.data(), bytes, {}, [] {});
    copies.behind({}, [] {});
    finish(copies);
    copies.in(own.data(), block.data(), bytes, [] {});
    finish(copies);
  };
  both_ways(1);
  std::vector<std::pair<bool, std::int64_t>> seen;
  copies.watch([&](const DeviceCopies::Ended& copy) {
    seen.emplace_back(copy.out, copy.bytes);
    EXPECT_GE(copy.end.since(copy.begin), Seconds(0));
  });
  for (const std::int64_t bytes : {100'000, 7, 30'000}) both_ways(bytes);
  copies.watch({});
  both_ways(2);
  EXPECT_EQ(seen,
            (std::vector<std::pair<bool, std::int64_t>>{
                {true, 100'000}, {false, 100'000}, {true, 7}, {false, 7}, {true, 30'000}, {false, 30'000}}));
}

TEST_P(DeviceCopiesTest, ActionsFollowTheirCopy) {
  PinnedPool pool(device);
  DeviceCopies copies(device);
  const DeviceArray<std::byte> own(device, 1000);
  const PinnedPool::Block from = pool.take(1000);
  const PinnedPool::Block to = pool.take(1000);
  std::fill_n(from.data(), 1000, std::byte{7});
  std::optional<bool> is_equal;
  copies.in(own.data(), from.data(), 1000, [&] {
    // An action may start more copies.
    copies.out(to.data(), own.data(), 1000, {},
               [&] { is_equal = std::equal(from.data(), from.data() + 1000, to.data()); });
  });
  finish(copies);
  EXPECT_EQ(is_equal, true);
}

INSTANTIATE_TEST_SUITE_P(Seeds, DeviceCopiesTest, ::testing::Values(1, 2, 3, 4, 5));

TEST(PinnedPool, KeepsAtMostItsLimit) {
  constexpr std::size_t mebibyte = 1 << 20;
  DelayedDevice device(1);
  {
    PinnedPool pool(device, 2 * mebibyte);
    {
      std::vector<PinnedPool::Block> blocks;
      for (int i = 0; i < 5; ++i) blocks.push_back(pool.take(mebibyte));
      EXPECT_EQ(device.live().pinned, 5U) << "take() never waits for memory";
    }
    EXPECT_EQ(device.live().pinned, 2U);
    PinnedPool::Block block = pool.take(mebibyte - 100);
    EXPECT_EQ(device.live().pinned, 2U);
    block = pool.take(1);
    EXPECT_EQ(device.live().pinned, 3U) << "a small request does not take a large block";
    block = {};
    EXPECT_TRUE(block.empty());
    pool.take(10).abandon();
  }
  EXPECT_EQ(device.live(), (DelayedDevice::Live{.pinned = 1})) << "the abandoned one";
  EXPECT_EQ(device.misuses(), 0);
}

TEST(OwnedMark, IsReleasedOnce) {
  DelayedDevice device(1);
  {
    OwnedMark mark(device, device.mark());
    OwnedMark now = std::move(mark);
    EXPECT_EQ(device.live().marks, 1U);
    now = OwnedMark(device, device.mark());
    EXPECT_EQ(device.live().marks, 1U) << "the old one is released";
    now.await();
    EXPECT_FALSE(now);
    EXPECT_EQ(device.live().marks, 0U);
    now = OwnedMark(device, device.mark());
  }
  EXPECT_EQ(device.live().marks, 0U);
  EXPECT_EQ(device.misuses(), 0);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
