// The all-gather, executed by all participants in lockstep.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/policies/collectives/schedules.hpp"

namespace tandem::collectives {
namespace TANDEM_FILE {

TEST(RingGather, EveryParticipantGetsAllElements) {
  for (int size = 1; size <= 9; ++size)
    for (const std::int64_t elements : {0, 1, 5}) {
      const auto schedules = schedules_of(ring_gather, size, elements);
      const auto total = static_cast<std::size_t>(size * elements);
      std::vector<std::vector<std::int64_t>> vectors(static_cast<std::size_t>(size),
                                                     std::vector<std::int64_t>(total, -1));
      for (std::size_t self = 0; self < vectors.size(); ++self)
        std::iota(vectors[self].begin() + static_cast<std::ptrdiff_t>(self) * elements,
                  vectors[self].begin() + static_cast<std::ptrdiff_t>(self + 1) * elements,
                  static_cast<std::int64_t>(self) * elements);
      std::int64_t travelled = 0;
      for (std::size_t round = 0; round + 1 < vectors.size(); ++round) {
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

}  // namespace TANDEM_FILE
}  // namespace tandem::collectives
