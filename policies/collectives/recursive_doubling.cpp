// Recursive doubling of the whole vector, with a whole-vector fold for sizes that are no power of two: fewest
// rounds, most traffic. Source: Thakur, Rabenseifner, Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include "policies/collectives/building_blocks.hpp"
#include "policies/collectives/shapes.hpp"

namespace tandem::collectives {

Schedule recursive_doubling(int self, const Groups& groups, std::int64_t elements) {
  const int size = groups.participants();
  TANDEM_CHECK(0 <= self && self < size && elements >= 0, "self", self, "size", size, "elements", elements);
  const Fold fold(self, size);
  std::vector<Round> rounds = fold.rounds(elements);
  const std::size_t folds = rounds.size();
  for (int distance = 1; distance < fold.acting(); distance *= 2) {
    Round exchange;
    if (fold.acts()) {
      const int peer = fold.participant(fold.number() ^ distance);
      append(exchange, Transfer::Kind::send, peer, {0, elements});
      append(exchange, Transfer::Kind::receive_and_reduce, peer, {0, elements});
    }
    rounds.push_back(std::move(exchange));
  }
  append_way_back(folds, rounds);
  return Schedule{std::move(rounds)};
}

}  // namespace tandem::collectives
