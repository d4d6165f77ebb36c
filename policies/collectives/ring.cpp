// The bandwidth-optimal ring. Source: Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009.
#include "policies/collectives/building_blocks.hpp"
#include "policies/collectives/shapes.hpp"

namespace tandem::collectives {
namespace {

/// The rule of a ring's rounds. A step passes a piece on and receives the piece before it.
class Ring {
 public:
  Ring(int self, int size, std::int64_t elements) : self_(self), size_(size), pieces_(elements, size) {}

  void operator()(std::size_t number, Round& round) const {
    const int steps = size_ - 1;
    const int step = static_cast<int>(number) % steps;
    const bool reduces = static_cast<int>(number) < steps;
    const int sent = self_ - step + (reduces ? 0 : 1);
    append(round, Transfer::Kind::send, wrapped(self_ + 1), pieces_[wrapped(sent)]);
    append(round, reduces ? Transfer::Kind::receive_and_reduce : Transfer::Kind::receive, wrapped(self_ - 1),
           pieces_[wrapped(sent - 1)]);
  }

 private:
  /// Pre: -size <= index < 2 size.
  int wrapped(int index) const { return index < 0 ? index + size_ : index < size_ ? index : index - size_; }

  int self_;
  int size_;
  Parts pieces_;
};

}  // namespace

Schedule ring(int self, const Groups& groups, std::int64_t elements) {
  const int size = groups.participants();
  TANDEM_CHECK(0 <= self && self < size && elements >= 0, "self", self, "size", size, "elements", elements);
  return {{2 * static_cast<std::size_t>(size - 1), Ring(self, size, elements)}};
}

}  // namespace tandem::collectives
