// The context on MPI over a device other than the host: messages of device memory, and cleanup when a rank
// leaves. Behaviour common to both kinds of memory is tested in conformance_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/runtime/mpi/mpi_device.hpp"
#include "tests/support/numbered_note.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

/// A kernel that ends on request, however slow the machine is.
class Gate {
 public:
  void open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

TEST_F(MpiContextDevice, MessagesOfEverySizeBetweenDevicesAndHosts) {
  constexpr std::array<std::size_t, 11> sizes = {
      0, 1, 4095, 16 * 1024 - 1, 16 * 1024, 5, 16 * 1024 + 1, 3 << 20, 70'001, 300'000, 0};
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    set_up(seed);
    Rng rng(seed);  // the same on all ranks
    for (const Channel channel : {plain, noted}) {
      std::vector<Anywhere> sent, received;
      std::vector<Pending> pendings;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const bool from_device = rng.below(3) > 0, to_device = rng.below(3) > 0;
        // Larger than needed; the rest must stay unchanged.
        received.emplace_back(device(), to_device, Block(sizes[i] + i % 2 * 20'000, std::byte{0x5A}));
        sent.emplace_back(device(), from_device, filled(context().rank(), i, sizes[i]));
      }
      for (auto& place : received) pendings.push_back(context().receive(previous(), channel, place.slice()));
      for (std::size_t i = 0; i < sizes.size(); ++i)
        pendings.push_back(
            context().send(next(), channel, sent[i].slice(), numbered_note(static_cast<std::int64_t>(i))));
      for (std::size_t ended = 0; ended < 2 * sizes.size(); ++ended) {
        const auto completion = context().wait_any(pendings);
        EXPECT_FALSE(completion.device_time);
        if (completion.index >= sizes.size() || !channel.carries_note) continue;
        EXPECT_EQ(number_of(completion.note), static_cast<std::int64_t>(completion.index));
      }
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        Block expected = filled(previous(), i, sizes[i]);
        expected.resize(received[i].host.size(), std::byte{0x5A});
        EXPECT_EQ(received[i].contents(), expected) << "message " << i;
      }
    }
  }
}

/// Host memory can be sent at once, device memory must be copied first; messages must not overtake each
/// other.
TEST_F(MpiContextDevice, MessagesOfAChannelKeepTheirOrderInAnyMemory) {
  constexpr std::size_t count = 60;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    set_up(seed);
    Rng rng(seed);
    const Channel channel = seed % 2 == 0 ? plain : noted;
    std::vector<Anywhere> sent, received;
    std::vector<Pending> pendings;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t size = rng.below(4) == 0 ? 40'000 + rng.below(400'000) : rng.below(3'000);
      sent.emplace_back(device(), rng.below(2) == 0, filled(context().rank(), i, size));
      received.emplace_back(device(), rng.below(2) == 0, Block(size));
    }
    for (std::size_t i = 0; i < count; ++i) {
      pendings.push_back(
          context().send(next(), channel, sent[i].slice(), numbered_note(static_cast<std::int64_t>(i))));
      if (i % 7 == 0) pendings.push_back(context().receive(previous(), channel, received[i / 7].slice()));
    }
    for (std::size_t i = (count + 6) / 7; i < count; ++i)
      pendings.push_back(context().receive(previous(), channel, received[i].slice()));
    for (std::size_t ended = 0; ended < 2 * count; ++ended) context().wait_any(pendings);
    for (std::size_t i = 0; i < count; ++i)
      EXPECT_EQ(received[i].contents(), filled(previous(), i, received[i].host.size())) << "message " << i;
  }
}

TEST_F(MpiContextDevice, PinnedMemoryIsReused) {
  set_up(1);
  const DeviceBlock block = on_device(device(), filled(0, 0, 1 << 20));
  std::size_t most = 0;
  for (int step = 0; step < 20; ++step) {
    DeviceBlock in(device(), block.size());
    std::array<Pending, 2> pendings = {context().receive(previous(), plain, slice_of(in)),
                                       context().send(next(), plain, slice_of(block), {})};
    context().wait_all(pendings);
    most = std::max(most, device().live().pinned);
  }
  EXPECT_EQ(most, 2U) << "one block for the send and one for the receive";
  EXPECT_EQ(device().copies(), 40);
}

TEST_F(MpiContextDevice, AMessageDoesNotWaitForAKernel) {
  set_up(1);
  DeviceBlock out = on_device(device(), filled(context().rank(), 1, 200'000));
  DeviceBlock in(device(), out.size());
  Gate gate;
  std::array<Pending, 3> pendings;
  pendings[0] =
      context().compute({.kind = Work::Kind::backward}, [&] { device().queue([&] { gate.wait(); }); });
  pendings[1] = context().send(next(), plain, slice_of(out), {});
  pendings[2] = context().receive(previous(), plain, slice_of(in));
  EXPECT_NE(context().wait_any(pendings).index, 0U);
  EXPECT_NE(context().wait_any(pendings).index, 0U);
  gate.open();
  const Completion work = context().wait_any(pendings);
  EXPECT_EQ(work.index, 0U);
  EXPECT_TRUE(work.device_time);
  EXPECT_EQ(on_host(device(), in), filled(previous(), 1, in.size()));
}

TEST_F(MpiContextDevice, AReductionOfABucketDoesNotWaitForAKernel) {
  set_up(1);
  const std::vector<float> ones(1000, 1.0F);
  FloatArray sum(device(), ones.size()), values(device(), ones.size());
  copy_and_await(device(), values.data(), ones.data(), values.bytes());
  Gate gate;
  std::array<Pending, 2> pendings;
  pendings[0] =
      context().compute({.kind = Work::Kind::backward}, [&] { device().queue([&] { gate.wait(); }); });
  pendings[1] = context().compute({.kind = Work::Kind::reduce, .bucket = 0, .bytes = Bytes(4000)},
                                  [&] { device().add(sum.data(), values.data(), 1000, 2.0F); });
  EXPECT_EQ(context().wait_any(pendings).index, 1U);
  gate.open();
  EXPECT_EQ(context().wait_any(pendings).index, 0U);
  std::vector<float> here(ones.size());
  copy_and_await(device(), here.data(), sum.data(), sum.bytes());
  EXPECT_EQ(here, std::vector<float>(1000, 2.0F));
}

TEST_F(MpiContextDevice, AKernelThatThrowsRestoresTheQueue) {
  set_up(1);
  Gate gate;
  device().queue([&] { gate.wait(); });
  const auto broken = [] { throw WorldError("broken"); };
  EXPECT_THROW(static_cast<void>(context().compute(
                   {.kind = Work::Kind::reduce, .bucket = 0, .bytes = Bytes(4000)}, broken)),
               WorldError);
  const DeviceMark behind = device().mark();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(device().has_reached(behind)) << "the mark is in the second queue";
  gate.open();
  device().finish();
  EXPECT_TRUE(device().has_reached(behind));
  device().forget(behind);
}

/// Repeatedly computes on the device from received data, and sends the result.
TEST_F(MpiContextDevice, RanksComputeWhileTheySend) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    set_up(seed);
    constexpr std::int64_t count = 30'000;
    constexpr int steps = 12;
    FloatArray sum(device(), count), out(device(), count), in(device(), count);
    const auto bytes_of = [](FloatArray& values) {
      return Slice{Bytes(count * static_cast<std::int64_t>(sizeof(float))),
                   reinterpret_cast<std::byte*>(values.data())};
    };
    for (int step = 1; step <= steps; ++step) {
      const auto value = static_cast<float>(step * (context().rank() + 1));
      Pending filling =
          context().compute({.kind = Work::Kind::backward}, [&] { device().fill(out.data(), count, value); });
      context().wait(filling);
      std::array<Pending, 3> pendings = {
          context().receive(previous(), noted, bytes_of(in)),
          context().send(next(), noted, bytes_of(out), {}),
          context().compute({.kind = Work::Kind::update}, [&] { device().scale(sum.data(), count, 1.0F); })};
      context().wait_all(pendings);
      Pending adding = context().compute({.kind = Work::Kind::reduce},
                                         [&] { device().add(sum.data(), in.data(), count, 1.0F); });
      context().wait(adding);
    }
    std::vector<float> found(count);
    copy_and_await(device(), found.data(), sum.data(), found.size() * sizeof(float));
    const auto expected = static_cast<float>(steps * (steps + 1) / 2 * (previous() + 1));
    EXPECT_EQ(found, std::vector<float>(count, expected));
  }
}

// ---- Leaving ----

TEST_F(MpiContextDevice, ARankThatLeavesByAnExceptionReleasesNothingTwice) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    DelayedDevice device(seed);
    try {
      MpiContext context(MPI_COMM_WORLD, {.device = &device});
      DeviceBlock out(device, 100'000), in(device, 100'000);
      const Rank self = context.rank();
      std::array<Pending, 5> started = {
          context.receive(self, noted, slice_of(in)), context.send(self, noted, slice_of(out), {}),
          context.compute({.kind = Work::Kind::forward}, [&] { device.queue_pause(Seconds(0.01)); }),
          context.receive(self, plain, slice_of(in)), context.compute({.kind = Work::Kind::forward}, [] {})};
      if (seed > 1) context.wait(started[0]);
      if (seed > 2) context.wait(started[1]);
      if (seed > 3) context.wait(started[4]);
      throw WorldError("leaves");
    } catch (const WorldError&) {
    }
    EXPECT_EQ(device.live().blocks, 0U);
    EXPECT_EQ(device.live().marks, 0U);
    EXPECT_EQ(device.misuses(), 0);
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
