// A collective as data: what each participant sends, receives and reduces, round by round. Pure functions
// make schedules; one interpreter (workloads/exchange/schedule_runner.hpp) runs any of them on any context.
#pragma once

#include <cstdint>
#include <span>
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

/// Participants 0, 1, ... in groups of those that are near each other, which have numbers that follow each
/// other.
class Groups {
 public:
  /// One group of all: a number of participants stands for it.
  Groups(int size) : sizes_{size}, participants_(size) {}
  /// Pre: at least one group; none is empty.
  explicit Groups(std::vector<int> sizes);
  const std::vector<int>& sizes() const { return sizes_; }
  int participants() const { return participants_; }

 private:
  std::vector<int> sizes_;
  int participants_;
};

/// The part of an all-reduce of `elements` elements that participant `self` performs. Most schedules need
/// only the number of participants. Pre: 0 <= self < participants, elements >= 0. For each (round, sender,
/// receiver) there is at most one transfer.
using MakeSchedule = Schedule (*)(int self, const Groups& groups, std::int64_t elements);

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
Seconds price(MakeSchedule make, const Groups& groups, std::int64_t elements, Bytes element_size,
              const LinkCost& cost);

/// Who acts under which number, and in which groups.
struct Arrangement {
  std::vector<int> order;   ///< participant order[i] acts as number i
  std::vector<int> groups;  ///< sizes, of numbers that follow each other
};
/// As `make`, for participants so arranged. Pre: the order names each participant once.
Schedule arranged(MakeSchedule make, const Arrangement& arrangement, int self, std::int64_t elements);
/// What remains of an arrangement for these participants alone, as indices of `members`. Pre: the order names
/// each of them.
Arrangement among(const Arrangement& arrangement, std::span<const int> members);

/// An all-gather: the vector has `elements` of each participant, one after the other in the order of their
/// numbers, and everybody starts with its own. size - 1 rounds, and (size - 1) size `elements` travel.
Schedule ring_gather(int self, const Groups& groups, std::int64_t elements);

const Catalog<MakeSchedule>& catalog();
/// Whether groups change the schedule, and not the number of participants alone.
bool takes_groups(MakeSchedule make);

}  // namespace tandem::collectives
