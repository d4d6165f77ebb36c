// Parts that several schedules share: the fold of surplus participants, recursive halving, and the mirrored
// rounds that turn a reduction into an all-reduce. For the schedules of this folder only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "policies/collectives/schedule.hpp"

namespace tandem::collectives {

/// The binary logarithm of a power of two.
int levels_of(int power_of_two);

/// Adds a transfer to a round unless its piece is empty.
void append(Round& round, Transfer::Kind kind, int peer, const Piece& piece);

/// The mirror image of `round`: pieces that were sent are received, pieces that were received are sent. Pre:
/// `round` does not exchange a piece in both directions with one peer.
Round mirrored(const Round& round);

/// Reduces `size` participants to the largest power of two, which act for all. For i < surplus, participants
/// 2i and 2i + 1 are a pair; the even one acts for the pair, as number i. The participants after the pairs
/// have the next numbers.
class Fold {
 public:
  Fold(int self, int size);
  int acting() const { return acting_; }
  /// Whether this participant acts, for itself or for its pair.
  bool acts() const { return !paired_ || self_ % 2 == 0; }
  /// The number under which this participant acts. Pre: acts().
  int number() const { return paired_ ? self_ / 2 : self_ - surplus_; }
  int participant(int number) const { return number < surplus_ ? 2 * number : number + surplus_; }
  /// The round in which pairs add their vectors; no round when all participants act.
  std::vector<Round> rounds(std::int64_t elements) const;

 private:
  int self_;
  int acting_;
  int surplus_;
  bool paired_;
};

/// The vector cut in `parts`, a power of two, and the segment that each participant has after recursive
/// halving.
class Segments {
 public:
  Segments(std::int64_t elements, int parts) : elements_(elements), parts_(parts) {}
  /// The segment of participant `number` among `count` participants. It depends on `number` modulo `count`,
  /// and is the union of the segments of `number` and `number + count` among `2 count` participants. Pre:
  /// `count`, a power of two, is at most `parts`.
  Piece of(int number, int count) const;

 private:
  std::int64_t elements_;
  int parts_;
};

/// Appends the rounds of a reduce-scatter by recursive halving among `count` participants, a power of two:
/// each ends with the sum of its segment. `participant` maps a number to a participant. The first exchanges,
/// which move most data, are between the nearest numbers.
void append_halving(const Segments& segments, int number, int count,
                    const std::function<int(int)>& participant, std::vector<Round>& rounds);

/// Appends the rounds that undo the first `undone` rounds, the last of them first.
void append_way_back(std::size_t undone, std::vector<Round>& rounds);

}  // namespace tandem::collectives
