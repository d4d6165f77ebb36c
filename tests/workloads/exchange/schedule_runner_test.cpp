// The schedule interpreter, on ranks that really exchange data: sums, overlap, groups, repeated use.
#include "workloads/exchange/schedule_runner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "policies/compression/half.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/apart_device.hpp"
#include "tests/support/fake_context.hpp"
#include "tests/support/names.hpp"
#include "tests/support/numbered_note.hpp"
#include "tests/support/seeds.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::FakeWorld;

/// Integers as floats, different for each rank, bucket and element: sums are exact and show which rank is
/// missing.
float contribution(Rank rank, int step, std::size_t bucket, std::size_t element) {
  return static_cast<float>((rank + 1) * (1 + static_cast<int>((element * 7 + bucket * 3) % 11)) + step);
}

std::vector<float> contributions(Rank rank, int step, std::size_t bucket, std::size_t elements) {
  std::vector<float> vector(elements);
  for (std::size_t i = 0; i < elements; ++i) vector[i] = contribution(rank, step, bucket, i);
  return vector;
}

std::vector<float> sum_over(std::span<const Rank> members, int step, std::size_t bucket,
                            std::size_t elements) {
  std::vector<float> sum(elements);
  for (const Rank rank : members)
    for (std::size_t i = 0; i < elements; ++i) sum[i] += contribution(rank, step, bucket, i);
  return sum;
}

Slice slice_of(std::vector<float>& vector) {
  return {Bytes(static_cast<std::int64_t>(vector.size() * sizeof(float))),
          reinterpret_cast<std::byte*>(vector.data())};
}

std::vector<Bytes> sizes_of(const std::vector<std::size_t>& elements) {
  std::vector<Bytes> sizes;
  for (const std::size_t count : elements)
    sizes.emplace_back(static_cast<std::int64_t>(count * sizeof(float)));
  return sizes;
}

/// 0, 1, ...; the list lives as long as the program, since all-reduces may keep a reference.
std::span<const Rank> first_ranks(int count) {
  static const std::vector<Rank> all = [] {
    std::vector<Rank> ranks(256);
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }();
  return std::span(all).first(static_cast<std::size_t>(count));
}

class AllReducesOf : public ::testing::TestWithParam<std::string> {
 protected:
  collectives::MakeSchedule make() const { return collectives::catalog().find(GetParam()).make; }
};

TEST_P(AllReducesOf, SumEveryBucketDuringBackward) {
  const std::vector<std::size_t> elements = {17, 0, 1, 64, 5};
  for (const auto seed : testing::seeds(10))
    for (int ranks = 1; ranks <= 9; ++ranks) {
      TANDEM_TRACE_SEED(seed);
      SCOPED_TRACE("ranks " + std::to_string(ranks));
      const std::span<const Rank> members = first_ranks(ranks);
      std::atomic<int> wrong{0};
      FakeWorld(ranks, seed).run([&](Context& context) {
        AllReduces all_reduces(context, make(), members, sizes_of(elements), Channel{});
        for (int step = 0; step < 3; ++step) {
          std::vector<std::vector<float>> vectors(elements.size());
          // Backward fills the buckets from the last to the first; each is summed while the next is computed.
          for (std::size_t bucket = elements.size(); bucket-- > 0;) {
            Pending backward = context.compute({.kind = Work::Kind::backward}, [&, bucket] {
              vectors[bucket] = contributions(context.rank(), step, bucket, elements[bucket]);
            });
            all_reduces.wait_progressing(backward);
            all_reduces.start(static_cast<int>(bucket), slice_of(vectors[bucket]));
          }
          all_reduces.finish();
          for (std::size_t bucket = 0; bucket < elements.size(); ++bucket)
            if (vectors[bucket] != sum_over(members, step, bucket, elements[bucket])) ++wrong;
        }
      });
      ASSERT_EQ(wrong, 0);
    }
}

/// Several messages of a round may go from one rank to another.
TEST_P(AllReducesOf, SumInCopiesWithOtherOrders) {
  constexpr int ranks = 5;
  constexpr std::size_t elements = 101;
  const std::vector<collectives::Arrangement> copies = {
      {{0, 1, 2, 3, 4}, {2, 3}}, {{4, 3, 2, 1, 0}, {3, 2}}, {{0, 1, 2, 3, 4}, {5}}};
  const std::span<const Rank> members = first_ranks(ranks);
  std::atomic<int> wrong{0};
  FakeWorld(ranks, 1).run([&](Context& context) {
    const collectives::Schedules of = collectives::in_copies(make(), copies);
    AllReduces all_reduces(context, {of(context.rank(), elements)}, members, sizes_of({elements}), Channel{});
    for (int step = 0; step < 3; ++step) {
      std::vector<float> vector = contributions(context.rank(), step, 0, elements);
      all_reduces.start(0, slice_of(vector));
      all_reduces.finish();
      if (vector != sum_over(members, step, 0, elements)) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(PipelinedRing, SumsInChunks) {
  constexpr int ranks = 3;
  constexpr std::size_t elements = 200'003;
  const std::span<const Rank> members = first_ranks(ranks);
  std::atomic<int> wrong{0};
  FakeWorld(ranks, 1).run([&](Context& context) {
    AllReduces all_reduces(context, collectives::catalog().find("pipelined-ring").make, members,
                           sizes_of({elements}), Channel{});
    std::vector<float> vector = contributions(context.rank(), 0, 0, elements);
    all_reduces.start(0, slice_of(vector));
    all_reduces.finish();
    if (vector != sum_over(members, 0, 0, elements)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(AllReducesOf, SumOverAGroupOfRanksInItsOwnOrder) {
  const std::vector<Rank> members = {5, 1, 4};
  std::atomic<int> wrong{0};
  FakeWorld(6, 1).run([&](Context& context) {
    if (std::find(members.begin(), members.end(), context.rank()) == members.end()) return;
    AllReduces all_reduces(context, make(), members, sizes_of({20}), Channel{});
    std::vector<float> vector = contributions(context.rank(), 0, 0, 20);
    all_reduces.start(0, slice_of(vector));
    all_reduces.finish(0);
    if (vector != sum_over(members, 0, 0, 20)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(AllReducesOf, WaitingForWorkReturnsBeforeTheOthersStart) {
  FakeWorld(2, 1).run([&](Context& context) {
    AllReduces all_reduces(context, make(), first_ranks(2), sizes_of({8}), Channel{});
    std::vector<float> vector(8, 1.0F);
    if (context.rank() == 0) {
      all_reduces.start(0, slice_of(vector));
      Pending compute = context.compute({.kind = Work::Kind::backward});
      all_reduces.wait_progressing(compute);
      EXPECT_TRUE(compute.empty());
      EXPECT_TRUE(all_reduces.in_flight(0));
      Pending go = context.send(1, Channel{99}, {});
      all_reduces.wait_progressing(go);
    } else {
      Pending go = context.receive(0, Channel{99}, {});
      context.wait(go);
      all_reduces.start(0, slice_of(vector));
    }
    all_reduces.finish();
    EXPECT_FALSE(all_reduces.in_flight(0));
    EXPECT_EQ(vector, std::vector<float>(8, 2.0F));
  });
}

TEST_P(AllReducesOf, ProgressWhileARankWaitsForAnotherOperation) {
  // Rank 0 only waits for a note that rank 3 sends after the others have finished, for which they need rank
  // 0.
  FakeWorld(4, 1).run([&](Context& context) {
    const Channel notes{99, true};
    if (context.rank() == 3) {
      for (const Rank other : {1, 2}) {
        Pending finished = context.receive(other, notes, {});
        context.wait(finished);
      }
      Pending note = context.send(0, notes, {}, testing::numbered_note(7));
      context.wait(note);
      return;
    }
    AllReduces all_reduces(context, make(), first_ranks(3), sizes_of({30, 4}), Channel{});
    std::vector<float> first(30, 1.0F);
    std::vector<float> second(4, 2.0F);
    all_reduces.start(0, slice_of(first));
    all_reduces.start(1, slice_of(second));
    if (context.rank() == 0) {
      Pending note = context.receive(3, notes, {});
      const Completion completion = all_reduces.wait_progressing(note);
      EXPECT_EQ(testing::number_of(completion.note), 7);
      all_reduces.finish();
    } else {
      all_reduces.finish();
      Pending finished = context.send(3, notes, {});
      context.wait(finished);
    }
    EXPECT_EQ(first, std::vector<float>(30, 3.0F));
    EXPECT_EQ(second, std::vector<float>(4, 6.0F));
  });
}

TEST_P(AllReducesOf, FinishOneBucketOnly) {
  FakeWorld(2, 1).run([&](Context& context) {
    AllReduces all_reduces(context, make(), first_ranks(2), sizes_of({8, 8}), Channel{});
    std::vector<float> late(8, 1.0F);
    std::vector<float> early(8, 2.0F);
    if (context.rank() == 0) all_reduces.start(0, slice_of(late));
    all_reduces.start(1, slice_of(early));
    all_reduces.finish(1);
    EXPECT_EQ(early, std::vector<float>(8, 4.0F));
    if (context.rank() == 1) all_reduces.start(0, slice_of(late));
    all_reduces.finish(0);
    EXPECT_EQ(late, std::vector<float>(8, 2.0F));
    all_reduces.finish(0);  // not in flight: nothing to wait for
  });
}

/// Three participants: 1 and 2 send participant 0 different halves, then the other halves, and receive the
/// whole sum. A round has several transfers of the same kind, unlike the schedules of the catalogue.
collectives::Schedule halves_by_way_of_the_first(int self, const collectives::Groups&,
                                                 std::int64_t elements) {
  using Kind = collectives::Transfer::Kind;
  using Table = std::vector<collectives::Round>;
  const collectives::Piece low = collectives::part_of(elements, 2, 0);
  const collectives::Piece high = collectives::part_of(elements, 2, 1);
  const collectives::Piece all{0, elements};
  if (self == 0)
    return {Table{{{Kind::receive_and_reduce, 1, low}, {Kind::receive_and_reduce, 2, high}},
                  {{Kind::receive_and_reduce, 1, high}, {Kind::receive_and_reduce, 2, low}},
                  {{Kind::send, 1, all}, {Kind::send, 2, all}}}};
  const auto& [first, second] = self == 1 ? std::pair(low, high) : std::pair(high, low);
  return {Table{{{Kind::send, 0, first}}, {{Kind::send, 0, second}}, {{Kind::receive, 0, all}}}};
}

TEST(AllReduces, InterpretsRoundsOfSeveralTransfers) {
  const std::span<const Rank> members = first_ranks(3);
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    std::atomic<int> wrong{0};
    FakeWorld(3, seed).run([&](Context& context) {
      AllReduces all_reduces(context, halves_by_way_of_the_first, members, sizes_of({9}), Channel{});
      std::vector<float> vector = contributions(context.rank(), 0, 0, 9);
      all_reduces.start(0, slice_of(vector));
      all_reduces.finish();
      if (vector != sum_over(members, 0, 0, 9)) ++wrong;
    });
    EXPECT_EQ(wrong, 0);
  }
}

/// The first and the last bucket use the native all-reduce, the middle one a ring.
TEST(AllReduces, MixSchedulesWithTheNativeAllReduce) {
  const std::vector<std::size_t> elements = {17, 40, 5};
  const auto ring = collectives::catalog().find("ring").make;
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    std::atomic<int> wrong{0};
    FakeWorld(4, seed).run([&](Context& context) {
      // Interleaved groups whose members are not in rank order.
      const std::vector<Rank> members =
          context.rank() == 2 ? std::vector<Rank>{2} : std::vector<Rank>{3, 0, 1};
      const int size = static_cast<int>(members.size());
      const auto self = std::find(members.begin(), members.end(), context.rank()) - members.begin();
      AllReduces all_reduces(context, {std::nullopt, ring(static_cast<int>(self), size, 40), std::nullopt},
                             members, sizes_of(elements), Channel{});
      for (int step = 0; step < 3; ++step) {
        std::vector<std::vector<float>> vectors(elements.size());
        for (std::size_t bucket = elements.size(); bucket-- > 0;) {
          Pending backward = context.compute({.kind = Work::Kind::backward}, [&, bucket] {
            vectors[bucket] = contributions(context.rank(), step, bucket, elements[bucket]);
          });
          all_reduces.wait_progressing(backward);
          all_reduces.start(static_cast<int>(bucket), slice_of(vectors[bucket]));
          EXPECT_TRUE(all_reduces.in_flight(static_cast<int>(bucket)) || size == 1);
        }
        all_reduces.finish(0);
        EXPECT_FALSE(all_reduces.in_flight(0));
        all_reduces.finish();
        EXPECT_FALSE(all_reduces.running());
        for (std::size_t bucket = 0; bucket < elements.size(); ++bucket)
          if (vectors[bucket] != sum_over(members, step, bucket, elements[bucket])) ++wrong;
      }
    });
    EXPECT_EQ(wrong, 0);
  }
}

TEST(AllReduces, GroupsShareTheMemoryOfArrivals) {
  const auto ring = collectives::catalog().find("ring").make;
  constexpr std::size_t elements = 23;
  const std::vector<std::vector<std::vector<Rank>>> partitions = {
      {{0, 1, 2, 3}}, {{0, 1}, {2, 3}}, {{3, 0}, {2, 1}}, {{0, 1, 2, 3}}};
  std::atomic<int> wrong{0};
  FakeWorld(4, 1).run([&](Context& context) {
    const auto arrivals = std::make_shared<ArrivalMemory>();
    for (int step = 0; step < 6; ++step)
      for (const auto& groups : partitions)
        for (const auto& members : groups) {
          const auto self = std::ranges::find(members, context.rank());
          if (self == members.end()) continue;
          AllReduces all_reduces(
              context,
              {ring(static_cast<int>(self - members.begin()), static_cast<int>(members.size()), elements)},
              members, sizes_of({elements}), Channel{}, {}, arrivals);
          std::vector<float> vector = contributions(context.rank(), step, 0, elements);
          all_reduces.start(0, slice_of(vector));
          all_reduces.finish();
          if (vector != sum_over(members, step, 0, elements)) ++wrong;
        }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(ArrivalMemory, IsAllocatedAgainOnlyToGrow) {
  testing::ApartDevice device;
  {
    ArrivalMemory memory;
    std::byte* const first = memory.of(1, device, 100);
    EXPECT_EQ(memory.of(1, device, 60), first);
    EXPECT_EQ(device.memories(), 1U);
    EXPECT_NE(memory.of(0, device, 10), first);
    EXPECT_TRUE(device.owns(memory.of(1, device, 200)));
    EXPECT_EQ(device.memories(), 2U);
    EXPECT_FALSE(device.owns(memory.of(1, host_device(), 50)));
    EXPECT_EQ(device.memories(), 1U);
  }
  EXPECT_EQ(device.memories(), 0U);
}

/// Completes every operation at once and counts it. Represents any number of other ranks, whose data are
/// zeros.
class CountingContext final : public Context {
 public:
  CountingContext(Rank rank, int size) : rank_(rank), size_(size) {}
  Rank rank() const override { return rank_; }
  int world_size() const override { return size_; }
  Seconds now() const override { return Seconds(0.0); }
  Pending compute(const Work& work, Kernel kernel) override {
    EXPECT_EQ(work.kind, Work::Kind::reduce);
    EXPECT_EQ(work.bucket, 0);
    reduced += work.bytes;
    if (kernel) kernel();
    return Pending(0);
  }
  Pending send(Rank, Channel, Slice slice, const Note&) override {
    ++sends;
    sent += slice.size;
    return Pending(0);
  }
  Pending receive(Rank, Channel, Slice slice) override {
    received += slice.size;
    if (slice.data != nullptr) std::fill_n(slice.data, slice.size.count(), std::byte{0});
    return Pending(0);
  }
  Pending all_reduce(std::span<const Rank>, Channel, Slice, const collectives::Element&) override {
    return Pending(0);
  }
  Pending read(int, DiskAccess, Kernel) override { return Pending(0); }
  Pending write(int, DiskAccess, Kernel) override { return Pending(0); }
  void cancel_all(std::span<const Pending>) override {}
  void stop_work() override {}
  Pending disconnect(Rank) override { return Pending(0); }
  void announce_departure() override {}
  Pending sleep(Seconds) override { return Pending(0); }
  bool is_done(const Pending&) override { return true; }
  Completion wait(Pending& pending) override { return wait_any({&pending, 1}); }
  Completion wait_any(std::span<Pending> pendings) override {
    std::size_t index = 0;
    while (pendings[index].empty()) ++index;
    pendings[index].release();
    return {index, {}};
  }

  int sends = 0;
  Bytes sent{0};
  Bytes received{0};
  Bytes reduced{0};

 private:
  Rank rank_;
  int size_;
};

TEST_P(AllReducesOf, WithoutDataMoveTheBytesOfTheSchedule) {
  for (int size = 1; size <= 9; ++size)
    for (Rank rank = 0; rank < size; ++rank) {
      constexpr std::int64_t elements = 103;
      CountingContext context(rank, size);
      AllReduces all_reduces(context, make(), first_ranks(size), sizes_of({elements}), Channel{});
      all_reduces.start(0, {Bytes(4 * elements), nullptr});
      all_reduces.finish();
      CountingContext expected(rank, size);
      for (const auto& round : make()(rank, size, elements).rounds)
        for (const auto& transfer : round) {
          const Bytes bytes(4 * transfer.piece.size());
          const bool is_send = transfer.kind == collectives::Transfer::Kind::send;
          expected.sends += is_send ? 1 : 0;
          (is_send ? expected.sent : expected.received) += bytes;
          if (transfer.kind == collectives::Transfer::Kind::receive_and_reduce) expected.reduced += bytes;
        }
      EXPECT_EQ(context.sends, expected.sends);
      EXPECT_EQ(context.sent, expected.sent);
      EXPECT_EQ(context.received, expected.received);
      EXPECT_EQ(context.reduced, expected.reduced);
    }
}

TEST_P(AllReducesOf, AllocateNothingAfterTheFirstUse) {
  CountingContext context(2, 7);
  AllReduces all_reduces(context, make(), first_ranks(7), sizes_of({100}), Channel{});
  std::vector<float> vector(100, 1.0F);
  all_reduces.start(0, slice_of(vector));
  all_reduces.finish();
  const long before = testing::allocations();
  for (int step = 0; step < 10; ++step) {
    all_reduces.start(0, slice_of(vector));
    all_reduces.finish();
  }
  EXPECT_EQ(testing::allocations() - before, 0);
  EXPECT_GT(before, 0);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, AllReducesOf, ::testing::ValuesIn(collectives::catalog().names()),
                         testing::catalog_name);

using Half = compression::Fp16;

/// One bucket of 16-bit floats that are summed, one of bytes that are gathered, and one of floats.
TEST_P(AllReducesOf, SupportOtherElementsThanFloats) {
  constexpr int ranks = 5;
  const std::span<const Rank> members = first_ranks(ranks);
  const std::vector<Bytes> sizes = {Bytes(2 * 7), Bytes(3 * ranks), Bytes(4 * 9)};
  const std::vector<collectives::Element> elements = {collectives::fp16_element, collectives::byte_element,
                                                      collectives::float_element};
  for (const auto seed : testing::seeds(10)) {
    TANDEM_TRACE_SEED(seed);
    std::atomic<int> wrong{0};
    FakeWorld(ranks, seed).run([&](Context& context) {
      const Rank self = context.rank();
      AllReduces::Schedules schedules = {make()(self, ranks, 7), collectives::ring_gather(self, ranks, 3),
                                         make()(self, ranks, 9)};
      AllReduces all_reduces(context, std::move(schedules), members, sizes, Channel{}, elements);
      std::vector<std::uint16_t> halves(7, Half::narrow(static_cast<float>(100 * (self + 1))));
      std::vector<std::byte> bytes(3 * ranks);
      for (std::size_t i = 0; i < 3; ++i) bytes[3 * static_cast<std::size_t>(self) + i] = std::byte(self + 1);
      std::vector<float> floats = contributions(self, 0, 2, 9);
      all_reduces.start(0, {sizes[0], reinterpret_cast<std::byte*>(halves.data())});
      all_reduces.start(1, {sizes[1], bytes.data()});
      all_reduces.start(2, slice_of(floats));
      all_reduces.finish();
      bool right = halves == std::vector<std::uint16_t>(7, Half::narrow(1500.0F)) &&
                   floats == sum_over(members, 0, 2, 9);
      for (std::size_t i = 0; i < bytes.size(); ++i) right = right && bytes[i] == std::byte(i / 3 + 1);
      if (!right) ++wrong;
    });
    ASSERT_EQ(wrong, 0);
  }
}

TEST(AllReducesDeathTest, MisuseIsAProgrammersError) {
  CountingContext context(0, 2);
  const auto ring = collectives::catalog().find("ring").make;
  AllReduces all_reduces(context, ring, first_ranks(2), sizes_of({8}), Channel{});
  EXPECT_DEATH(all_reduces.start(0, {Bytes(28), nullptr}), "bucket 0 bytes 28 expected 32");
  Pending nothing;
  EXPECT_DEATH(all_reduces.wait_progressing(nothing), "all-reduces in progress 0");
  all_reduces.start(0, {Bytes(32), nullptr});
  EXPECT_DEATH(all_reduces.start(0, {Bytes(32), nullptr}), "bucket 0");
  all_reduces.finish();
  const std::vector<Rank> others = {1, 2};
  EXPECT_DEATH(AllReduces(context, ring, others, sizes_of({8}), Channel{}), "rank 0 members 2");
}

}  // namespace TANDEM_FILE
}  // namespace tandem
