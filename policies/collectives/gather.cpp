// All-gather around a ring: each participant passes on what it got last, size - 1 times.
#include "policies/collectives/building_blocks.hpp"
#include "policies/collectives/shapes.hpp"

namespace tandem::collectives {

Schedule ring_gather(int self, const Groups& groups, std::int64_t elements) {
  const int size = groups.participants();
  const auto of = [&](int participant) {
    const std::int64_t begin = (participant % size) * elements;
    return Piece{begin, begin + elements};
  };
  Schedule schedule;
  for (int round = 0; round + 1 < size; ++round) {
    Round transfers;
    append(transfers, Transfer::Kind::send, (self + 1) % size, of(self + size - round));
    append(transfers, Transfer::Kind::receive, (self + size - 1) % size, of(self + size - 1 - round));
    schedule.rounds.push_back(std::move(transfers));
  }
  return schedule;
}

}  // namespace tandem::collectives
