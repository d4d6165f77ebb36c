// Binary blocks: any number of participants as blocks whose sizes are different powers of two. Each block
// does recursive halving on its own. Then each block passes its sums to the next larger block, and the
// results return along the same path. Source: Rabenseifner, Träff, EuroPVM/MPI 2004.
#include <bit>
#include <utility>

#include "policies/collectives/building_blocks.hpp"
#include "policies/collectives/shapes.hpp"

namespace tandem::collectives {
namespace {

/// Participants that follow each other. `size` is a power of two.
struct Block {
  int first;
  int size;
  bool has(int participant) const { return first <= participant && participant < first + size; }
};

/// The largest first.
std::vector<Block> blocks_of(int size) {
  std::vector<Block> blocks;
  for (int first = 0; first < size;) {
    const int largest = static_cast<int>(std::bit_floor(static_cast<unsigned>(size - first)));
    blocks.push_back({first, largest});
    first += largest;
  }
  return blocks;
}

/// Each participant of the smaller block spreads its segment over those of the larger one that hold parts of
/// it, one per round: sent concurrently, the messages would only share its link.
std::vector<Round> handover(const Block& smaller, const Block& larger, int self, const Segments& segments) {
  std::vector<Round> rounds;
  for (int first = 0; first < larger.size; first += smaller.size) {
    Round round;
    if (smaller.has(self)) {
      const int number = first + self - smaller.first;
      append(round, Transfer::Kind::send, larger.first + number, segments.of(number, larger.size));
    }
    const int number = self - larger.first;
    if (first <= number && number < first + smaller.size)
      append(round, Transfer::Kind::receive_and_reduce, smaller.first + number - first,
             segments.of(number, larger.size));
    rounds.push_back(std::move(round));
  }
  return rounds;
}

}  // namespace

Schedule binary_blocks(int self, const Groups& groups, std::int64_t elements) {
  const int size = groups.participants();
  TANDEM_CHECK(0 <= self && self < size && elements >= 0, "self", self, "size", size, "elements", elements);
  const std::vector<Block> blocks = blocks_of(size);
  const int largest = blocks.front().size;
  const Segments segments(elements, largest);
  std::vector<Round> rounds;
  for (const Block& block : blocks)
    if (block.has(self))
      append_halving(
          segments, self - block.first, block.size, [&](int number) { return block.first + number; }, rounds);
  const std::size_t halvings = static_cast<std::size_t>(levels_of(largest));
  rounds.resize(halvings);
  for (std::size_t smaller = blocks.size() - 1; smaller > 0; --smaller)
    for (const Round& round : handover(blocks[smaller], blocks[smaller - 1], self, segments))
      rounds.push_back(round);
  // Segments that were handed over first come back first, so that no block waits for the last one before it
  // passes them on.
  for (std::size_t smaller = 1; smaller < blocks.size(); ++smaller)
    for (const Round& round : handover(blocks[smaller], blocks[smaller - 1], self, segments))
      rounds.push_back(mirrored(round));
  append_way_back(halvings, rounds);
  return Schedule{std::move(rounds)};
}

}  // namespace tandem::collectives
