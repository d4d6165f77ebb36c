// A binomial tree: the vector is reduced to participant 0, which then broadcasts the sum. Source: Thakur,
// Rabenseifner, Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include "policies/collectives/building_blocks.hpp"
#include "policies/collectives/shapes.hpp"

namespace tandem::collectives {

Schedule tree(int self, const Groups& groups, std::int64_t elements) {
  const int size = groups.participants();
  TANDEM_CHECK(0 <= self && self < size && elements >= 0, "self", self, "size", size, "elements", elements);
  std::vector<Round> rounds;
  for (int distance = 1; distance < size; distance *= 2) {
    Round round;
    const int place = self % (2 * distance);
    if (place == distance) append(round, Transfer::Kind::send, self - distance, {0, elements});
    if (place == 0 && self + distance < size)
      append(round, Transfer::Kind::receive_and_reduce, self + distance, {0, elements});
    rounds.push_back(std::move(round));
  }
  append_way_back(rounds.size(), rounds);
  return Schedule{std::move(rounds)};
}

}  // namespace tandem::collectives
