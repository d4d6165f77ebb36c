// All-gather around a ring: size - 1 times, each participant passes on what it has received last.
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

}  // namespace tandem::collectives
