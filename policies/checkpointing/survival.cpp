#include "policies/checkpointing/survival.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "policies/vocabulary/check.hpp"

namespace tandem::checkpointing {

std::vector<Copy> without_machine(std::span<const Copy> copies, std::string_view machine) {
  std::vector<Copy> left;
  std::ranges::copy_if(copies, std::back_inserter(left),
                       [&](const Copy& copy) { return copy.machine != machine; });
  return left;
}

std::vector<std::int64_t> whole_commits(std::span<const Copy> copies, std::span<const int> parts) {
  TANDEM_CHECK(!parts.empty(), "parts", parts.size());
  std::map<std::int64_t, std::set<int>, std::greater<>> there;
  for (const Copy& copy : copies) there[copy.round].insert(copy.part);
  std::vector<std::int64_t> rounds;
  for (const auto& [round, found] : there)
    if (std::ranges::all_of(parts, [&](int part) { return found.contains(part); })) rounds.push_back(round);
  return rounds;
}

}  // namespace tandem::checkpointing
