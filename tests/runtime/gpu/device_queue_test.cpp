// Memory, queue, marks and copies of every device.
#include <chrono>
#include <thread>

#include "tests/runtime/gpu/tested_device.hpp"

namespace tandem {
namespace TANDEM_FILE {

class DeviceQueueTest : public DeviceTest {
 protected:
  void wait_for(DeviceMark mark) {
    while (!device().has_reached(mark)) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
};

TEST_P(DeviceQueueTest, MemoryIsZeroAndAligned) {
  EXPECT_EQ(device().allocate(0), nullptr);
  EXPECT_EQ(device().allocate_pinned(0), nullptr);
  device().release(nullptr);
  device().release_pinned(nullptr);
  for (const std::size_t bytes : {1U, 64U, 1000U, 1U << 20U}) {
    std::byte* const memory = device().allocate(bytes);
    std::byte* const pinned = device().allocate_pinned(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0U);
    const std::vector<std::byte> zeros(bytes);
    EXPECT_EQ(std::memcmp(pinned, zeros.data(), bytes), 0);
    std::memset(pinned, 1, bytes);
    device().copy(pinned, memory, bytes);
    device().finish();
    EXPECT_EQ(std::memcmp(pinned, zeros.data(), bytes), 0);
    device().release(memory);
    device().release_pinned(pinned);
  }
}

TEST_P(DeviceQueueTest, OwnsMemoryThatOnlyItMayAccess) {
  const bool is_gpu = !device().is_host();
  std::byte* const first = device().allocate(100);
  std::byte* const second = device().allocate(1);
  EXPECT_EQ(device().owns(first), is_gpu);
  EXPECT_EQ(device().owns(first + 99), is_gpu);
  EXPECT_EQ(device().owns(second), is_gpu);
  EXPECT_FALSE(device().owns(first + 100));
  EXPECT_FALSE(device().owns(nullptr));
  const int local = 0;
  EXPECT_FALSE(device().owns(&local));
  std::byte* const pinned = device().allocate_pinned(10);
  EXPECT_FALSE(device().owns(pinned));
  device().release_pinned(pinned);
  device().release(first);
  EXPECT_FALSE(device().owns(first));
  EXPECT_EQ(device().owns(second), is_gpu);
  device().release(second);
}

TEST_P(DeviceQueueTest, CopiesBetweenAnyTwoMemories) {
  constexpr std::size_t bytes = 1001;
  std::vector<std::byte> given(bytes);
  for (std::size_t at = 0; at < bytes; ++at) given[at] = static_cast<std::byte>(at * 7);
  const DeviceArray<std::byte> one(device(), bytes);
  const DeviceArray<std::byte> other(device(), bytes);
  std::byte* const pinned = device().allocate_pinned(bytes);
  std::vector<std::byte> found(bytes);
  device().copy(one.data(), given.data(), bytes);
  device().copy(one.data(), one.data(), bytes);
  device().copy(other.data() + 1, one.data(), bytes - 1);
  device().copy(nullptr, one.data(), 0);
  device().copy(pinned, other.data() + 1, bytes - 1);
  device().finish();
  EXPECT_EQ(std::memcmp(pinned, given.data(), bytes - 1), 0);
  device().copy(found.data(), pinned, bytes);
  device().finish();
  EXPECT_EQ(std::memcmp(found.data(), given.data(), bytes - 1), 0);
  device().release_pinned(pinned);
}

TEST_P(DeviceQueueTest, MarksAreReachedInOrder) {
  const FloatArray values(device(), 100000);
  for (int round = 0; round < 3; ++round) {
    std::vector<DeviceMark> marks;
    for (int number = 0; number < 20; ++number) {
      marks.push_back(device().mark());
      device().fill(values.data(), 100000, 1.0F);
    }
    wait_for(marks.back());
    for (const DeviceMark mark : marks) EXPECT_TRUE(device().has_reached(mark));
    for (std::size_t at = 1; at < marks.size(); ++at)
      EXPECT_GE(device().between(marks[at - 1], marks[at]), Seconds(0));
    if (!device().is_host()) {
      EXPECT_GT(device().between(marks.front(), marks.back()), Seconds(0));
    }
    for (const DeviceMark mark : marks) device().forget(mark);
  }
}

TEST_P(DeviceQueueTest, KernelsEndAtTheirMark) {
  const DeviceMark said = device().mark();
  device().end_kernel_at(said);
  EXPECT_EQ(device().kernel_end(), said);
  device().forget(said);
  const DeviceMark behind_all = device().kernel_end();
  wait_for(behind_all);
  device().forget(behind_all);
}

TEST_P(DeviceQueueTest, CopiesOutsideTheQueue) {
  constexpr std::size_t count = 4001;
  constexpr std::size_t bytes = count * sizeof(float);
  const FloatArray values(device(), count);
  std::byte* const pinned = device().allocate_pinned(bytes);
  auto* const own = reinterpret_cast<std::byte*>(values.data());
  for (int round = 0; round < 20; ++round) {
    const auto number = static_cast<float>(round);
    device().fill(values.data(), count, number);
    device().finish();
    const DeviceMark begin = device().mark();
    wait_for(begin);  // Copies wait for nothing in the queue.
    const DeviceMark out = device().copy_out(pinned, own, bytes);
    wait_for(out);
    for (std::size_t at = 0; at < count; ++at) ASSERT_EQ(reinterpret_cast<const float*>(pinned)[at], number);
    std::fill_n(reinterpret_cast<float*>(pinned), count, -number);
    const DeviceMark in = device().copy_in(own, pinned, bytes);
    // finish() also waits for copies.
    device().finish();
    EXPECT_TRUE(device().has_reached(in));
    EXPECT_GE(device().between(begin, in), Seconds(0));
    std::vector<float> found(count);
    device().copy(found.data(), values.data(), bytes);
    device().finish();
    EXPECT_EQ(found, std::vector<float>(count, -number));
    const DeviceMark of_nothing = device().copy_out(pinned, own, 0);
    wait_for(of_nothing);
    for (const DeviceMark mark : {begin, out, in, of_nothing}) device().forget(mark);
  }
  device().release_pinned(pinned);
}

INSTANTIATE_TEST_SUITE_P(Queue, DeviceQueueTest, ::testing::ValuesIn(tested_devices()), name_of_device);

}  // namespace TANDEM_FILE
}  // namespace tandem
