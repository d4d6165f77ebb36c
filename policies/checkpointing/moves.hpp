// Which machine sends which part of a commit to which other one, so that each has what it needs. Pure; knows
// no files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "policies/checkpointing/survival.hpp"

namespace tandem::checkpointing {

/// A copy of a part, from one machine to another.
struct Move {
  int part = 0;
  std::string from;
  std::string to;
  bool operator==(const Move&) const = default;
};

/// `there`, `wanted`: copies of parts of one commit; in `wanted` each once. A machine that lacks a wanted
/// copy gets it from one that has it as the job begins: that which has the fewest parts to send so far, and
/// of those the first in `there`. In the order of `wanted`; nothing for a part that no machine has.
std::vector<Move> plan_moves(std::span<const Copy> there, std::span<const Copy> wanted);

}  // namespace tandem::checkpointing
