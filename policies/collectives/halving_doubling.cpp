// Recursive halving and doubling with a whole-vector fold for sizes that are no power of two. Source:
// Rabenseifner, ICCS 2004. The first exchanges, which move most, are between nearest participants.
#include <bit>
#include <utility>

#include "policies/collectives/shapes.hpp"

namespace tandem::collectives {
namespace {

using Kind = Transfer::Kind;

/// Participants 2i and 2i + 1 form a pair for i < surplus and act as one, number i; the others follow.
class Group {
 public:
  explicit Group(int size)
      : acting_(static_cast<int>(std::bit_floor(static_cast<unsigned>(size)))), surplus_(size - acting_) {}
  int acting() const { return acting_; }
  bool paired(int self) const { return self < 2 * surplus_; }
  int number_of(int self) const { return paired(self) ? self / 2 : self - surplus_; }
  int participant(int number) const { return number < surplus_ ? 2 * number : number + surplus_; }

 private:
  int acting_;
  int surplus_;
};

Round halving_round(int peer, const Piece& give, const Piece& keep) {
  Round round;
  if (give.size() > 0) round.push_back({Kind::send, peer, give});
  if (keep.size() > 0) round.push_back({Kind::receive_and_reduce, peer, keep});
  return round;
}

void append_halving(const Group& group, int self, std::int64_t elements, std::vector<Round>& rounds) {
  const int number = group.number_of(self);
  int first = 0;
  int parts = group.acting();
  const auto span_of = [&](int begin, int count) {
    return Piece{part_of(elements, group.acting(), begin).begin,
                 part_of(elements, group.acting(), begin + count - 1).end};
  };
  for (int distance = 1; distance < group.acting(); distance *= 2) {
    parts /= 2;
    Piece keep = span_of(first, parts);
    Piece give = span_of(first + parts, parts);
    if ((number & distance) != 0) {
      std::swap(keep, give);
      first += parts;
    }
    rounds.push_back(halving_round(group.participant(number ^ distance), give, keep));
  }
}

/// The round that undoes the scattering of `round`: what was given away comes back, what was kept goes out.
Round mirrored(const Round& round) {
  Round back;
  for (const auto& transfer : round)
    if (transfer.kind != Kind::send) back.push_back({Kind::send, transfer.peer, transfer.piece});
  for (const auto& transfer : round)
    if (transfer.kind == Kind::send) back.push_back({Kind::receive, transfer.peer, transfer.piece});
  return back;
}

}  // namespace

Schedule halving_doubling(int self, int size, std::int64_t elements) {
  TANDEM_CHECK(0 <= self && self < size && elements >= 0, "self", self, "size", size, "elements", elements);
  const Group group(size);
  const bool folded = group.acting() < size;
  const bool acts = !group.paired(self) || self % 2 == 0;
  const std::size_t halvings =
      static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(group.acting())));

  std::vector<Round> rounds;
  if (folded) {
    Round fold;
    if (group.paired(self) && elements > 0)
      fold.push_back({acts ? Kind::receive_and_reduce : Kind::send, self ^ 1, {0, elements}});
    rounds.push_back(fold);
  }
  if (acts)
    append_halving(group, self, elements, rounds);
  else
    rounds.resize(rounds.size() + halvings);

  for (std::size_t undone = rounds.size(); undone > 0; --undone)
    rounds.push_back(mirrored(rounds[undone - 1]));
  return Schedule{std::move(rounds)};
}

}  // namespace tandem::collectives
