// Every all-reduce schedule of the catalogue, executed by all participants in lockstep: well formed, matched,
// and each contribution in each result exactly once.
#include "policies/collectives/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <string>

#include "tests/support/names.hpp"

namespace tandem::collectives {
namespace {

constexpr int most_participants = 33;
/// How often each participant's contribution is in a partial sum.
using Counts = std::array<std::uint8_t, most_participants>;
using Vector = std::vector<Counts>;

std::vector<Schedule> schedules_of(MakeSchedule make, int size, std::int64_t elements) {
  std::vector<Schedule> schedules;
  for (int self = 0; self < size; ++self) schedules.push_back(make(self, size, elements));
  return schedules;
}

std::set<std::int64_t> element_counts(int size) {
  return {0, 1, 2, 5, std::max(0, size - 1), size, size + 1, 2 * size, 97, 1000};
}

bool overlap(const Piece& a, const Piece& b) { return a.begin < b.end && b.begin < a.end; }

bool receives(const Transfer& transfer) { return transfer.kind != Transfer::Kind::send; }

/// What schedule.hpp promises of one participant's round.
void expect_well_formed(const Round& round, int self, int size, std::int64_t elements) {
  for (std::size_t i = 0; i < round.size(); ++i) {
    const Transfer& transfer = round[i];
    EXPECT_GT(transfer.piece.size(), 0);
    EXPECT_GE(transfer.piece.begin, 0);
    EXPECT_LE(transfer.piece.end, elements);
    EXPECT_TRUE(0 <= transfer.peer && transfer.peer < size && transfer.peer != self);
    for (std::size_t j = 0; j < round.size(); ++j) {
      if (i == j) continue;
      if (receives(transfer)) {
        EXPECT_FALSE(overlap(transfer.piece, round[j].piece));
      }
      if (receives(transfer) == receives(round[j])) {
        EXPECT_NE(transfer.peer, round[j].peer);
      }
    }
  }
}

const Transfer* counterpart(const Round& round, int peer, bool receiving) {
  for (const auto& transfer : round)
    if (transfer.peer == peer && receives(transfer) == receiving) return &transfer;
  return nullptr;
}

void apply(const Transfer& transfer, const Vector& sender, Vector& receiver) {
  for (auto element = static_cast<std::size_t>(transfer.piece.begin);
       element < static_cast<std::size_t>(transfer.piece.end); ++element) {
    if (transfer.kind == Transfer::Kind::receive) {
      receiver[element] = sender[element];
      continue;
    }
    for (std::size_t i = 0; i < most_participants; ++i)
      receiver[element][i] = static_cast<std::uint8_t>(receiver[element][i] + sender[element][i]);
  }
}

/// All participants go through the rounds together; what is sent is the value at the start of the round.
void execute(const std::vector<Schedule>& schedules, std::int64_t elements, std::vector<Vector>& vectors) {
  const int size = static_cast<int>(schedules.size());
  for (std::size_t number = 0; number < schedules.front().rounds.size(); ++number) {
    SCOPED_TRACE("round " + std::to_string(number));
    const std::vector<Vector> before = vectors;
    for (int self = 0; self < size; ++self) {
      SCOPED_TRACE("participant " + std::to_string(self));
      const Round& round = schedules[static_cast<std::size_t>(self)].rounds[number];
      expect_well_formed(round, self, size, elements);
      for (const auto& transfer : round) {
        const auto peer = static_cast<std::size_t>(transfer.peer);
        const Transfer* other = counterpart(schedules[peer].rounds[number], self, !receives(transfer));
        ASSERT_NE(other, nullptr) << "no counterpart at " << peer;
        ASSERT_EQ(other->piece, transfer.piece);
        if (receives(transfer)) apply(transfer, before[peer], vectors[static_cast<std::size_t>(self)]);
      }
    }
  }
}

std::int64_t messages(const std::vector<Schedule>& schedules) {
  std::int64_t count = 0;
  for (const auto& schedule : schedules)
    for (const auto& round : schedule.rounds)
      count += std::count_if(round.begin(), round.end(), [](const auto& t) { return !receives(t); });
  return count;
}

std::int64_t elements_sent(const std::vector<Schedule>& schedules) {
  std::int64_t sum = 0;
  for (const auto& schedule : schedules)
    for (const auto& round : schedule.rounds)
      for (const auto& transfer : round) sum += receives(transfer) ? 0 : transfer.piece.size();
  return sum;
}

class AllReduceSchedule : public ::testing::TestWithParam<std::string> {
 protected:
  MakeSchedule make() const { return catalog().find(GetParam()).make; }
};

TEST_P(AllReduceSchedule, GivesEveryParticipantEachContributionExactlyOnce) {
  for (int size = 1; size <= most_participants; ++size) {
    Counts everyone{};
    std::fill_n(everyone.begin(), size, std::uint8_t{1});
    for (const std::int64_t elements : element_counts(size)) {
      SCOPED_TRACE("size " + std::to_string(size) + " elements " + std::to_string(elements));
      const auto schedules = schedules_of(make(), size, elements);
      for (const auto& schedule : schedules)
        ASSERT_EQ(schedule.rounds.size(), schedules.front().rounds.size());
      std::vector<Vector> vectors;
      for (std::size_t self = 0; self < schedules.size(); ++self) {
        Counts own{};
        own[self] = 1;
        vectors.emplace_back(static_cast<std::size_t>(elements), own);
      }
      execute(schedules, elements, vectors);
      for (const auto& vector : vectors)
        ASSERT_TRUE(std::all_of(vector.begin(), vector.end(), [&](const auto& c) { return c == everyone; }));
      if (HasFailure()) return;
    }
  }
}

TEST_P(AllReduceSchedule, MovesNoMoreThanTheLowerBound) {
  for (int size = 1; size <= most_participants; ++size)
    for (const std::int64_t elements : element_counts(size))
      EXPECT_EQ(elements_sent(schedules_of(make(), size, elements)), 2 * (size - 1) * elements)
          << "size " << size << " elements " << elements;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, AllReduceSchedule, ::testing::ValuesIn(catalog().names()),
                         testing::catalog_name);

TEST(Ring, SendsTwiceSizeTimesSizeLessOneMessages) {
  const auto ring = catalog().find("ring").make;
  for (int size = 1; size <= most_participants; ++size) {
    const auto schedules = schedules_of(ring, size, 2 * size + 1);
    EXPECT_EQ(messages(schedules), 2 * size * (size - 1)) << "size " << size;
    EXPECT_EQ(schedules.front().rounds.size(), static_cast<std::size_t>(2 * (size - 1)));
  }
  EXPECT_EQ(messages(schedules_of(ring, 5, 1000)), 40);
  EXPECT_EQ(ring(0, 5, 1000).rounds.size(), 8U);
}

TEST(HalvingDoubling, SendsTheMessagesOfTheClosedForm) {
  const auto make = catalog().find("halving-doubling").make;
  for (int size = 1; size <= most_participants; ++size) {
    const int acting = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
    const int levels = std::countr_zero(static_cast<unsigned>(acting));
    const auto schedules = schedules_of(make, size, 2 * size);
    EXPECT_EQ(messages(schedules), 2 * acting * levels + 2 * (size - acting)) << "size " << size;
    EXPECT_EQ(schedules.front().rounds.size(),
              static_cast<std::size_t>(2 * levels + (size > acting ? 2 : 0)));
  }
  EXPECT_EQ(messages(schedules_of(make, 8, 1000)), 48);
  EXPECT_EQ(make(0, 8, 1000).rounds.size(), 6U);
  EXPECT_EQ(messages(schedules_of(make, 12, 1000)), 56);
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

TEST(PartOf, CutsInContiguousPartsWhoseSizesDifferByAtMostOne) {
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

}  // namespace
}  // namespace tandem::collectives
