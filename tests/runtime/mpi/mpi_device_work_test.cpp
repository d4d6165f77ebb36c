// The context on MPI over a device other than the host: the device's own time of its work, and sums of device
// memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "policies/vocabulary/rng.hpp"
#include "tests/runtime/mpi/mpi_device.hpp"
#include "workloads/records/recording_context.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

// ---- The device's own time ----

TEST_F(MpiContextDevice, RecordsContainTheDeviceTime) {
  set_up(1);
  std::vector<OperationRecord> log;
  RecordingContext recording(context(), log);
  const auto busy = [this](double seconds) {
    return [this, seconds] { device().queue_pause(Seconds(seconds)); };
  };
  std::array<Pending, 2> works = {recording.compute({.kind = Work::Kind::forward}, busy(0.03)),
                                  recording.compute({.kind = Work::Kind::backward}, busy(0.05))};
  // The rank waits late; that does not change the device time.
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

/// Each kernel queues up to `ahead` pieces in advance, and marks the end of its own piece. Other work is
/// queued in between.
class QueuedAhead : public MpiContextDevice, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(QueuedAhead, EachPieceIsTimed) {
  set_up(2);
  constexpr std::array<double, 4> pieces_s = {0.02, 0.05, 0.03, 0.04};
  std::vector<DeviceMark> ends;
  std::array<Pending, pieces_s.size()> pieces, others;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    pieces[i] = context().compute({.kind = Work::Kind::backward}, [&, i] {
      while (ends.size() < std::min(i + 1 + GetParam(), pieces.size())) {
        device().queue_pause(Seconds(pieces_s[ends.size()]));
        ends.push_back(device().mark());
      }
      device().end_kernel_at(ends[i]);
    });
    others[i] =
        context().compute({.kind = Work::Kind::reduce}, [&] { device().queue_pause(Seconds(0.015)); });
  }
  double sum = 0.0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Completion done = context().wait(pieces[i]);
    ASSERT_TRUE(done.device_time);
    EXPECT_GE(done.device_time->count(), pieces_s[i]);
    sum += done.device_time->count();
  }
  for (Pending& other : others) {
    const Completion done = context().wait(other);
    ASSERT_TRUE(done.device_time);
    EXPECT_GE(done.device_time->count(), 0.015);
    sum += done.device_time->count();
  }
  EXPECT_GE(sum, 0.2);
  EXPECT_LE(sum, context().now().count() + 1e-6) << "no interval is counted twice";
}

INSTANTIATE_TEST_SUITE_P(ByPieces, QueuedAhead, ::testing::Values(0, 1, 3));

/// Blocks the device's first queue until it is opened or a timeout expires.
struct Barrier {
  std::atomic<bool> is_open = false;
  std::atomic<bool> gave_up = false;
  void hold() {
    for (int turn = 0; turn < 10'000 && !is_open; ++turn)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    gave_up = !is_open;
  }
};

/// Backward of the next bucket is queued before the work on the finished bucket.
TEST_F(MpiContextDevice, WorkOnAFinishedBucketDoesNotWaitForOthers) {
  set_up(4);
  for (const Work::Kind kind : {Work::Kind::reduce, Work::Kind::compress, Work::Kind::decompress}) {
    Barrier barrier;
    std::atomic<bool> ran = false;
    Pending ahead = context().compute({.kind = Work::Kind::backward, .bucket = 1},
                                      [&] { device().queue([&] { barrier.hold(); }); });
    Pending work =
        context().compute({.kind = kind, .bucket = 0}, [&] { device().queue([&] { ran = true; }); });
    context().wait(work);
    EXPECT_TRUE(ran);
    EXPECT_FALSE(barrier.gave_up) << name_of(kind);
    barrier.is_open = true;
    context().wait(ahead);
  }
}

TEST_F(MpiContextDevice, WorkOnAllBucketsWaitsForEarlierWork) {
  set_up(6);
  for (const Work::Kind kind : {Work::Kind::reduce, Work::Kind::compress, Work::Kind::update}) {
    std::atomic<bool> is_there = false;
    Pending before = context().compute({.kind = Work::Kind::backward, .bucket = 0}, [&] {
      device().queue_pause(Seconds(0.01));
      device().queue([&] { is_there = true; });
    });
    bool was_there = false;
    Pending work = context().compute({.kind = kind}, [&] { device().queue([&] { was_there = is_there; }); });
    context().wait(work);
    EXPECT_TRUE(was_there) << name_of(kind);
    context().wait(before);
  }
}

TEST_F(MpiContextDevice, WorkOfAnEmulatedDeviceWaitsForItsQueue) {
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

// ---- Copies ----

TEST_F(MpiContextDevice, WatchersReceiveCopiesWithTheirTimes) {
  set_up(8);
  std::array<std::vector<MpiContext::DeviceCopy>, 2> seen;  // in and out
  context().watch_copies([&](const auto& copy) { seen[copy.out ? 1 : 0].push_back(copy); });
  const Seconds before = context().now();
  constexpr std::size_t messages = 10;
  std::vector<DeviceBlock> out, in;
  std::vector<Pending> pendings;
  for (std::size_t i = 0; i < messages; ++i) {
    out.push_back(on_device(device(), filled(context().rank(), i, 50'000 + i)));
    in.emplace_back(device(), 50'000 + i);
    pendings.push_back(context().receive(previous(), plain, slice_of(in.back())));
    pendings.push_back(context().send(next(), plain, slice_of(out.back()), {}));
  }
  context().wait_all(pendings);
  DeviceBlock vector(device(), 4000);
  Pending sum =
      context().all_reduce(all_ranks(context()), plain, slice_of(vector), collectives::float_element);
  context().wait(sum);
  std::vector<std::int64_t> wanted(messages + 1, 4000);
  for (std::size_t i = 0; i < messages; ++i) wanted[i + 1] = static_cast<std::int64_t>(50'000 + i);
  for (const auto& copies : seen) {
    std::vector<std::int64_t> sizes;
    Seconds until = before;
    for (const auto& copy : copies) {
      sizes.push_back(copy.bytes);
      EXPECT_GE(copy.start, until) << "copies in one direction do not overlap";
      EXPECT_GE(copy.end, copy.start);
      until = copy.end;
    }
    EXPECT_LE(until, context().now());
    std::ranges::sort(sizes);
    EXPECT_EQ(sizes, wanted);
  }
  context().watch_copies({});
}

// ---- Concurrent work ----

TEST_F(MpiContextDevice, ConcurrentWorkDoesNotWaitForTheDevice) {
  set_up(4);
  std::atomic<bool> goes_on = false;
  Pending pass = context().compute({.kind = Work::Kind::backward}, [&] {
    device().queue([&] {
      while (!goes_on) std::this_thread::yield();
    });
  });
  Pending decode = context().compute({.kind = Work::Kind::decode, .concurrent = true}, [] {});
  constexpr double long_s = 10.0;
  while (!context().is_done(decode) && context().now().count() < long_s) std::this_thread::yield();
  EXPECT_TRUE(context().is_done(decode));
  EXPECT_FALSE(context().is_done(pass));
  goes_on = true;
  context().wait(pass);
  context().wait(decode);
}

TEST_F(MpiContextDevice, ConcurrentWorkAndAnEmulatedDeviceAreIndependent) {
  set_up(5, {.emulated = [](const Work& work) { return Seconds(work.samples * 0.01); }});
  std::array<Pending, 3> works = {
      context().compute({.kind = Work::Kind::backward, .samples = 50}, {}),
      context().compute({.kind = Work::Kind::decode, .samples = 1, .concurrent = true}, {}),
      context().compute({.kind = Work::Kind::update, .samples = 1}, {})};
  for (const std::size_t next : {1UL, 0UL, 2UL}) EXPECT_EQ(context().wait_any(works).index, next);
  Pending long_decode =
      context().compute({.kind = Work::Kind::decode, .samples = 50, .concurrent = true}, {});
  Pending forward = context().compute({.kind = Work::Kind::forward, .samples = 1}, {});
  context().wait(forward);
  EXPECT_FALSE(context().is_done(long_decode));
  context().wait(long_decode);
}

// ---- Sums ----

Anywhere vector_at(ComputeDevice& device, bool of_device, std::size_t size, float value) {
  const std::vector<float> values(size, value);
  Block bytes(size * sizeof(float));
  if (size > 0) std::memcpy(bytes.data(), values.data(), bytes.size());
  return {device, of_device, std::move(bytes)};
}

std::vector<float> floats_of(const Anywhere& memory) {
  const Block bytes = memory.contents();
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Sums start in the same order on all ranks, though some must be copied out first and others need not be,
/// and the same sum may be of device memory on one rank and of host memory on another.
TEST_F(MpiContextDevice, SumsKeepTheirOrderInAnyMemory) {
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
    for (auto& vector : vectors)
      pendings.push_back(context().all_reduce(members, plain, vector.slice(), collectives::float_element));
    context().wait_all(pendings);
    const int ranks = context().world_size();
    for (std::size_t i = 0; i < sizes.size(); ++i)
      EXPECT_EQ(
          floats_of(vectors[i]),
          std::vector<float>(sizes[i], static_cast<float>(ranks * (ranks + 1) / 2 * static_cast<int>(i + 1))))
          << "sum " << i;
  }
}

/// Each part of the GPU's memory comes from the member of its place in the list.
TEST_F(MpiContextDevice, GathersAndSumsOfHalvesMayBeAnywhere) {
  set_up(1);
  std::vector<Rank> members = all_ranks(context());
  std::ranges::reverse(members);
  const auto self = std::ranges::find(members, context().rank()) - members.begin();
  for (const std::size_t part : {1UL, 7UL, 50'001UL}) {
    std::vector<std::byte> wanted;
    for (const Rank member : members) std::ranges::copy(filled(member, 3, part), std::back_inserter(wanted));
    std::vector<std::byte> own(wanted.size());
    std::ranges::copy(filled(context().rank(), 3, part),
                      own.begin() + self * static_cast<std::ptrdiff_t>(part));
    DeviceBlock vector = on_device(device(), own);
    Pending gather = context().all_reduce(members, plain, slice_of(vector), collectives::byte_element);
    context().wait(gather);
    EXPECT_EQ(on_host(device(), vector), wanted) << part;
  }
  constexpr std::size_t count = 30'001;
  const std::vector<float> ones(count, 1.0F);
  std::vector<std::byte> halves(2 * count);
  host_device().narrow(ones.data(), reinterpret_cast<std::uint16_t*>(halves.data()), count, HalfFormat::bf16);
  DeviceBlock vector = on_device(device(), halves);
  Pending sum = context().all_reduce(members, plain, slice_of(vector), collectives::bf16_element);
  context().wait(sum);
  const std::vector<std::byte> found = on_host(device(), vector);
  std::vector<float> sums(count);
  host_device().widen(reinterpret_cast<const std::uint16_t*>(found.data()), sums.data(), count,
                      HalfFormat::bf16);
  EXPECT_EQ(sums, std::vector<float>(count, static_cast<float>(members.size())));
}

/// The first sum over a list waits for all members, one of which waits for a message before it starts the
/// sum.
TEST_F(MpiContextDevice, AMessageIsSentBeforeItsSenderWaitsForMembers) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    set_up(seed);
    const std::vector<Rank> members = all_ranks(context());
    Anywhere vector = vector_at(device(), true, 1000, 1.0F);
    DeviceBlock block = on_device(device(), filled(0, 9, 10'000));
    if (context().rank() == 0) {
      std::vector<Pending> sends;
      for (Rank to = 1; to < context().world_size(); ++to)
        sends.push_back(context().send(to, noted, slice_of(block), {}));
      Pending sum = context().all_reduce(members, plain, vector.slice(), collectives::float_element);
      context().wait(sum);
      context().wait_all(sends);
    } else {
      DeviceBlock in(device(), block.size());
      Pending message = context().receive(0, noted, slice_of(in));
      context().wait(message);
      EXPECT_EQ(on_host(device(), in), filled(0, 9, in.size()));
      Pending sum = context().all_reduce(members, plain, vector.slice(), collectives::float_element);
      context().wait(sum);
    }
    EXPECT_EQ(floats_of(vector), std::vector<float>(1000, static_cast<float>(context().world_size())));
  }
}

/// Imitates sums by the devices themselves; supports only sorted lists of members.
class SumsOfDevices final : public DeviceCollective {
 public:
  explicit SumsOfDevices(DelayedDevice*& device) : device_(device) {}
  bool can(std::span<const Rank> members) const override { return std::ranges::is_sorted(members); }
  std::optional<std::uint32_t> start(std::span<const Rank> members, MPI_Comm among, std::byte* memory,
                                     std::int64_t bytes, const collectives::Element& element) override {
    EXPECT_EQ(element, collectives::float_element);
    if (members.front() > 0) return std::nullopt;
    int rank = 0;
    MPI_Comm_rank(among, &rank);
    int own = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    EXPECT_EQ(members[static_cast<std::size_t>(rank)], own);
    std::vector<float> values(static_cast<std::size_t>(bytes) / sizeof(float));
    copy_and_await(*device_, values.data(), memory, static_cast<std::size_t>(bytes));
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM, among);
    copy_and_await(*device_, memory, values.data(), static_cast<std::size_t>(bytes));
    asked_.push_back(0);
    return static_cast<std::uint32_t>(asked_.size() - 1);
  }
  bool has_ended(std::uint32_t sum) override {
    EXPECT_LT(asked_.at(sum), 3) << "has_ended was called again after it returned true";
    return ++asked_[sum] == 3;
  }
  void abort() noexcept override {}
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
    Pending sum = context().all_reduce(members, plain, vector.slice(), collectives::float_element);
    EXPECT_FALSE(context().wait(sum).device_time);
    EXPECT_EQ(floats_of(vector), std::vector<float>(5000, 2.0F * static_cast<float>(members.size())));
  };
  sum_over(true);
  sum_over(true);
  EXPECT_EQ(sums->started(), 2U);
  sum_over(false);
  EXPECT_EQ(sums->started(), 2U) << "the vector is in host memory";
  std::ranges::reverse(members);
  sum_over(true);
  EXPECT_EQ(sums->started(), 2U) << "the devices do not support this list";
  members = {1};
  for (Rank rank = 2; rank < context().world_size(); ++rank) members.push_back(rank);
  if (context().rank() > 0) sum_over(true);
  EXPECT_EQ(sums->started(), 2U) << "this list exceeds the limit";
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
