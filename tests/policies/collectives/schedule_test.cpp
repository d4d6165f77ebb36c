// Every all-reduce schedule of the catalogue, executed by all participants in lockstep: well formed, with
// matching sends and receives, and with each contribution exactly once in each result.
#include "policies/collectives/schedule.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <string>

#include "policies/collectives/shapes.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/policies/collectives/schedules.hpp"
#include "tests/support/names.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::collectives {
namespace TANDEM_FILE {

/// How often each participant's contribution is in a partial sum.
using Counts = std::array<std::uint8_t, most_participants>;

void add(Counts& sum, const Counts& counts) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<std::uint8_t>(sum[i] + counts[i]);
}
void add(float& sum, float value) { sum += value; }

bool overlap(const Piece& a, const Piece& b) { return a.begin < b.end && b.begin < a.end; }

/// Whether the participant sends a piece to the peer from which it receives the same piece to reduce it.
bool exchanged(const Transfer& received, const Transfer& sent) {
  return received.kind == Transfer::Kind::receive_and_reduce && sent.kind == Transfer::Kind::send &&
         received.peer == sent.peer && received.piece == sent.piece;
}

/// The guarantees of schedule.hpp for one participant's round.
void expect_well_formed(const Round& round, int self, int size, std::int64_t elements) {
  for (std::size_t i = 0; i < round.size(); ++i) {
    const Transfer& transfer = round[i];
    EXPECT_GT(transfer.piece.size(), 0);
    EXPECT_GE(transfer.piece.begin, 0);
    EXPECT_LE(transfer.piece.end, elements);
    EXPECT_TRUE(0 <= transfer.peer && transfer.peer < size && transfer.peer != self);
    for (std::size_t j = 0; j < round.size(); ++j) {
      if (i == j) continue;
      if (receives(transfer) && !exchanged(transfer, round[j])) {
        EXPECT_FALSE(overlap(transfer.piece, round[j].piece));
      }
      if (receives(transfer) == receives(round[j]) && transfer.peer == round[j].peer) {
        EXPECT_FALSE(overlap(transfer.piece, round[j].piece));
      }
    }
  }
}

/// The transfer at the other end: messages from one participant to another arrive in order.
std::optional<Transfer> counterpart(const Round& round, int peer, bool receiving, int number) {
  for (const auto& transfer : round)
    if (transfer.peer == peer && receives(transfer) == receiving && number-- == 0) return transfer;
  return std::nullopt;
}

template <class Value>
void apply(const Transfer& transfer, const std::vector<Value>& sender, std::vector<Value>& receiver) {
  for (auto element = static_cast<std::size_t>(transfer.piece.begin);
       element < static_cast<std::size_t>(transfer.piece.end); ++element) {
    if (transfer.kind == Transfer::Kind::receive)
      receiver[element] = sender[element];
    else
      add(receiver[element], sender[element]);
  }
}

/// All participants execute the rounds in lockstep; a send transfers the value at the start of the round.
template <class Value>
void execute(const std::vector<Schedule>& schedules, std::int64_t elements,
             std::vector<std::vector<Value>>& vectors) {
  const int size = static_cast<int>(schedules.size());
  for (std::size_t number = 0; number < schedules.front().rounds.size(); ++number) {
    SCOPED_TRACE("round " + std::to_string(number));
    const auto before = vectors;
    for (int self = 0; self < size; ++self) {
      SCOPED_TRACE("participant " + std::to_string(self));
      const Round& round = schedules[static_cast<std::size_t>(self)].rounds[number];
      expect_well_formed(round, self, size, elements);
      std::map<std::pair<int, bool>, int> before_it;
      for (const auto& transfer : round) {
        const auto peer = static_cast<std::size_t>(transfer.peer);
        const auto other = counterpart(schedules[peer].rounds[number], self, !receives(transfer),
                                       before_it[{transfer.peer, receives(transfer)}]++);
        ASSERT_TRUE(other) << "no counterpart at " << peer;
        ASSERT_EQ(other->piece, transfer.piece);
        if (receives(transfer)) apply(transfer, before[peer], vectors[static_cast<std::size_t>(self)]);
      }
    }
  }
}

void expect_each_contribution_once(const std::vector<Schedule>& schedules, std::int64_t elements) {
  Counts everyone{};
  std::fill_n(everyone.begin(), schedules.size(), std::uint8_t{1});
  for (const auto& schedule : schedules) ASSERT_EQ(schedule.rounds.size(), schedules.front().rounds.size());
  std::vector<std::vector<Counts>> vectors;
  for (std::size_t self = 0; self < schedules.size(); ++self) {
    Counts own{};
    own[self] = 1;
    vectors.emplace_back(static_cast<std::size_t>(elements), own);
  }
  execute(schedules, elements, vectors);
  for (const auto& vector : vectors)
    ASSERT_TRUE(std::all_of(vector.begin(), vector.end(), [&](const auto& c) { return c == everyone; }));
}

void expect_each_contribution_once(MakeSchedule make, const Groups& groups, std::int64_t elements) {
  SCOPED_TRACE("size " + std::to_string(groups.participants()) + " elements " + std::to_string(elements));
  expect_each_contribution_once(schedules_of(make, groups, elements), elements);
}

/// Sums of thirds, which depend on the order of additions.
void expect_the_same_bits(const std::vector<Schedule>& schedules, std::int64_t elements) {
  std::vector<std::vector<float>> vectors(schedules.size());
  for (std::size_t self = 0; self < vectors.size(); ++self)
    for (std::int64_t element = 0; element < elements; ++element)
      vectors[self].push_back(static_cast<float>((7 * self + 1) * static_cast<std::size_t>(element + 1)) / 3);
  execute(schedules, elements, vectors);
  for (const auto& vector : vectors) ASSERT_EQ(vector, vectors.front());
}

void expect_the_same_bits(MakeSchedule make, const Groups& groups, std::int64_t elements) {
  SCOPED_TRACE("size " + std::to_string(groups.participants()) + " elements " + std::to_string(elements));
  expect_the_same_bits(schedules_of(make, groups, elements), elements);
}

/// Up to 33 participants in groups of any sizes.
Groups random_groups(std::uint64_t seed) {
  Rng rng(seed);
  const int participants = 1 + static_cast<int>(rng.below(most_participants));
  std::vector<int> sizes;
  for (int left = participants; left > 0; left -= sizes.back())
    sizes.push_back(1 + static_cast<int>(rng.below(static_cast<std::uint64_t>(left))));
  return Groups(sizes);
}

/// The participants in a random order.
Arrangement random_arrangement(const Groups& groups, Rng& rng) {
  Arrangement arrangement{.order = {}, .groups = groups.sizes()};
  for (int i = 0; i < groups.participants(); ++i) arrangement.order.push_back(i);
  rng.shuffle(arrangement.order);
  return arrangement;
}

class AllReduceSchedule : public ::testing::TestWithParam<std::string> {
 protected:
  MakeSchedule make() const { return catalog().find(GetParam()).make; }
};

TEST_P(AllReduceSchedule, GivesEveryParticipantEachContributionExactlyOnce) {
  for (int size = 1; size <= most_participants; ++size)
    for (const std::int64_t elements : element_counts(size)) {
      expect_each_contribution_once(make(), size, elements);
      if (HasFailure()) return;
    }
}

TEST_P(AllReduceSchedule, GivesEveryParticipantTheSameBits) {
  for (int size = 1; size <= most_participants; ++size) {
    expect_the_same_bits(make(), size, 97);
    if (HasFailure()) return;
  }
}

TEST_P(AllReduceSchedule, GivesEachContributionOnceInAnyCopies) {
  for (const auto seed : testing::seeds(10)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const Groups groups = random_groups(seed);
    std::vector<Arrangement> arrangements;
    const auto count = 2 + rng.below(4);
    while (arrangements.size() < count) arrangements.push_back(random_arrangement(groups, rng));
    const Schedules of = in_copies(make(), arrangements);
    for (const std::int64_t elements : {0, 1, groups.participants() + 1, 97}) {
      SCOPED_TRACE(std::to_string(arrangements.size()) + " copies, elements " + std::to_string(elements));
      std::vector<Schedule> schedules;
      for (int self = 0; self < groups.participants(); ++self) schedules.push_back(of(self, elements));
      expect_each_contribution_once(schedules, elements);
      expect_the_same_bits(schedules, elements);
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, AllReduceSchedule, ::testing::ValuesIn(catalog().names()),
                         testing::catalog_name);

TEST(DoubleTree, GivesEachContributionOnceInManyChunks) {
  constexpr std::int64_t elements = 50'003;
  for (const int size : {4, 7, 8, 13}) {
    EXPECT_GT(double_tree_chunks(size, elements), 1);
    expect_each_contribution_once(double_tree, size, elements);
  }
  expect_the_same_bits(double_tree, most_participants, elements);
}

TEST(PipelinedRing, GivesEachContributionOnceInChunks) {
  constexpr std::int64_t elements = 200'003;
  EXPECT_EQ(pipelined_ring(0, 3, elements).rounds.front().size(), 8U) << "four chunks out, four in";
  for (const int size : {2, 3, 5}) {
    expect_each_contribution_once(pipelined_ring, size, elements);
    expect_the_same_bits(pipelined_ring, size, elements);
  }
}

TEST(PipelinedRing, IsARingForSmallPieces) {
  EXPECT_EQ(pipelined_ring(2, 4, 4 * 16384).rounds, ring(2, 4, 4 * 16384).rounds);
}

TEST(Copies, WorkOnEqualPartsInTheirOwnOrders) {
  using Kind = Transfer::Kind;
  const std::vector<Arrangement> both = {{{0, 1, 2}, {3}}, {{2, 1, 0}, {3}}};
  const Schedule schedule = in_copies(ring, both)(0, 12);
  // The first copy sums elements [0, 6) clockwise, the second one [6, 12) the other way.
  EXPECT_EQ(schedule.rounds.front(), (Round{{Kind::send, 1, {0, 2}},
                                            {Kind::receive_and_reduce, 2, {4, 6}},
                                            {Kind::send, 2, {10, 12}},
                                            {Kind::receive_and_reduce, 1, {8, 10}}}));
  EXPECT_EQ(in_copies(ring, std::span(both).first(1))(1, 12).rounds, ring(1, 3, 12).rounds);
}

TEST(BinaryBlocks, AreHalvingAndDoublingForPowersOfTwo) {
  for (int size = 1; size <= 32; size *= 2)
    for (const std::int64_t elements : element_counts(size))
      for (int self = 0; self < size; ++self)
        EXPECT_EQ(binary_blocks(self, size, elements).rounds, halving_doubling(self, size, elements).rounds)
            << self << " of " << size << " elements " << elements;
}

TEST(BinaryBlocks, PassSegmentsUpAndResultsDown) {
  using Kind = Transfer::Kind;
  // Of three participants, the last is a block of its own, which holds the whole vector.
  const std::vector<Round> expected = {
      {},
      {{Kind::send, 0, {0, 4}}},
      {{Kind::send, 1, {4, 7}}},
      {{Kind::receive, 0, {0, 4}}},
      {{Kind::receive, 1, {4, 7}}},
      {},
  };
  EXPECT_EQ(binary_blocks(2, 3, 7).rounds, expected);
}

TEST(DoubleTree, OfTwoParticipantsSendsOneHalfEachWay) {
  using Kind = Transfer::Kind;
  const std::vector<Round> expected = {
      {},
      {{Kind::send, 1, {0, 4}}, {Kind::receive_and_reduce, 1, {4, 7}}},
      {{Kind::send, 1, {4, 7}}, {Kind::receive, 1, {0, 4}}},
      {},
  };
  EXPECT_EQ(double_tree(0, 2, 7).rounds, expected);
}

TEST(Hierarchical, GivesEachContributionOnceInAnyGroups) {
  for (const auto seed : testing::seeds(60)) {
    TANDEM_TRACE_SEED(seed);
    const Groups groups = random_groups(seed);
    for (const std::int64_t elements : element_counts(groups.participants()))
      expect_each_contribution_once(hierarchical, groups, elements);
    expect_the_same_bits(hierarchical, groups, 97);
    if (HasFailure()) return;
  }
}

TEST(Hierarchical, SendsAndReceivesOneMessageAtATime) {
  for (const auto seed : testing::seeds(60)) {
    TANDEM_TRACE_SEED(seed);
    const Groups groups = random_groups(seed);
    for (const auto& schedule : schedules_of(hierarchical, groups, 997))
      for (const Round& round : schedule.rounds) {
        const auto received = std::count_if(round.begin(), round.end(), receives);
        EXPECT_LE(received, 1);
        EXPECT_LE(static_cast<std::ptrdiff_t>(round.size()) - received, 1);
      }
  }
}

TEST(Hierarchical, IsARingForASingleGroupOrGroupsOfOne) {
  EXPECT_EQ(hierarchical(2, Groups({1, 1, 1, 1}), 103).rounds, ring(2, 4, 103).rounds);
  EXPECT_EQ(hierarchical(2, 4, 103).rounds.size(), ring(2, 4, 103).rounds.size());
}

TEST(Hierarchical, OfTwoPairsSumsHalvesAcross) {
  using Kind = Transfer::Kind;
  const std::vector<Round> expected = {
      {{Kind::send, 1, {4, 8}}, {Kind::receive_and_reduce, 1, {0, 4}}},
      {{Kind::send, 2, {0, 2}}, {Kind::receive_and_reduce, 2, {2, 4}}},
      {{Kind::send, 2, {2, 4}}, {Kind::receive, 2, {0, 2}}},
      {{Kind::send, 1, {0, 4}}, {Kind::receive, 1, {4, 8}}},
  };
  EXPECT_EQ(hierarchical(0, Groups({2, 2}), 8).rounds, expected);
}

TEST(Hierarchical, WithALoneParticipantGathersTheVectorFirst) {
  using Kind = Transfer::Kind;
  // Two members reduce halves, the second sends its half to the first, which exchanges with the lone
  // participant.
  const std::vector<Round> expected = {
      {{Kind::send, 0, {0, 4}}, {Kind::receive_and_reduce, 0, {4, 8}}},
      {},
      {{Kind::send, 0, {4, 8}}},
      {},
      {},
      {{Kind::receive, 0, {4, 8}}},
      {},
      {{Kind::send, 0, {4, 8}}, {Kind::receive, 0, {0, 4}}},
  };
  EXPECT_EQ(hierarchical(1, Groups({2, 1}), 8).rounds, expected);
}

TEST(Arranged, GivesEachContributionOnceInAnyOrder) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    const Groups groups = random_groups(seed);
    Rng rng(seed);
    const Arrangement arrangement = random_arrangement(groups, rng);
    for (const auto& entry : catalog().entries()) {
      const Schedules by_participant = arranged(entry.make, arrangement);
      std::vector<Schedule> schedules;
      for (int self = 0; self < groups.participants(); ++self) schedules.push_back(by_participant(self, 97));
      std::vector<std::vector<float>> vectors;
      for (int self = 0; self < groups.participants(); ++self)
        vectors.emplace_back(97, static_cast<float>(1 << (self % 16)));
      const float sum = std::accumulate(vectors.begin(), vectors.end(), 0.0F,
                                        [](float all, const auto& vector) { return all + vector.front(); });
      execute(schedules, 97, vectors);
      for (const auto& vector : vectors) ASSERT_EQ(vector, std::vector<float>(97, sum)) << entry.name;
    }
  }
}

TEST(Arranged, TheFirstOfTheOrderActsAsParticipantZero) {
  const Arrangement arrangement{.order = {2, 0, 1}, .groups = {3}};
  const Schedule schedule = arranged(MakeSchedule(ring), arrangement)(2, 7);
  EXPECT_EQ(schedule.rounds.front().front(), (Transfer{Transfer::Kind::send, 0, {0, 3}}));
  EXPECT_EQ(schedule.rounds.front().back(), (Transfer{Transfer::Kind::receive_and_reduce, 1, {5, 7}}));
}

TEST(Among, KeepsTheOrderAndGroupsOfTheMembers) {
  const Arrangement all{.order = {4, 0, 2, 5, 1, 3}, .groups = {2, 3, 1}};
  const std::vector<int> members = {1, 2, 3, 5};
  const Arrangement left = among(all, members);
  EXPECT_EQ(left.order, (std::vector<int>{1, 3, 0, 2}));  // 2, 5, 1, 3
  EXPECT_EQ(left.groups, (std::vector<int>{3, 1}));
}

TEST(Ring, IsTheTextbookRing) {
  using Kind = Transfer::Kind;
  const Schedule schedule = catalog().find("ring").make(0, 3, 7);  // pieces [0,3) [3,5) [5,7)
  const std::vector<Round> expected = {
      {{Kind::send, 1, {0, 3}}, {Kind::receive_and_reduce, 2, {5, 7}}},
      {{Kind::send, 1, {5, 7}}, {Kind::receive_and_reduce, 2, {3, 5}}},
      {{Kind::send, 1, {3, 5}}, {Kind::receive, 2, {0, 3}}},
      {{Kind::send, 1, {0, 3}}, {Kind::receive, 2, {5, 7}}},
  };
  EXPECT_EQ(schedule.rounds, expected);
}

TEST(PartOf, SplitsIntoContiguousPartsWhoseSizesDifferByAtMostOne) {
  for (const std::int64_t elements : {0, 1, 2, 7, 32, 33, 1000})
    for (int parts = 1; parts <= most_participants; ++parts) {
      std::int64_t begin = 0;
      std::int64_t previous = elements / parts + 1;
      for (int index = 0; index < parts; ++index) {
        const Piece piece = part_of(elements, parts, index);
        EXPECT_EQ(piece.begin, begin);
        EXPECT_LE(piece.size(), previous);
        EXPECT_GE(piece.size(), elements / parts);
        begin = piece.end;
        previous = piece.size();
      }
      EXPECT_EQ(begin, elements);
    }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::collectives
