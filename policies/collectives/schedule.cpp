#include "policies/collectives/schedule.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tandem::collectives {

Piece part_of(std::int64_t elements, int parts, int index) {
  const std::int64_t smallest = elements / parts;
  const std::int64_t larger = elements % parts;
  const auto begin_of = [&](std::int64_t part) { return part * smallest + std::min(part, larger); };
  return {begin_of(index), begin_of(index + 1)};
}

Groups::Groups(std::vector<int> sizes)
    : sizes_(std::move(sizes)), participants_(std::accumulate(sizes_.begin(), sizes_.end(), 0)) {
  TANDEM_CHECK(!sizes_.empty(), "groups", sizes_.size());
  for (const int size : sizes_) TANDEM_CHECK(size > 0, "group of", size);
}

Schedule arranged(MakeSchedule make, const Arrangement& arrangement, int self, std::int64_t elements) {
  const auto& order = arrangement.order;
  const auto own = std::find(order.begin(), order.end(), self);
  TANDEM_CHECK(own != order.end(), "self", self, "participants", order.size());
  Schedule schedule = make(static_cast<int>(own - order.begin()), Groups(arrangement.groups), elements);
  for (Round& round : schedule.rounds)
    for (Transfer& transfer : round) transfer.peer = order[static_cast<std::size_t>(transfer.peer)];
  return schedule;
}

Arrangement among(const Arrangement& arrangement, std::span<const int> members) {
  Arrangement left;
  std::size_t at = 0;
  for (const int size : arrangement.groups) {
    int remaining = 0;
    for (const std::size_t end = at + static_cast<std::size_t>(size); at < end; ++at) {
      const auto found = std::find(members.begin(), members.end(), arrangement.order[at]);
      if (found == members.end()) continue;
      left.order.push_back(static_cast<int>(found - members.begin()));
      ++remaining;
    }
    if (remaining > 0) left.groups.push_back(remaining);
  }
  TANDEM_CHECK(left.order.size() == members.size(), "members", members.size(), "found", left.order.size());
  return left;
}

}  // namespace tandem::collectives
