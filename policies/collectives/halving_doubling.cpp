// Recursive halving and doubling with a whole-vector fold for sizes that are no power of two. Source:
// Rabenseifner, ICCS 2004.
#include "policies/collectives/building_blocks.hpp"
#include "policies/collectives/shapes.hpp"

namespace tandem::collectives {

Schedule halving_doubling(int self, const Groups& groups, std::int64_t elements) {
  const int size = groups.participants();
  TANDEM_CHECK(0 <= self && self < size && elements >= 0, "self", self, "size", size, "elements", elements);
  const Fold fold(self, size);
  std::vector<Round> rounds = fold.rounds(elements);
  const std::size_t reduced = rounds.size() + static_cast<std::size_t>(levels_of(fold.acting()));
  if (fold.acts())
    append_halving(
        {elements, fold.acting()}, fold.number(), fold.acting(),
        [&](int number) { return fold.participant(number); }, rounds);
  rounds.resize(reduced);
  append_way_back(reduced, rounds);
  return Schedule{std::move(rounds)};
}

}  // namespace tandem::collectives
