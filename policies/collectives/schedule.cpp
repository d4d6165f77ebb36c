#include "policies/collectives/schedule.hpp"

#include <algorithm>

namespace tandem::collectives {
namespace {

/// When each participant's ports and processor are free again.
struct Clock {
  double send = 0.0;
  double receive = 0.0;
  double reduce = 0.0;
};

/// The transfer by which `peer` takes what `self` sends it in this round.
const Transfer& matching(const Round& round, int self, const Transfer& sent) {
  const auto found = std::find_if(round.begin(), round.end(), [&](const Transfer& transfer) {
    return transfer.kind != Transfer::Kind::send && transfer.peer == self;
  });
  TANDEM_CHECK(found != round.end() && found->piece == sent.piece, "sender", self, "receiver", sent.peer);
  return *found;
}

}  // namespace

Piece part_of(std::int64_t elements, int parts, int index) {
  const std::int64_t smallest = elements / parts;
  const std::int64_t larger = elements % parts;
  const auto begin_of = [&](std::int64_t part) { return part * smallest + std::min(part, larger); };
  return {begin_of(index), begin_of(index + 1)};
}

Seconds price(MakeSchedule make, int size, std::int64_t elements, Bytes element_size, const LinkCost& cost) {
  std::vector<Schedule> schedules;
  for (int self = 0; self < size; ++self) schedules.push_back(make(self, size, elements));
  const auto bytes = [&](const Piece& piece) {
    return static_cast<double>(piece.size() * element_size.count());
  };

  // Time at which each participant enters the round. A message starts when both its ends are in the round and
  // their ports are free; messages of one sender go in schedule order.
  std::vector<double> entered(schedules.size(), 0.0);
  std::vector<Clock> clocks(schedules.size());
  const std::size_t rounds = schedules.empty() ? 0 : schedules.front().rounds.size();
  for (std::size_t number = 0; number < rounds; ++number) {
    for (std::size_t self = 0; self < clocks.size(); ++self)
      clocks[self] = {entered[self], entered[self], entered[self]};
    for (std::size_t self = 0; self < clocks.size(); ++self) {
      for (const auto& transfer : schedules[self].rounds[number]) {
        if (transfer.kind != Transfer::Kind::send) continue;
        const auto peer = static_cast<std::size_t>(transfer.peer);
        const auto& arrival = matching(schedules[peer].rounds[number], static_cast<int>(self), transfer);
        const double start = std::max(clocks[self].send, clocks[peer].receive);
        const double end = start + cost.alpha.count() + bytes(transfer.piece) * cost.beta;
        clocks[self].send = end;
        clocks[peer].receive = end;
        if (arrival.kind == Transfer::Kind::receive_and_reduce)
          clocks[peer].reduce = std::max(clocks[peer].reduce, end) + bytes(transfer.piece) * cost.gamma;
      }
    }
    for (std::size_t self = 0; self < clocks.size(); ++self)
      entered[self] = std::max({clocks[self].send, clocks[self].receive, clocks[self].reduce});
  }
  return Seconds(entered.empty() ? 0.0 : *std::max_element(entered.begin(), entered.end()));
}

}  // namespace tandem::collectives
