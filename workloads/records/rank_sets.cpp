#include "workloads/records/rank_sets.hpp"

#include <cstddef>
#include <sstream>

namespace tandem {

std::string text_of_ranks(std::span<const Rank> ranks) {
  std::string text;
  for (std::size_t first = 0; first < ranks.size();) {
    std::size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (first > 0) text += ' ';
    text += std::to_string(ranks[first]);
    if (last > first) text += '-' + std::to_string(ranks[last]);
    first = last + 1;
  }
  return text;
}

std::vector<Rank> ranks_of_text(const std::string& text) {
  std::vector<Rank> ranks;
  std::istringstream ranges(text);
  for (Rank first = 0; ranges >> first;) {
    Rank last = first;
    if (ranges.peek() == '-') {
      ranges.get();
      ranges >> last;
    }
    for (Rank rank = first; rank <= last; ++rank) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace tandem
