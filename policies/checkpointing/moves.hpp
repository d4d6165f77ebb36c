// Plans the copies of parts of a commit between machines, so that each machine has the parts that it needs.
// Pure; knows no files.
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

/// `there`: the present copies of parts of one commit; `wanted`: the copies that should be there, each once.
/// A machine that lacks a wanted copy gets it from a machine with a present one: the one with the fewest
/// parts to send so far, and of several the first in `there`. In the order of `wanted`; nothing for a part
/// that no machine has.
std::vector<Move> plan_moves(std::span<const Copy> there, std::span<const Copy> wanted);

}  // namespace tandem::checkpointing
