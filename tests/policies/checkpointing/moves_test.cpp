// Which machine sends which part to which other one: by hand, and what must hold for all.
#include "policies/checkpointing/moves.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "policies/checkpointing/buddies.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::checkpointing {
namespace TANDEM_FILE {

using Copies = std::vector<Copy>;
using Moves = std::vector<Move>;

TEST(Moves, OnlyWhatIsMissingFromOneThatHasIt) {
  const Copies there = {{4, 0, "a"}, {4, 0, "b"}, {4, 1, "b"}};
  EXPECT_TRUE(plan_moves(there, there).empty());
  EXPECT_EQ(plan_moves(there, Copies{{4, 0, "a"}, {4, 1, "c"}}), (Moves{{1, "b", "c"}}));
  // Nobody has it.
  EXPECT_TRUE(plan_moves(there, Copies{{4, 2, "a"}}).empty());
  EXPECT_TRUE(plan_moves({}, there).empty());
}

/// The machine with the fewest parts to send so far sends the next one.
TEST(Moves, AreSharedAmongThoseThatHaveThePart) {
  const Copies there = {{4, 0, "a"}, {4, 1, "a"}, {4, 1, "b"}, {4, 2, "a"}, {4, 2, "b"}};
  EXPECT_EQ(plan_moves(there, Copies{{4, 0, "c"}, {4, 1, "c"}, {4, 2, "c"}}),
            (Moves{{0, "a", "c"}, {1, "b", "c"}, {2, "a", "c"}}));
}

/// Any machines are lost, but none together with its buddy, and the others deal the parts among themselves:
/// afterwards each part is again on two machines, those of its new owner and of the buddy of that one.
TEST(Moves, MakeEachPartSafeAgain) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    std::vector<std::string> machines;
    const std::size_t count = 2 + rng.below(8);
    for (std::size_t i = 0; i < count; ++i) machines.push_back("m" + std::to_string(i));
    const Buddies before = make_buddies(machines);
    Copies copies;
    for (int part = 0; part < std::ssize(machines); ++part)
      for (const auto& holder : holders_of(before, machines[static_cast<std::size_t>(part)]))
        copies.push_back({8, part, holder});
    std::vector<std::string> left = machines;
    for (const auto& machine : machines) {
      const bool pair_lost = std::ranges::any_of(before, [&](const auto& pair) {
        const auto& [one, other] = pair;
        const auto is_gone = [&](const std::string& name) {
          return name == machine || std::ranges::find(left, name) == left.end();
        };
        return is_gone(one) && is_gone(other);
      });
      if (left.size() < 2 || pair_lost || rng.below(2) == 0) continue;
      std::erase(left, machine);
      copies = without_machine(copies, machine);
    }
    const Buddies after = make_buddies(left);
    Copies wanted;
    for (int part = 0; part < std::ssize(machines); ++part)
      for (const auto& holder : holders_of(after, left[static_cast<std::size_t>(part) % left.size()]))
        wanted.push_back({8, part, holder});
    for (const Move& move : plan_moves(copies, wanted)) {
      EXPECT_NE(std::ranges::find(copies, Copy{8, move.part, move.from}), copies.end());
      copies.push_back({8, move.part, move.to});
    }
    for (const Copy& copy : wanted) EXPECT_NE(std::ranges::find(copies, copy), copies.end()) << copy.machine;
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::checkpointing
