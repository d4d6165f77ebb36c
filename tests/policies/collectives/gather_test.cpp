// The all-gathers, executed by all participants in lockstep.
#include <gtest/gtest.h>

#include <bit>
#include <numeric>
#include <ostream>

#include "tests/policies/collectives/schedules.hpp"

namespace tandem::collectives {
namespace TANDEM_FILE {

struct Gather {
  const char* name;
  MakeSchedule make;
  std::size_t (*rounds)(int size);
};
void PrintTo(const Gather& gather, std::ostream* out) { *out << gather.name; }

class Gathers : public ::testing::TestWithParam<Gather> {};

TEST_P(Gathers, GiveEveryParticipantAllElements) {
  for (int size = 1; size <= 9; ++size)
    for (const std::int64_t elements : {0, 1, 5}) {
      const auto schedules = schedules_of(GetParam().make, size, elements);
      const std::size_t rounds = GetParam().rounds(size);
      const auto total = static_cast<std::size_t>(size * elements);
      std::vector<std::vector<std::int64_t>> vectors(static_cast<std::size_t>(size),
                                                     std::vector<std::int64_t>(total, -1));
      for (std::size_t self = 0; self < vectors.size(); ++self)
        std::iota(vectors[self].begin() + static_cast<std::ptrdiff_t>(self) * elements,
                  vectors[self].begin() + static_cast<std::ptrdiff_t>(self + 1) * elements,
                  static_cast<std::int64_t>(self) * elements);
      std::int64_t travelled = 0;
      for (const auto& schedule : schedules) ASSERT_EQ(schedule.rounds.size(), rounds);
      for (std::size_t round = 0; round < rounds; ++round) {
        const auto before = vectors;
        for (std::size_t self = 0; self < vectors.size(); ++self)
          for (const Transfer& transfer : schedules[self].rounds[round]) {
            if (transfer.kind == Transfer::Kind::send) {
              travelled += transfer.piece.size();
              continue;
            }
            ASSERT_EQ(transfer.kind, Transfer::Kind::receive);
            const auto& peer = schedules[static_cast<std::size_t>(transfer.peer)].rounds[round];
            EXPECT_EQ(std::count(peer.begin(), peer.end(),
                                 Transfer{Transfer::Kind::send, static_cast<int>(self), transfer.piece}),
                      1);
            for (std::int64_t i = transfer.piece.begin; i < transfer.piece.end; ++i)
              vectors[self][static_cast<std::size_t>(i)] =
                  before[static_cast<std::size_t>(transfer.peer)][static_cast<std::size_t>(i)];
          }
      }
      std::vector<std::int64_t> all(total);
      std::iota(all.begin(), all.end(), 0);
      for (const auto& vector : vectors) EXPECT_EQ(vector, all) << size << " participants";
      EXPECT_EQ(travelled, static_cast<std::int64_t>(size - 1) * size * elements);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Gathers,
                         ::testing::Values(Gather{"ring", ring_gather,
                                                  [](int size) {
                                                    return static_cast<std::size_t>(size - 1);
                                                  }},
                                           Gather{"doubling", doubling_gather,
                                                  [](int size) {
                                                    return static_cast<std::size_t>(
                                                        std::bit_width(static_cast<unsigned>(size - 1)));
                                                  }}),
                         [](const auto& test) { return test.param.name; });

TEST(GatherOf, FollowsTheRoundsOfTheAllReduce) {
  for (const auto& collective : catalog().entries()) {
    const bool is_by_rings = collective.name.ends_with("ring") || collective.name == "hierarchical";
    EXPECT_EQ(gather_of(collective.make), MakeSchedule(is_by_rings ? ring_gather : doubling_gather))
        << collective.name;
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::collectives
