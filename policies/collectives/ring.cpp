// The bandwidth-optimal ring. Source: Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009.
#include "policies/collectives/building_blocks.hpp"
#include "policies/collectives/shapes.hpp"

namespace tandem::collectives {
namespace {

Round ring_round(int self, int size, std::int64_t elements, int sent, int received,
                 Transfer::Kind on_arrival) {
  const auto piece = [&](int index) { return part_of(elements, size, (index % size + size) % size); };
  Round round;
  round.reserve(2);
  append(round, Transfer::Kind::send, (self + 1) % size, piece(sent));
  append(round, on_arrival, (self + size - 1) % size, piece(received));
  return round;
}

}  // namespace

Schedule ring(int self, const Groups& groups, std::int64_t elements) {
  const int size = groups.participants();
  TANDEM_CHECK(0 <= self && self < size && elements >= 0, "self", self, "size", size, "elements", elements);
  Schedule schedule;
  schedule.rounds.reserve(2 * static_cast<std::size_t>(size - 1));
  for (int step = 0; step < size - 1; ++step)
    schedule.rounds.push_back(
        ring_round(self, size, elements, self - step, self - step - 1, Transfer::Kind::receive_and_reduce));
  for (int step = 0; step < size - 1; ++step)
    schedule.rounds.push_back(
        ring_round(self, size, elements, self + 1 - step, self - step, Transfer::Kind::receive));
  return schedule;
}

}  // namespace tandem::collectives
