// Traffic of the schedules: messages, rounds, total elements, and the elements of each participant, against
// the closed forms of the literature.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "policies/collectives/shapes.hpp"
#include "tests/policies/collectives/schedules.hpp"
#include "tests/support/names.hpp"

namespace tandem::collectives {
namespace TANDEM_FILE {

MakeSchedule find(const char* name) { return catalog().find(name).make; }

std::int64_t messages(const std::vector<Schedule>& schedules) {
  std::int64_t count = 0;
  for (const auto& schedule : schedules)
    for (const auto& round : schedule.rounds)
      count += std::count_if(round.begin(), round.end(), [](const auto& t) { return !receives(t); });
  return count;
}

std::int64_t elements_moved(const Schedule& schedule, bool received) {
  std::int64_t sum = 0;
  for (const auto& round : schedule.rounds)
    for (const auto& transfer : round) sum += receives(transfer) == received ? transfer.piece.size() : 0;
  return sum;
}

std::int64_t elements_sent(const std::vector<Schedule>& schedules) {
  std::int64_t sum = 0;
  for (const auto& schedule : schedules) sum += elements_moved(schedule, false);
  return sum;
}

/// Expects that each participant sends, and receives, `expected(self)` elements.
template <class Expected>
void expect_moved(const std::vector<Schedule>& schedules, Expected expected) {
  for (int self = 0; self < static_cast<int>(schedules.size()); ++self) {
    const Schedule& schedule = schedules[static_cast<std::size_t>(self)];
    EXPECT_EQ(elements_moved(schedule, false), expected(self)) << self << " of " << schedules.size();
    EXPECT_EQ(elements_moved(schedule, true), expected(self)) << self << " of " << schedules.size();
  }
}

class LeastTrafficSchedule : public ::testing::TestWithParam<std::string> {};

TEST_P(LeastTrafficSchedule, MovesNoMoreThanTheLowerBound) {
  for (int size = 1; size <= most_participants; ++size)
    for (const std::int64_t elements : element_counts(size))
      EXPECT_EQ(elements_sent(schedules_of(catalog().find(GetParam()).make, size, elements)),
                2 * (size - 1) * elements)
          << "size " << size << " elements " << elements;
}

std::vector<std::string> all_but_recursive_doubling() {
  std::vector<std::string> names = catalog().names();
  std::erase(names, "recursive-doubling");
  return names;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, LeastTrafficSchedule, ::testing::ValuesIn(all_but_recursive_doubling()),
                         testing::catalog_name);

TEST(Hierarchical, SendsTheMinimumInEqualGroups) {
  for (int members = 1; members <= 5; ++members)
    for (int groups = 1; groups <= 6; ++groups) {
      const Groups equal(std::vector<int>(static_cast<std::size_t>(groups), members));
      const int size = members * groups;
      const auto schedules = schedules_of(find("hierarchical"), equal, 2 * size);
      EXPECT_EQ(messages(schedules), 2 * groups * members * (members - 1 + groups - 1)) << size;
      EXPECT_EQ(schedules.front().rounds.size(), static_cast<std::size_t>(2 * (members - 1 + groups - 1)));
      EXPECT_EQ(elements_sent(schedules), 2 * (size - 1) * 2 * size);
      // Only data that is summed across groups leaves a member's group: two parts of its segment per other
      // group.
      for (int self = 0; self < size; ++self) {
        std::int64_t left = 0;
        for (const auto& round : schedules[static_cast<std::size_t>(self)].rounds)
          for (const auto& transfer : round)
            if (!receives(transfer) && transfer.peer / members != self / members)
              left += transfer.piece.size();
        EXPECT_EQ(left, 2 * (groups - 1) * 2);
      }
    }
}

TEST(Ring, SendsTwoTimesSizeTimesSizeMinusOneMessages) {
  const auto ring = find("ring");
  for (int size = 1; size <= most_participants; ++size) {
    const auto schedules = schedules_of(ring, size, 2 * size);
    EXPECT_EQ(messages(schedules), 2 * size * (size - 1)) << "size " << size;
    EXPECT_EQ(schedules.front().rounds.size(), static_cast<std::size_t>(2 * (size - 1)));
    expect_moved(schedules, [&](int) { return 2 * (size - 1) * 2; });
  }
  EXPECT_EQ(messages(schedules_of(ring, 5, 1000)), 40);
  EXPECT_EQ(ring(0, 5, 1000).rounds.size(), 8U);
}

TEST(HalvingDoubling, TrafficHasTheClosedForms) {
  const auto make = find("halving-doubling");
  for (int size = 1; size <= most_participants; ++size) {
    const int acting = acting_of(size);
    const int surplus = size - acting;
    const int levels = floor_lg(size);
    const int elements = 2 * acting;
    const auto schedules = schedules_of(make, size, elements);
    EXPECT_EQ(messages(schedules), 2 * acting * levels + 2 * surplus) << "size " << size;
    EXPECT_EQ(schedules.front().rounds.size(), static_cast<std::size_t>(2 * levels + (surplus > 0 ? 2 : 0)));
    expect_moved(schedules, [&](int self) {
      const int fold = self < 2 * surplus ? elements : 0;
      const bool acts = fold == 0 || self % 2 == 0;
      return fold + (acts ? 2 * (acting - 1) * 2 : 0);
    });
  }
  EXPECT_EQ(messages(schedules_of(make, 8, 1000)), 48);
  EXPECT_EQ(make(0, 8, 1000).rounds.size(), 6U);
  EXPECT_EQ(messages(schedules_of(make, 12, 1000)), 56);
}

TEST(BinaryBlocks, TrafficHasTheClosedForms) {
  const auto make = find("binary-blocks");
  for (int size = 1; size <= most_participants; ++size) {
    const std::vector<int> exponents = block_exponents(size);
    const int elements = 2 << exponents.front();
    const auto schedules = schedules_of(make, size, elements);
    std::int64_t expected = 0;
    int rounds = 2 * exponents.front();
    std::vector<int> moved;  // by each participant
    for (std::size_t block = 0; block < exponents.size(); ++block) {
      const int members = 1 << exponents[block];
      const bool has_larger = block > 0;
      const bool has_smaller = block + 1 < exponents.size();
      expected += 2L * exponents[block] * members + (has_smaller ? 2 * members : 0);
      if (has_larger) rounds += 2 << (exponents[block - 1] - exponents[block]);
      const int segment = elements / members;
      moved.insert(moved.end(), static_cast<std::size_t>(members),
                   2 * (elements - segment) + (has_larger ? segment : 0) + (has_smaller ? segment : 0));
    }
    EXPECT_EQ(messages(schedules), expected) << "size " << size;
    EXPECT_EQ(schedules.front().rounds.size(), static_cast<std::size_t>(rounds));
    expect_moved(schedules, [&](int self) { return moved[static_cast<std::size_t>(self)]; });
  }
  EXPECT_EQ(messages(schedules_of(make, 12, 1000)), 80);
  EXPECT_EQ(messages(schedules_of(make, 7, 1000)), 32);
  EXPECT_EQ(messages(schedules_of(make, 13, 1000)), 88);
  EXPECT_EQ(messages(schedules_of(make, 17, 1000)), 160);
}

TEST(RecursiveDoubling, TrafficHasTheClosedForms) {
  const auto make = find("recursive-doubling");
  for (int size = 1; size <= most_participants; ++size)
    for (const std::int64_t elements : element_counts(size)) {
      const int acting = acting_of(size);
      const int surplus = size - acting;
      const int levels = floor_lg(size);
      const auto schedules = schedules_of(make, size, elements);
      EXPECT_EQ(messages(schedules), elements > 0 ? acting * levels + 2 * surplus : 0) << "size " << size;
      EXPECT_EQ(elements_sent(schedules), (acting * levels + 2 * surplus) * elements) << "size " << size;
      EXPECT_EQ(schedules.front().rounds.size(), static_cast<std::size_t>(levels + (surplus > 0 ? 2 : 0)));
      expect_moved(schedules, [&](int self) {
        const bool paired = self < 2 * surplus;
        return elements * ((paired ? 1 : 0) + (!paired || self % 2 == 0 ? levels : 0));
      });
    }
  EXPECT_EQ(messages(schedules_of(make, 12, 1000)), 32);
}

TEST(Tree, SendsAVectorOverEachEdgeBothWays) {
  const auto make = find("tree");
  for (int size = 1; size <= most_participants; ++size) {
    const auto schedules = schedules_of(make, size, 7);
    EXPECT_EQ(messages(schedules), 2 * (size - 1)) << "size " << size;
    EXPECT_EQ(schedules.front().rounds.size(), static_cast<std::size_t>(2 * ceil_lg(size)));
    std::vector<int> edges(static_cast<std::size_t>(size), 0);
    for (int child = 1; child < size; ++child) {
      ++edges[static_cast<std::size_t>(child)];
      ++edges[static_cast<std::size_t>(child & (child - 1))];  // clearing the lowest bit gives the parent
    }
    expect_moved(schedules, [&](int self) { return 7 * edges[static_cast<std::size_t>(self)]; });
  }
}

/// The participants that send `self` their sums of the lower and of the upper half of the vector.
std::array<std::set<int>, 2> children(const Schedule& schedule, std::int64_t elements) {
  std::array<std::set<int>, 2> children;
  for (const auto& round : schedule.rounds)
    for (const auto& transfer : round)
      if (transfer.kind == Transfer::Kind::receive_and_reduce)
        children[transfer.piece.begin < elements / 2 ? 0 : 1].insert(transfer.peer);
  return children;
}

TEST(DoubleTree, NoParticipantIsAnInnerNodeOfBothTrees) {
  const auto make = find("double-tree");
  constexpr std::int64_t elements = 1000;
  for (int size = 2; size <= most_participants; ++size) {
    const auto schedules = schedules_of(make, size, elements);
    std::array<std::size_t, 2> edges{};
    std::array<int, 2> roots{};
    for (const auto& schedule : schedules) {
      const auto below = children(schedule, elements);
      EXPECT_TRUE(below[0].empty() || below[1].empty()) << "size " << size;
      EXPECT_LE(below[0].size() + below[1].size(), 2U) << "size " << size;
      for (const std::size_t tree : {0U, 1U}) edges[tree] += below[tree].size();
      const auto up = elements_moved(schedule, false);
      const auto down = static_cast<std::int64_t>(below[0].size() + below[1].size());
      // A root of one tree has a parent only in the other.
      if (up == (1 + down) * elements / 2)
        ++roots[below[0].empty() ? 1 : 0];
      else
        EXPECT_EQ(up, (2 + down) * elements / 2) << "size " << size;
      EXPECT_EQ(elements_moved(schedule, true), up) << "size " << size;
    }
    for (const std::size_t tree : {0U, 1U}) {
      EXPECT_EQ(edges[tree], static_cast<std::size_t>(size - 1)) << "size " << size;
      EXPECT_EQ(roots[tree], 1) << "size " << size;
    }
  }
}

TEST(DoubleTree, SendsEachChunkOverEachEdgeBothWays) {
  for (int size = 2; size <= most_participants; ++size)
    for (const std::int64_t elements : {1000L, 50'000L, 3'000'000L}) {
      const int chunks = double_tree_chunks(size, elements);
      const auto schedules = schedules_of(double_tree, size, elements);
      EXPECT_EQ(messages(schedules), 4 * chunks * (size - 1)) << "size " << size << " elements " << elements;
      EXPECT_EQ(schedules.front().rounds.size(), static_cast<std::size_t>(4 * (floor_lg(size) + chunks - 1)));
      EXPECT_EQ(elements_sent(schedules), 2 * (size - 1) * elements);
      for (const auto& schedule : schedules)
        for (const auto& round : schedule.rounds) {
          const auto received = std::count_if(round.begin(), round.end(), receives);
          EXPECT_LE(received, 1);
          EXPECT_LE(static_cast<std::int64_t>(round.size()) - received, 1);
        }
    }
}

TEST(DoubleTree, SplitsLongVectorsIntoMoreChunks) {
  EXPECT_EQ(double_tree_chunks(1, 1 << 20), 1);
  EXPECT_EQ(double_tree_chunks(3, 1 << 20), 1);  // of height 1: no pipeline to fill
  EXPECT_EQ(double_tree_chunks(8, 0), 1);
  EXPECT_EQ(double_tree_chunks(8, 4096), 1);
  EXPECT_EQ(double_tree_chunks(8, 1 << 20), 16);  // sqrt(2 * 2^20 / 2^13)
  EXPECT_EQ(double_tree_chunks(32, 1 << 22), 45);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::collectives
