// `price` against the closed forms of the literature. The cost parameters are powers of two, so that both
// sides are exact and compared for equality.
#include <gtest/gtest.h>

#include <algorithm>

#include "policies/collectives/nccl.hpp"
#include "policies/collectives/shapes.hpp"
#include "tests/policies/collectives/schedules.hpp"

namespace tandem::collectives {
namespace TANDEM_FILE {

constexpr double alpha = 0x1p-16;
constexpr double beta = 0x1p-30;
constexpr double gamma = 0x1p-32;
const LinkCost cost{Seconds(alpha), beta, gamma};
constexpr Bytes float_size{4};

double priced(const char* name, int size, std::int64_t elements) {
  return price(catalog().find(name).make, size, elements, float_size, cost).count();
}

TEST(Price, OfARingHasTheClosedForm) {
  for (int size = 1; size <= 33; ++size) {
    const std::int64_t elements = 96L * size;
    const double rounds = size - 1;
    const double part_bytes = 96 * 4;
    const double expected = 2 * rounds * alpha + 2 * rounds * part_bytes * beta + rounds * part_bytes * gamma;
    EXPECT_EQ(priced("ring", size, elements), expected) << "size " << size;
  }
}

TEST(Price, OfManyIsThatOfTheirSchedules) {
  for (const char* name :
       {"ring", "pipelined-ring", "halving-doubling", "recursive-doubling", "tree", "hierarchical"}) {
    const MakeSchedule& make = catalog().find(name).make;
    const PriceOfFew few = [&](int size, std::int64_t elements) {
      return price(make, size, elements, float_size, cost);
    };
    for (int size = 2; size <= 33; ++size) {
      const std::int64_t elements = 65536L * size;  // pieces of a ring have chunks
      const auto found = cost_of_many(make, size, elements, few);
      ASSERT_TRUE(found) << name;
      EXPECT_DOUBLE_EQ(found->time.count(), priced(name, size, elements)) << name << " of " << size;
      std::int64_t sent = 0;
      const Schedules schedules = make.schedules(size);
      for (int self = 0; self < size; ++self) sent += extent_of(schedules(self, elements)).sent;
      EXPECT_EQ(found->sent, sent) << name << " of " << size;
    }
  }
}

/// 512 MB over 256 ranks of 50 GB/s: 510 steps of a latency and 40 us.
TEST(Price, OfALargeRingIsThatOfPublicSimulators) {
  struct Case {
    double latency_s, expected_s;
  };
  for (const auto& [latency_s, expected_s] : {Case{2e-6, 21.42e-3}, Case{6e-6, 23.46e-3}})
    EXPECT_NEAR(
        price(catalog().find("ring").make, 256, 128'000'000, float_size, {Seconds(latency_s), 1 / 50e9, 0.0})
            .count(),
        expected_s, 1e-9);
}

/// Each rank sends and receives 2 (p - 1) / p of the vector: 3.5 ms of 100 MB over 8 ranks of 50 GB/s.
TEST(Price, IsNotBelowTheBoundOfBandwidth) {
  const LinkCost bandwidth_alone{Seconds(0.0), 1 / 50e9, 0.0};
  constexpr double bound_s = 3.5e-3, rounding = 1e-12;
  for (const auto& entry : catalog().entries())
    EXPECT_GE(price(entry.make, 8, 25'000'000, float_size, bandwidth_alone).count(), bound_s - rounding)
        << entry.name;
  EXPECT_NEAR(price(catalog().find("ring").make, 8, 25'000'000, float_size, bandwidth_alone).count(), bound_s,
              rounding);
}

/// A step that reduces takes the longer of transfer and reduction, and one chunk of the other.
TEST(Price, OfAPipelinedRingHasTheClosedForm) {
  constexpr double slow_gamma = 0x1p-28;
  constexpr double piece = 4 * 65536 * 4;
  for (int size = 1; size <= 9; ++size)
    for (const double own_gamma : {gamma, beta, slow_gamma}) {
      const double step =
          std::max(piece * beta + piece / 4 * own_gamma, piece / 4 * beta + piece * own_gamma);
      const double expected = (size - 1) * (alpha + step) + (size - 1) * (alpha + piece * beta);
      const LinkCost own{Seconds(alpha), beta, own_gamma};
      EXPECT_EQ(price(pipelined_ring, size, 4 * 65536L * size, float_size, own).count(), expected)
          << "size " << size;
    }
}

TEST(Price, HasTheStartOnce) {
  const LinkCost with_start{Seconds(alpha), beta, gamma, Seconds(0x1p-8)};
  for (int size = 1; size <= 9; ++size)
    for (const auto& entry : catalog().entries())
      EXPECT_DOUBLE_EQ(price(entry.make, size, 1000, float_size, with_start).count(),
                       (size > 1 ? 0x1p-8 : 0.0) + price(entry.make, size, 1000, float_size, cost).count())
          << entry.name;
}

TEST(Price, OfHalvingDoublingHasTheClosedFormWithTheFold) {
  for (int size = 1; size <= 33; ++size) {
    const int acting = acting_of(size);
    const std::int64_t elements = 96L * acting;
    const double levels = floor_lg(size);
    const double bytes = static_cast<double>(elements) * 4;
    const double scattered = 96.0 * 4 * (acting - 1);
    const double fold = size > acting ? 1 : 0;
    const double expected = (2 * levels + 2 * fold) * alpha + (2 * scattered + 2 * fold * bytes) * beta +
                            (scattered + fold * bytes) * gamma;
    EXPECT_EQ(priced("halving-doubling", size, elements), expected) << "size " << size;
  }
}

TEST(Price, OfRecursiveDoublingHasTheClosedFormWithTheFold) {
  for (int size = 1; size <= 33; ++size) {
    const double levels = floor_lg(size);
    const double bytes = 1000 * 4;
    const double fold = size > acting_of(size) ? 1 : 0;
    EXPECT_EQ(priced("recursive-doubling", size, 1000),
              (levels + 2 * fold) * (alpha + bytes * beta) + (levels + fold) * bytes * gamma)
        << "size " << size;
  }
}

TEST(Price, OfATreeHasTheClosedForm) {
  for (int size = 1; size <= 33; ++size) {
    const double levels = ceil_lg(size);
    const double bytes = 1000 * 4;
    EXPECT_EQ(priced("tree", size, 1000), 2 * levels * (alpha + bytes * beta) + levels * bytes * gamma)
        << "size " << size;
  }
}

/// The closed form of Rabenseifner and Träff, which assumes that pairs of blocks communicate one after
/// another.
double binary_blocks_in_turn(const std::vector<int>& exponents, double bytes) {
  const double scattered = bytes - bytes / (1 << exponents.front());
  double expected = 2 * exponents.front() * alpha + 2 * scattered * beta + scattered * gamma;
  for (std::size_t smaller = 1; smaller < exponents.size(); ++smaller) {
    const double ratio = 1 << (exponents[smaller - 1] - exponents[smaller]);
    const double segment = bytes / (1 << exponents[smaller]);
    expected += 2 * (ratio * alpha + segment * beta) + segment / ratio * gamma;
  }
  return expected;
}

TEST(Price, OfBinaryBlocksHasTheClosedForm) {
  for (int size = 1; size <= 33; ++size) {
    const std::vector<int> exponents = block_exponents(size);
    const double bytes = (96 << exponents.front()) * 4;
    const double in_turn = binary_blocks_in_turn(exponents, bytes);
    const double price = priced("binary-blocks", size, 96L << exponents.front());
    // While the last participant of the larger block reduces, the first one already sends its result back.
    const double hidden = 96 * 4 * gamma;
    if (exponents.size() == 1)
      EXPECT_EQ(price, in_turn) << "size " << size;
    else if (exponents.size() == 2)
      EXPECT_EQ(price, in_turn - hidden) << "size " << size;
    else  // some pairs of blocks communicate concurrently
      EXPECT_LT(price, in_turn - hidden) << "size " << size;
  }
}

/// 2 (h + m - 1) rounds up, which reduce, and as many down, each of one chunk; all as long as the largest.
double double_tree_in_full(int size, std::int64_t elements) {
  const int chunks = double_tree_chunks(size, elements);
  const double rounds = 2 * (floor_lg(size) + chunks - 1);
  const double bytes = 4 * static_cast<double>(part_of(elements / 2, chunks, 0).size());
  return rounds * (2 * (alpha + bytes * beta) + bytes * gamma);
}

TEST(Price, OfADoubleTreeHasTheClosedForm) {
  constexpr std::int64_t elements = 1 << 20;  // 16 equal chunks per tree among 8 to 15, one among 3
  for (const int size : {3, 13, 15})
    EXPECT_EQ(priced("double-tree", size, elements), double_tree_in_full(size, elements)) << "size " << size;
  // If every path down to a last leaf contains an edge that changes colour, the pipeline fills sooner.
  for (int size = 2; size <= 33; ++size)
    EXPECT_LE(priced("double-tree", size, elements), double_tree_in_full(size, elements)) << "size " << size;
}

TEST(Price, OfADoubleTreeIsMinimalAtItsNumberOfChunks) {
  // With these parameters, a latency costs as much as 4096 elements, as the schedule assumes.
  const double bytes = (1 << 20) * 4;
  const auto one_way = [&](double chunks) {
    return (3 + chunks - 1) * (alpha + bytes / (2 * chunks) * beta);
  };
  for (int chunks = 1; chunks < 100; ++chunks)
    EXPECT_GE(one_way(chunks), one_way(double_tree_chunks(8, 1 << 20)));
}

TEST(Price, OfAHierarchyOfEqualGroupsHasTheClosedForm) {
  for (int members = 1; members <= 6; ++members)
    for (int groups = 1; groups <= 5; ++groups) {
      const std::int64_t elements = 96L * members * groups;
      const double inside = members - 1;
      const double across = groups - 1;
      const double segment = 96.0 * groups * 4;
      const double part = 96.0 * 4;
      const double expected = 2 * (inside * (alpha + segment * beta) + across * (alpha + part * beta)) +
                              inside * segment * gamma + across * part * gamma;
      const Groups equal(std::vector<int>(static_cast<std::size_t>(groups), members));
      EXPECT_EQ(price(hierarchical, equal, elements, float_size, cost).count(), expected)
          << groups << " groups of " << members;
    }
}

TEST(Price, OfAHierarchyHardlyRisesWithOneMemberFewer) {
  const auto priced_for = [](const std::vector<int>& sizes) {
    return price(hierarchical, Groups(sizes), 1 << 20, float_size, cost).count();
  };
  EXPECT_LT(priced_for({16, 15}), 1.2 * priced_for({16, 16}));
  // A lone participant gets the whole vector; gathering it costs the other group at most one more vector.
  const double vector_s = (1 << 22) * (beta + gamma);
  EXPECT_LT(priced_for({16, 1}), priced_for({16}) + 4.2 * vector_s);
}

TEST(Price, OfTwoParticipantsIsEqualForRingAndDoubleTree) {
  EXPECT_EQ(priced("double-tree", 2, 1000), priced("ring", 2, 1000));
}

TEST(Price, OfFoldAndBlocksDependOnTheNumberOfParticipants) {
  // 12 = 8 + 4 favours blocks, 17 = 16 + 1 does not: one participant sends 16 messages in sequence.
  constexpr std::int64_t elements = 96 * 1024;
  EXPECT_LT(priced("binary-blocks", 12, elements), priced("halving-doubling", 12, elements));
  EXPECT_GT(priced("binary-blocks", 17, 96), priced("halving-doubling", 17, 96));
}

TEST(Price, OfUnequalPiecesFollowsTheMessages) {
  // Two participants, three elements: pieces of 8 and 4 bytes. Participant 0 sends the longer one first.
  const double long_message = alpha + 8 * beta;
  const double first_after = long_message;               // participant 0: sending 8 B outlasts reducing 4 B
  const double second_after = long_message + 8 * gamma;  // participant 1: receives 8 B and reduces them
  ASSERT_GT(first_after, alpha + 4 * beta + 4 * gamma);
  EXPECT_EQ(priced("ring", 2, 3), second_after + long_message);
}

Schedule gather_to_first(int self, const Groups& groups, std::int64_t elements) {
  const int size = groups.participants();
  Round round;
  for (int peer = 1; peer < size; ++peer) {
    if (self == 0) round.push_back({Transfer::Kind::receive_and_reduce, peer, part_of(elements, size, peer)});
    if (self == peer) round.push_back({Transfer::Kind::send, 0, part_of(elements, size, peer)});
  }
  return {std::vector<Round>{round}};
}

TEST(Price, SerialisesMessagesToOneReceiver) {
  // Reducing one piece overlaps with receiving the next, so only the last shows.
  EXPECT_EQ(price(gather_to_first, 5, 50, float_size, cost).count(), 4 * (alpha + 40 * beta) + 40 * gamma);
}

TEST(Price, ReducesOnePieceAtATime) {
  const LinkCost slow_processor{Seconds(alpha), beta, 0x1p-10};
  EXPECT_EQ(price(gather_to_first, 5, 50, float_size, slow_processor).count(),
            alpha + 40 * beta + 4 * 40 * 0x1p-10);
}

TEST(Price, OfNothingIsZero) {
  for (const auto& name : catalog().names()) {
    EXPECT_EQ(priced(name.c_str(), 1, 1000), 0.0) << name;
    EXPECT_EQ(priced(name.c_str(), 12, 0), 0.0) << name;
  }
}

/// 9.72 MB at 25 Gb/s and 40 us. A ring: 2 x 31/32 x 9.72 MB / 3.125 GB/s = 6.029 ms, and one latency; of 128
/// ranks, 254 x 40 us and a quarter of 6.175 ms. Trees: 6.223 ms / 0.92, and 10 or 14 latencies.
TEST(Nccl, TakesTheFasterOfItsRingAndItsTrees) {
  struct Case {
    int ranks;
    double bytes, ring_ms, tree_ms;
  };
  constexpr double latency_s = 40e-6, bytes_per_s = 3.125e9, bytes = 9'724'160;
  for (const auto& [ranks, size, ring_ms, tree_ms] : {Case{2, bytes, 3.152, 6.845},
                                                      {32, bytes, 6.069, 7.165},
                                                      {128, bytes, 11.744, 7.325},
                                                      {32, 4'000, 2.521, 0.403}}) {
    const RingCost ring{.transfers = Seconds(2.0 * (ranks - 1) / ranks * size / bytes_per_s),
                        .hops = std::vector(static_cast<std::size_t>(ranks), Seconds(latency_s))};
    EXPECT_NEAR(1e3 * nccl_ring(ring).count(), ring_ms, 1e-3) << ranks;
    EXPECT_NEAR(1e3 * nccl_tree(ring).count(), tree_ms, 1e-3) << ranks;
    const NcclTime chosen = nccl_all_reduce(ring);
    EXPECT_EQ(chosen.algorithm, ring_ms < tree_ms ? "ring" : "tree") << ranks;
    EXPECT_NEAR(1e3 * chosen.time.count(), std::min(ring_ms, tree_ms), 1e-3) << ranks;
  }
}

/// Four machines of eight ranks, 40 us between machines and 4 us inside: 8 x 40 us and (62 - 8) x 4 us around
/// the ring, as in NCCL's graph/tuning.cc. Up and down the trees: 2 x 2 x 40 us, and 2 x 7 x 4 us in the
/// chains.
TEST(Nccl, PaysTheLatencyOfTheNetworkBetweenMachinesAlone) {
  RingCost ring{.transfers = Seconds(0), .hops = {}};
  for (int rank = 1; rank <= 32; ++rank) ring.hops.emplace_back(rank % 8 == 0 ? 40e-6 : 4e-6);
  EXPECT_NEAR(1e6 * nccl_ring(ring).count(), 8 * 40 + 54 * 4 + 40, 1e-6) << "the last slice follows";
  EXPECT_NEAR(1e6 * nccl_tree(ring).count(), 4 * 40 + 14 * 4, 1e-6);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::collectives
