// The bandwidth-optimal ring. Source: Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009.
#include <algorithm>

#include "policies/collectives/building_blocks.hpp"
#include "policies/collectives/shapes.hpp"

namespace tandem::collectives {
namespace {

/// Elements of a chunk below which another message costs more than the overlap saves: 64 KiB of float32.
constexpr std::int64_t least_chunk = 16384;
constexpr std::int64_t most_chunks = 4;

/// The rule of a ring's rounds. A step passes a piece on and receives the piece before it.
class Ring {
 public:
  /// `pipelines`: pieces that are reduced go in chunks.
  Ring(int self, int size, std::int64_t elements, bool pipelines)
      : self_(self), size_(size), pipelines_(pipelines), pieces_(elements, size) {}

  void operator()(std::size_t number, Round& round) const {
    const int steps = size_ - 1;
    const int step = static_cast<int>(number) % steps;
    const bool reduces = static_cast<int>(number) < steps;
    const int sent = self_ - step + (reduces ? 0 : 1);
    pass(round, Transfer::Kind::send, wrapped(self_ + 1), pieces_[wrapped(sent)], reduces);
    pass(round, reduces ? Transfer::Kind::receive_and_reduce : Transfer::Kind::receive, wrapped(self_ - 1),
         pieces_[wrapped(sent - 1)], reduces);
  }

 private:
  /// The chunks of a piece depend on its size alone, so both ends have the same.
  void pass(Round& round, Transfer::Kind kind, int peer, const Piece& piece, bool reduces) const {
    if (!pipelines_ || !reduces) return append(round, kind, peer, piece);
    const auto count = std::clamp(piece.size() / least_chunk, std::int64_t{1}, most_chunks);
    const Parts chunks(piece.size(), static_cast<int>(count));
    for (std::int64_t i = 0; i < count; ++i)
      append(round, kind, peer, {piece.begin + chunks[i].begin, piece.begin + chunks[i].end});
  }
  /// Pre: -size <= index < 2 size.
  int wrapped(int index) const { return index < 0 ? index + size_ : index < size_ ? index : index - size_; }

  int self_;
  int size_;
  bool pipelines_;
  Parts pieces_;
};

Schedule ring_of(int self, int size, std::int64_t elements, bool pipelines) {
  TANDEM_CHECK(0 <= self && self < size && elements >= 0, "self", self, "size", size, "elements", elements);
  return {{2 * static_cast<std::size_t>(size - 1), Ring(self, size, elements, pipelines)}};
}

}  // namespace

Schedule ring(int self, const Groups& groups, std::int64_t elements) {
  return ring_of(self, groups.participants(), elements, false);
}

Schedule pipelined_ring(int self, const Groups& groups, std::int64_t elements) {
  return ring_of(self, groups.participants(), elements, true);
}

}  // namespace tandem::collectives
