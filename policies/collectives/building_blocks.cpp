#include "policies/collectives/building_blocks.hpp"

#include <bit>

namespace tandem::collectives {

using Kind = Transfer::Kind;

int levels_of(int power_of_two) { return std::countr_zero(static_cast<unsigned>(power_of_two)); }

void append(Round& round, Kind kind, int peer, const Piece& piece) {
  if (piece.size() > 0) round.push_back({kind, peer, piece});
}

Round mirrored(const Round& round) {
  Round back;
  for (const auto& transfer : round)
    if (transfer.kind != Kind::send) back.push_back({Kind::send, transfer.peer, transfer.piece});
  for (const auto& transfer : round)
    if (transfer.kind == Kind::send) back.push_back({Kind::receive, transfer.peer, transfer.piece});
  return back;
}

Fold::Fold(int self, int size)
    : self_(self),
      acting_(static_cast<int>(std::bit_floor(static_cast<unsigned>(size)))),
      surplus_(size - acting_),
      paired_(self < 2 * surplus_) {}

std::vector<Round> Fold::rounds(std::int64_t elements) const {
  if (surplus_ == 0) return {};
  Round fold;
  if (paired_) append(fold, acts() ? Kind::receive_and_reduce : Kind::send, self_ ^ 1, {0, elements});
  return {fold};
}

Piece Segments::of(int number, int count) const {
  int begin = 0;
  int length = parts_;
  for (int distance = 1; distance < count; distance *= 2) {
    length /= 2;
    if ((number & distance) != 0) begin += length;
  }
  return {part_of(elements_, parts_, begin).begin, part_of(elements_, parts_, begin + length - 1).end};
}

void append_halving(const Segments& segments, int number, int count,
                    const std::function<int(int)>& participant, std::vector<Round>& rounds) {
  for (int distance = 1; distance < count; distance *= 2) {
    const int other = number ^ distance;
    Round round;
    append(round, Kind::send, participant(other), segments.of(other, 2 * distance));
    append(round, Kind::receive_and_reduce, participant(other), segments.of(number, 2 * distance));
    rounds.push_back(std::move(round));
  }
}

void append_way_back(std::size_t undone, std::vector<Round>& rounds) {
  rounds.reserve(rounds.size() + undone);
  while (undone > 0) rounds.push_back(mirrored(rounds[--undone]));
}

}  // namespace tandem::collectives
