#include "policies/checkpointing/moves.hpp"

#include <algorithm>
#include <map>

namespace tandem::checkpointing {

std::vector<Move> plan_moves(std::span<const Copy> there, std::span<const Copy> wanted) {
  std::vector<Move> moves;
  std::map<std::string, int> sends;
  for (const Copy& copy : wanted) {
    if (std::ranges::find(there, copy) != there.end()) continue;
    const Copy* source = nullptr;
    for (const Copy& other : there)
      if (other.part == copy.part && (source == nullptr || sends[other.machine] < sends[source->machine]))
        source = &other;
    if (source == nullptr) continue;
    ++sends[source->machine];
    moves.push_back({copy.part, source->machine, copy.machine});
  }
  return moves;
}

}  // namespace tandem::checkpointing
