// Memory that the ranks of a node share: blocks are read back unchanged, freed space is reused, and messages
// that do not fit use MPI.
#include "runtime/mpi/node_memory.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <stdexcept>
#include <thread>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/mpi_context.hpp"
#include "tests/runtime/mpi/mpi_device.hpp"
#include "tests/support/numbered_note.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::Block;
using testing::filled;
using testing::noted;
using testing::numbered_note;
using testing::plain;
using testing::slice_of;

int rank_of_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// Reads a block that this rank has written for itself.
Block taken(NodeMemory& memory, std::int64_t place, std::size_t size) {
  Block bytes(size);
  memory.take(rank_of_world(), place, bytes.data(), static_cast<std::int64_t>(size),
              [] { std::this_thread::yield(); });
  return bytes;
}

std::optional<std::int64_t> put(NodeMemory& memory, const Block& bytes) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  const auto place = memory.reserve(size);
  if (place) memory.put(*place, bytes.data(), size);
  return place;
}

/// Room of a memory that a few messages fill.
constexpr Bytes soon_full{std::int64_t{16} << 20};

TEST(NodeMemory, BlocksAreReadBackInAnyOrder) {
  NodeMemory memory(MPI_COMM_WORLD, soon_full);
  const unsigned seed = 20261122;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  struct Message {
    Block bytes;
    std::int64_t place;
  };
  std::vector<Message> in_flight;
  int refused = 0;
  for (std::size_t i = 0; i < 3000; ++i) {
    // More blocks are written than read, so that the memory fills up.
    if (random() % 3 > 0) {
      Block bytes =
          filled(rank_of_world(), i,
                 1 + random() % (random() % 8 == 0 ? static_cast<std::size_t>(memory.largest()) : 70'000));
      const auto place = put(memory, bytes);
      if (place)
        in_flight.push_back({std::move(bytes), *place});
      else
        ++refused;
    } else if (!in_flight.empty()) {
      std::swap(in_flight[random() % in_flight.size()], in_flight.back());
      const Message& message = in_flight.back();
      ASSERT_EQ(taken(memory, message.place, message.bytes.size()), message.bytes) << "message " << i;
      in_flight.pop_back();
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(NodeMemory, SuccessiveSizesReuseOnePlace) {
  NodeMemory memory(MPI_COMM_WORLD);
  const auto first = put(memory, filled(0, 0, 300'000));
  ASSERT_TRUE(first);
  taken(memory, *first, 300'000);
  for (const std::size_t size : {300'000, 299'999, 20'000}) {
    const auto place = put(memory, filled(0, 1, size));
    EXPECT_EQ(place, first) << size;
    taken(memory, *place, size);
  }
}

TEST(NodeMemory, IsPartitionedAnewWhenEmpty) {
  NodeMemory memory(MPI_COMM_WORLD, soon_full);
  std::vector<std::int64_t> places;
  while (const auto place = put(memory, filled(0, 0, 50'000))) places.push_back(*place);
  EXPECT_GE(places.size(), 4 * static_cast<std::size_t>(memory.largest() / (13 * 4096)));
  const Block large = filled(0, 1, static_cast<std::size_t>(memory.largest()));
  for (const std::int64_t place : places) {
    EXPECT_FALSE(put(memory, large));
    taken(memory, place, 50'000);
  }
  const auto place = put(memory, large);
  ASSERT_TRUE(place);
  EXPECT_EQ(taken(memory, *place, large.size()), large);
  EXPECT_FALSE(put(memory, filled(0, 2, large.size() + 1)));
}

TEST(NodeMemory, AloneReachesNoOtherRank) {
  NodeMemory memory(MPI_COMM_SELF);
  EXPECT_FALSE(memory.reaches(0));
  EXPECT_EQ(memory.largest(), 0);
  EXPECT_FALSE(put(memory, filled(0, 0, 100'000)));
}

TEST(NodeMemory, MessagesWithoutRoomUseMpi) {
  const auto memory = std::make_shared<NodeMemory>(MPI_COMM_WORLD, soon_full);
  MpiContext context(MPI_COMM_WORLD, {.node_memory = memory});
  const Rank next = (context.rank() + 1) % context.world_size();
  const Rank previous = (context.rank() + context.world_size() - 1) % context.world_size();
  // A few messages fill the memory, one is larger than it, and none is received before all are sent.
  const auto largest = static_cast<std::size_t>(memory->largest());
  std::vector<std::size_t> sizes(16, largest);
  sizes.insert(sizes.begin() + 3, largest + 1);
  for (const Channel channel : {plain, noted}) {
    std::vector<Block> sent;
    std::vector<Block> received;
    std::vector<Pending> pendings;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      sent.push_back(filled(context.rank(), i, sizes[i]));
      pendings.push_back(
          context.send(next, channel, slice_of(sent.back()), numbered_note(static_cast<std::int64_t>(i))));
    }
    context.meet();
    for (const std::size_t size : sizes) received.emplace_back(size);
    for (auto& bytes : received) pendings.push_back(context.receive(previous, channel, slice_of(bytes)));
    context.wait_all(pendings);
    for (std::size_t i = 0; i < sizes.size(); ++i)
      EXPECT_EQ(received[i], filled(previous, i, sizes[i])) << "message " << i;
  }
}

TEST(NodeMemory, AModelledMessageNeedsNoMemory) {
  MpiContext context(MPI_COMM_WORLD, {.node_memory = std::make_shared<NodeMemory>(MPI_COMM_WORLD)});
  const Rank next = (context.rank() + 1) % context.world_size();
  const Rank previous = (context.rank() + context.world_size() - 1) % context.world_size();
  const Slice modelled{Bytes(1'000'000)};
  std::vector<Pending> pendings;
  pendings.push_back(context.receive(previous, plain, modelled));
  pendings.push_back(context.send(next, plain, modelled, {}));
  context.wait_all(pendings);
}

using enum NodeRoute;

TEST(NodeRoutes, AreTheFastestOnesAndSharedMemoryAmongEquals) {
  const NodeRoutes routes = fastest_routes({{Bytes(16 << 10), {1.0, 2.0, 3.0}},
                                            {Bytes(64 << 10), {1.0, 2.0, 3.0}},
                                            {Bytes(256 << 10), {1.0, 1.04, 2.0}},
                                            {Bytes(1 << 20), {3.0, 2.0, 1.0}}});
  // Half-way between two sizes, by ratio.
  EXPECT_EQ(routes.rows(),
            (std::vector<NodeRoutes::Row>{
                {Bytes(128 << 10), library}, {Bytes(512 << 10), shared}, {Bytes(1 << 20), streamed}}));
  EXPECT_EQ(routes.of(Bytes(1)), library);
  EXPECT_EQ(routes.of(Bytes(128 << 10)), library);
  EXPECT_EQ(routes.of(Bytes((128 << 10) + 1)), shared);
  EXPECT_EQ(routes.of(Bytes(1 << 30)), streamed);
  EXPECT_EQ(NodeRoutes().of(Bytes(1)), shared);
}

TEST(NodeRoutes, MessagesAboveTheFirstSizeOfMpiMayWaitForTheirReceiver) {
  const Bytes largest(1 << 20);
  const Bytes of_mpi(4096);
  EXPECT_EQ(NodeRoutes().eager_limit(largest, of_mpi), largest);
  EXPECT_EQ(NodeRoutes({{Bytes(100), shared}, {Bytes(200), streamed}}).eager_limit(largest, of_mpi), largest);
  EXPECT_EQ(NodeRoutes({{Bytes(9000), shared}, {Bytes(20000), library}}).eager_limit(largest, of_mpi),
            Bytes(9000));
  EXPECT_EQ(NodeRoutes({{Bytes(20000), library}, {Bytes(30000), shared}}).eager_limit(largest, of_mpi),
            of_mpi);
}

TEST(NodeRoutes, AProbeGivesAllRanksTheSame) {
  NodeMemory memory(MPI_COMM_WORLD);
  const NodeRoutes routes = probe_node_routes(MPI_COMM_WORLD, memory);
  ASSERT_FALSE(routes.rows().empty());
  std::uint64_t own = 0;
  for (const auto& [up_to, route] : routes.rows())
    own = own * 31 + static_cast<std::uint64_t>(up_to.count()) * node_route_names.size() +
          static_cast<std::uint64_t>(route);
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  MPI_Allreduce(&own, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&own, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  EXPECT_EQ(least, most);
}

/// A size stands for messages above half of it.
TEST(NodeRoutes, AProbeLeavesOutSizesThatNobodySends) {
  NodeMemory memory(MPI_COMM_WORLD);
  EXPECT_TRUE(probe_node_routes(MPI_COMM_WORLD, memory, Bytes(8 << 10)).rows().empty());
  const auto last_of = [&](std::int64_t message) {
    return probe_node_routes(MPI_COMM_WORLD, memory, Bytes(message)).rows().back().up_to;
  };
  EXPECT_EQ(last_of((8 << 10) + 1), Bytes(16 << 10));
  EXPECT_EQ(last_of(32 << 10), Bytes(16 << 10));
  EXPECT_EQ(last_of((32 << 10) + 1), Bytes(64 << 10));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
