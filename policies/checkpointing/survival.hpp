// The commits that are usable after machines were lost: every part has a copy on a present machine. Pure;
// knows no files.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::checkpointing {

/// One copy of a part of the commit after `round`, and the machine that holds it.
struct Copy {
  std::int64_t round = 0;
  int part = 0;
  std::string machine;
  auto operator<=>(const Copy&) const = default;
};

/// The copies without those of a lost machine.
std::vector<Copy> without_machine(std::span<const Copy> copies, std::string_view machine);

/// Rounds of the commits that have a copy of each of these parts, the latest first. Pre: there are parts.
std::vector<std::int64_t> whole_commits(std::span<const Copy> copies, std::span<const int> parts);

}  // namespace tandem::checkpointing
