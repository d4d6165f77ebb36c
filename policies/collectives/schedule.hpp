// A collective as data: what each participant sends, receives and reduces, round by round. Pure functions
// make schedules; one interpreter (workloads/roles/collective.hpp) runs any of them on any context.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/vocabulary/catalog.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::collectives {

/// A contiguous range of elements, in units of elements of the reduced vector.
struct Piece {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
  bool operator==(const Piece&) const = default;
};

/// One point-to-point transfer of a round, seen from one participant. Empty pieces are never scheduled.
struct Transfer {
  enum class Kind { send, receive, receive_and_reduce } kind;
  int peer;  ///< index of the other participant
  Piece piece;
  bool operator==(const Transfer&) const = default;
};

/// All transfers of a round start together; the round ends when all have ended. Received pieces of one round
/// do not overlap each other nor the pieces sent in it, but for exchanges: a participant may send a piece to
/// the one from whom it receives the same piece to reduce it. What it sends is then the value before the
/// reduction.
using Round = std::vector<Transfer>;
struct Schedule {
  std::vector<Round> rounds;
};

/// The part of an all-reduce of `elements` elements that participant `self` of `size` performs.
/// Pre: 0 <= self < size, elements >= 0. For each (round, sender, receiver) there is at most one transfer.
using MakeSchedule = Schedule (*)(int self, int size, std::int64_t elements);

/// Elements [0, elements) cut in `parts` pieces whose sizes differ by at most one, larger ones first.
Piece part_of(std::int64_t elements, int parts, int index);

/// Cost of one message: latency, seconds per byte, and seconds per byte reduced.
struct LinkCost {
  Seconds alpha;
  double beta;   ///< s/B
  double gamma;  ///< s/B
};
/// Closed-form price of any schedule on a uniform full-duplex network where a participant sends and receives
/// one message at a time: rounds are matched message by message, so unequal pieces cost what they cost.
Seconds price(MakeSchedule make, int size, std::int64_t elements, Bytes element_size, const LinkCost& cost);

const Catalog<MakeSchedule>& catalog();

}  // namespace tandem::collectives
