// The context on MPI over a device that is not the host: queued work, messages and sums of the device's
// memory, and what is left behind. What both kinds of memory share is in conformance_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "runtime/mpi_context.hpp"
#include "tests/support/delayed_device.hpp"
#include "workloads/records/recording_context.hpp"

namespace tandem {
namespace {

using testing::DelayedDevice;
using Block = std::vector<std::byte>;
using DeviceBlock = DeviceArray<std::byte>;

constexpr Channel plain{.number = 3, .carries_note = false};
constexpr Channel noted{.number = 4, .carries_note = true};

Block filled(Rank rank, std::size_t message, std::size_t size) {
  Block bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(static_cast<std::size_t>(rank) * 31 + message * 7 + i + (i >> 8U));
  return bytes;
}

DeviceBlock on_device(ComputeDevice& device, const Block& bytes) {
  DeviceBlock block(device, bytes.size());
  device.copy(block.data(), bytes.data(), bytes.size());
  device.finish();
  return block;
}

Block on_host(ComputeDevice& device, const DeviceBlock& block) {
  Block bytes(block.size());
  device.copy(bytes.data(), block.data(), bytes.size());
  device.finish();
  return bytes;
}

template <class Memory>
Slice slice_of(Memory& memory) {
  return {Bytes(static_cast<std::int64_t>(memory.size())), memory.data()};
}

/// Memory on a device or on the host.
struct Anywhere {
  Anywhere(ComputeDevice& where, bool of_device, Block bytes)
      : device(where), host(std::move(bytes)), block(of_device ? on_device(device, host) : DeviceBlock()) {}
  Slice slice() { return {slice_of(host).size, block.empty() ? host.data() : block.data()}; }
  Block contents() const { return block.empty() ? host : on_host(device, block); }

  ComputeDevice& device;
  Block host;
  DeviceBlock block;
};

std::vector<Rank> all_ranks(const Context& context) {
  std::vector<Rank> ranks(static_cast<std::size_t>(context.world_size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// A kernel that ends when it is told to, whatever else a slow machine does meanwhile.
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

/// A device with its context, of which nothing may be left in the end.
class MpiContextDevice : public ::testing::Test {
 protected:
  void set_up(std::uint64_t seed, MpiSetting setting = {}) {
    context_.reset();
    expect_nothing_left();
    device_.emplace(seed + 1000 * static_cast<std::uint64_t>(world_rank()));
    setting.device = &*device_;
    context_.emplace(MPI_COMM_WORLD, std::move(setting));
  }
  void TearDown() override {
    context_.reset();
    expect_nothing_left();
  }
  static int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
  }
  void expect_nothing_left() const {
    if (!device_) return;
    EXPECT_EQ(device_->live(), DelayedDevice::Live{});
    EXPECT_EQ(device_->misuses(), 0);
  }
  DelayedDevice& device() { return *device_; }
  MpiContext& context() { return *context_; }
  Rank next() { return (context().rank() + 1) % context().world_size(); }
  Rank previous() { return (context().rank() + context().world_size() - 1) % context().world_size(); }

 private:
  std::optional<DelayedDevice> device_;
  std::optional<MpiContext> context_;
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
        // With room to spare, which must stay as it is.
        received.emplace_back(device(), to_device, Block(sizes[i] + i % 2 * 20'000, std::byte{0x5A}));
        sent.emplace_back(device(), from_device, filled(context().rank(), i, sizes[i]));
      }
      for (auto& place : received) pendings.push_back(context().receive(previous(), channel, place.slice()));
      for (std::size_t i = 0; i < sizes.size(); ++i)
        pendings.push_back(context().send(next(), channel, sent[i].slice(),
                                          {.kind = 1, .version = static_cast<int>(i), .duration_s = 0.25}));
      for (std::size_t ended = 0; ended < 2 * sizes.size(); ++ended) {
        const auto completion = context().wait_any(pendings);
        EXPECT_FALSE(completion.device_time);
        if (completion.index >= sizes.size() || !channel.carries_note) continue;
        EXPECT_EQ(completion.note.version, static_cast<int>(completion.index));
        EXPECT_EQ(completion.note.duration_s, 0.25);
      }
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        Block expected = filled(previous(), i, sizes[i]);
        expected.resize(received[i].host.size(), std::byte{0x5A});
        EXPECT_EQ(received[i].contents(), expected) << "message " << i;
      }
    }
  }
}

/// Host memory is ready at once, memory of the device is not; neither may overtake the other.
TEST_F(MpiContextDevice, MessagesOfAChannelKeepTheirOrderWhereverTheyAre) {
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
      pendings.push_back(context().send(next(), channel, sent[i].slice(), {.version = static_cast<int>(i)}));
      if (i % 7 == 0) pendings.push_back(context().receive(previous(), channel, received[i / 7].slice()));
    }
    for (std::size_t i = (count + 6) / 7; i < count; ++i)
      pendings.push_back(context().receive(previous(), channel, received[i].slice()));
    for (std::size_t ended = 0; ended < 2 * count; ++ended) context().wait_any(pendings);
    for (std::size_t i = 0; i < count; ++i)
      EXPECT_EQ(received[i].contents(), filled(previous(), i, received[i].host.size())) << "message " << i;
  }
}

TEST_F(MpiContextDevice, PinnedMemoryIsUsedAgain) {
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
  EXPECT_EQ(most, 2U) << "one block that leaves and one that comes";
  EXPECT_EQ(device().copies(), 40);
}

TEST_F(MpiContextDevice, AMessageIsNotHeldBackByAKernel) {
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

/// What the device computes from what came, and what it sends, over and over.
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
    device().copy(found.data(), sum.data(), found.size() * sizeof(float));
    device().finish();
    const auto expected = static_cast<float>(steps * (steps + 1) / 2 * (previous() + 1));
    EXPECT_EQ(found, std::vector<float>(count, expected));
  }
}

// ---- The device's own time ----

TEST_F(MpiContextDevice, RecordsHoldTheDevicesOwnTime) {
  set_up(1);
  std::vector<OperationRecord> log;
  RecordingContext recording(context(), log);
  const auto busy = [this](double seconds) {
    return [this, seconds] { device().queue_pause(Seconds(seconds)); };
  };
  std::array<Pending, 2> works = {recording.compute({.kind = Work::Kind::forward}, busy(0.03)),
                                  recording.compute({.kind = Work::Kind::backward}, busy(0.05))};
  // The rank asks late; what the device took stays what it was.
  Pending late = recording.sleep(Seconds(0.3));
  recording.wait(late);
  for (std::size_t i = 0; i < 2; ++i) {
    const Completion work = recording.wait(works[i]);
    ASSERT_TRUE(work.device_time);
    EXPECT_GE(work.device_time->count(), i == 0 ? 0.03 : 0.05);
    const OperationRecord& record = log[i];
    EXPECT_GE(record.end.count(), 0.3);
    const double lasted = (record.end - record.start).count();
    EXPECT_LE(lasted, work.device_time->count() + 1e-9);
    EXPECT_NEAR(lasted, work.device_time->count(), 1e-6);
  }
  Pending nothing = recording.compute({.kind = Work::Kind::update}, {});
  EXPECT_FALSE(recording.wait(nothing).device_time);
}

/// One kernel queues all pieces; those that follow only say where theirs ends.
TEST_F(MpiContextDevice, PiecesThatAreQueuedAheadAreTimedEach) {
  set_up(2);
  constexpr std::array<double, 3> pieces_s = {0.02, 0.05, 0.03};
  std::vector<DeviceMark> ends;
  std::array<Pending, 3> works;
  for (std::size_t i = 0; i < works.size(); ++i)
    works[i] = context().compute({.kind = Work::Kind::backward}, [&, i] {
      if (i == 0)
        for (const double seconds : pieces_s) {
          device().queue_pause(Seconds(seconds));
          ends.push_back(device().mark());
        }
      device().end_kernel_at(ends[i]);
    });
  double sum = 0.0;
  for (std::size_t i = 0; i < works.size(); ++i) {
    const Completion done = context().wait_any(works);
    EXPECT_EQ(done.index, i) << "in the order of the queue";
    ASSERT_TRUE(done.device_time);
    EXPECT_GE(done.device_time->count(), pieces_s[i]);
    sum += done.device_time->count();
  }
  EXPECT_GE(sum, 0.1);
  EXPECT_LE(sum, context().now().count() + 1e-6) << "no stretch of time counts twice";
}

TEST_F(MpiContextDevice, AnEmulatedDeviceIsTimedAsEverButDoneWithItsQueue) {
  set_up(3, {.emulated = [](const Work&) { return Seconds(0.01); }});
  std::atomic<bool> ran = false;
  const Seconds start = context().now();
  Pending work = context().compute({.kind = Work::Kind::forward}, [&] {
    device().queue_pause(Seconds(0.03));
    device().queue([&] { ran = true; });
    device().end_kernel_at(device().mark());
  });
  EXPECT_TRUE(ran);
  EXPECT_FALSE(context().wait(work).device_time);
  EXPECT_GE((context().now() - start).count(), 0.03);
  EXPECT_EQ(context().late_devices(), 1);
}

// ---- Sums ----

Anywhere vector_at(ComputeDevice& device, bool of_device, std::size_t size, float value) {
  const std::vector<float> values(size, value);
  Block bytes(size * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return {device, of_device, std::move(bytes)};
}

std::vector<float> floats_of(const Anywhere& memory) {
  const Block bytes = memory.contents();
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Sums start in one order on all ranks, though some of them must be copied out first and others not, and the
/// same sum may be of a device's memory here and of a host's there.
TEST_F(MpiContextDevice, SumsKeepTheirOrderWhereverTheyAre) {
  constexpr std::array<std::size_t, 7> sizes = {1, 100'000, 3, 0, 20'000, 700'000, 17};
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    set_up(seed);
    const std::vector<Rank> members = all_ranks(context());
    Rng rng = Rng::stream(seed, "places", static_cast<std::uint64_t>(context().rank()));
    std::vector<Anywhere> vectors;
    std::vector<Pending> pendings;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      vectors.push_back(vector_at(device(), rng.below(2) == 0, sizes[i],
                                  static_cast<float>((context().rank() + 1) * static_cast<int>(i + 1))));
    for (auto& vector : vectors) pendings.push_back(context().all_reduce(members, plain, vector.slice()));
    context().wait_all(pendings);
    const int ranks = context().world_size();
    for (std::size_t i = 0; i < sizes.size(); ++i)
      EXPECT_EQ(
          floats_of(vectors[i]),
          std::vector<float>(sizes[i], static_cast<float>(ranks * (ranks + 1) / 2 * static_cast<int>(i + 1))))
          << "sum " << i;
  }
}

/// The first sum over a list waits for all of its members, one of which first waits for a message.
TEST_F(MpiContextDevice, AMessageLeavesBeforeItsSenderWaitsForMembers) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    set_up(seed);
    const std::vector<Rank> members = all_ranks(context());
    Anywhere vector = vector_at(device(), true, 1000, 1.0F);
    DeviceBlock block = on_device(device(), filled(0, 9, 10'000));
    if (context().rank() == 0) {
      std::vector<Pending> sends;
      for (Rank to = 1; to < context().world_size(); ++to)
        sends.push_back(context().send(to, noted, slice_of(block), {}));
      Pending sum = context().all_reduce(members, plain, vector.slice());
      context().wait(sum);
      context().wait_all(sends);
    } else {
      DeviceBlock in(device(), block.size());
      Pending message = context().receive(0, noted, slice_of(in));
      context().wait(message);
      EXPECT_EQ(on_host(device(), in), filled(0, 9, in.size()));
      Pending sum = context().all_reduce(members, plain, vector.slice());
      context().wait(sum);
    }
    EXPECT_EQ(floats_of(vector), std::vector<float>(1000, static_cast<float>(context().world_size())));
  }
}

/// Sums by the devices themselves, as far as anybody can tell; over lists in order only.
class SumsOfDevices final : public DeviceCollective {
 public:
  explicit SumsOfDevices(DelayedDevice*& device) : device_(device) {}
  bool can(std::span<const Rank> members) const override { return std::ranges::is_sorted(members); }
  std::uint32_t start(std::span<const Rank> members, MPI_Comm among, std::byte* memory,
                      std::int64_t bytes) override {
    int rank = 0;
    MPI_Comm_rank(among, &rank);
    int own = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    EXPECT_EQ(members[static_cast<std::size_t>(rank)], own);
    std::vector<float> values(static_cast<std::size_t>(bytes) / sizeof(float));
    device_->copy(values.data(), memory, static_cast<std::size_t>(bytes));
    device_->finish();
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM, among);
    device_->copy(memory, values.data(), static_cast<std::size_t>(bytes));
    device_->finish();
    asked_.push_back(0);
    return static_cast<std::uint32_t>(asked_.size() - 1);
  }
  bool has_ended(std::uint32_t sum) override {
    EXPECT_LT(asked_.at(sum), 3) << "it was told already";
    return ++asked_[sum] == 3;
  }
  std::size_t started() const { return asked_.size(); }

 private:
  DelayedDevice*& device_;
  std::vector<int> asked_;
};

TEST_F(MpiContextDevice, DevicesSumWhatTheyCan) {
  DelayedDevice* own = nullptr;
  const auto sums = std::make_shared<SumsOfDevices>(own);
  set_up(1, {.collective = sums});
  own = &device();
  std::vector<Rank> members = all_ranks(context());
  const auto sum_over = [&](bool of_device) {
    Anywhere vector = vector_at(device(), of_device, 5000, 2.0F);
    Pending sum = context().all_reduce(members, plain, vector.slice());
    EXPECT_FALSE(context().wait(sum).device_time);
    EXPECT_EQ(floats_of(vector), std::vector<float>(5000, 2.0F * static_cast<float>(members.size())));
  };
  sum_over(true);
  sum_over(true);
  EXPECT_EQ(sums->started(), 2U);
  sum_over(false);
  EXPECT_EQ(sums->started(), 2U) << "that was the host's memory";
  std::ranges::reverse(members);
  sum_over(true);
  EXPECT_EQ(sums->started(), 2U) << "that list they cannot";
}

// ---- Leaving ----

TEST_F(MpiContextDevice, ARankThatLeavesByAnExceptionFreesNothingTwice) {
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

}  // namespace
}  // namespace tandem
