// Which commits can still be used after machines were lost: those of which every part has a copy on a machine
// that is there. Pure; knows no files.
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

/// What is left when a machine is lost.
std::vector<Copy> without_machine(std::span<const Copy> copies, std::string_view machine);

/// Rounds of the commits of which each of these parts has a copy, the latest first. Pre: there are parts.
std::vector<std::int64_t> whole_commits(std::span<const Copy> copies, std::span<const int> parts);

}  // namespace tandem::checkpointing
