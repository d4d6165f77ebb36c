// All-gathers. Around a ring: size - 1 times, each participant passes on the part that it has received last.
// By doubling: in each round, each participant sends all its parts to participants at twice the distance.
#include <algorithm>

#include "policies/collectives/building_blocks.hpp"
#include "policies/collectives/shapes.hpp"

namespace tandem::collectives {

Schedule ring_gather(int self, const Groups& groups, std::int64_t elements) {
  const int size = groups.participants();
  return {{static_cast<std::size_t>(size - 1), [self, size, elements](std::size_t number, Round& round) {
             const auto of = [&](int participant) {
               const std::int64_t begin = (participant % size) * elements;
               return Piece{begin, begin + elements};
             };
             const int passed_on = self + size - static_cast<int>(number);
             append(round, Transfer::Kind::send, (self + 1) % size, of(passed_on));
             append(round, Transfer::Kind::receive, (self + size - 1) % size, of(passed_on - 1));
           }}};
}

/// After k rounds, a participant has the blocks of the 2^k participants from itself on. Those beyond the last
/// number continue with the first one, so a message may have two pieces.
Schedule doubling_gather(int self, const Groups& groups, std::int64_t elements) {
  const int size = groups.participants();
  std::size_t rounds = 0;
  while (1 << rounds < size) ++rounds;
  return {{rounds, [self, size, elements](std::size_t number, Round& round) {
             const int present = 1 << number;
             const int count = std::min(present, size - present);
             const auto add = [&](Transfer::Kind kind, int peer, int first) {
               const int until_end = std::min(count, size - first);
               append(round, kind, peer, {first * elements, (first + until_end) * elements});
               append(round, kind, peer, {0, (count - until_end) * elements});
             };
             const int ahead = (self + present) % size;
             add(Transfer::Kind::send, (self + size - present) % size, self);
             add(Transfer::Kind::receive, ahead, ahead);
           }}};
}

MakeSchedule gather_of(const MakeSchedule& all_reduce) {
  const bool is_by_rings = all_reduce == MakeSchedule(ring) || all_reduce == MakeSchedule(pipelined_ring) ||
                           all_reduce == MakeSchedule(hierarchical);
  return is_by_rings ? ring_gather : doubling_gather;
}

}  // namespace tandem::collectives
