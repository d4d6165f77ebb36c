// Which commits survive which losses, by hand and against a direct count over random histories.
#include "policies/checkpointing/survival.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/rng.hpp"

namespace tandem::checkpointing {
namespace TANDEM_FILE {

using Rounds = std::vector<std::int64_t>;
using Copies = std::vector<Copy>;

TEST(Survival, OnlyCommitsWithAllPartsCountAndTheLatestIsFirst) {
  const Copies copies = {{4, 0, "a"}, {4, 1, "b"}, {12, 0, "a"}, {8, 1, "b"}, {8, 0, "a"}, {8, 7, "c"}};
  EXPECT_EQ(whole_commits(copies, std::vector{0, 1}), (Rounds{8, 4}));
  EXPECT_EQ(whole_commits(copies, std::vector{0}), (Rounds{12, 8, 4}));
  EXPECT_EQ(whole_commits(copies, std::vector{7, 0}), Rounds{8});
  EXPECT_TRUE(whole_commits({}, std::vector{0}).empty());
}

TEST(Survival, AMachineTakesItsPartsAlong) {
  const Copies copies = {{4, 0, "a"}, {4, 1, "b"}, {8, 0, "a"}, {8, 1, "c"}};
  EXPECT_EQ(whole_commits(without_machine(copies, "c"), std::vector{0, 1}), Rounds{4});
  EXPECT_EQ(whole_commits(without_machine(copies, "b"), std::vector{0, 1}), Rounds{8});
  EXPECT_TRUE(whole_commits(without_machine(copies, "a"), std::vector{0, 1}).empty());
  EXPECT_EQ(without_machine(copies, "d"), copies);
}

/// Commits, some of which are not finished, and losses in random order: what is left is what a direct count
/// of the copies says, a loss never makes a commit whole, and a commit that was written as a whole after the
/// last loss is there.
TEST(Survival, RandomHistoriesAgreeWithADirectCount) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng random = Rng::stream(seed, "survival");
    const int parts = 1 + static_cast<int>(random.below(4));
    const std::uint64_t machines = 1 + random.below(4);
    std::vector<int> needed;
    std::vector<std::string> machine_of;
    for (int part = 0; part < parts; ++part) {
      needed.push_back(part);
      machine_of.push_back("m" + std::to_string(random.below(machines)));
    }
    Copies copies;
    std::set<std::pair<std::int64_t, int>> there;
    std::int64_t last_whole = 0;
    for (std::int64_t round = 1; round <= 20; ++round) {
      const bool is_struck = random.below(3) == 0;
      for (const int part : needed) {
        if (is_struck && random.below(2) == 0) continue;
        copies.push_back({round, part, machine_of[static_cast<std::size_t>(part)]});
        there.emplace(round, part);
      }
      const auto is_there = [&](int part) { return there.contains({round, part}); };
      if (std::ranges::all_of(needed, is_there)) last_whole = round;
      const Rounds before = whole_commits(copies, needed);
      EXPECT_EQ(before.empty() ? 0 : before.front(), last_whole);
      if (random.below(4) != 0) continue;
      const std::string lost = "m" + std::to_string(random.below(machines));
      copies = without_machine(copies, lost);
      std::erase_if(
          there, [&](const auto& one) { return machine_of[static_cast<std::size_t>(one.second)] == lost; });
      const Rounds after = whole_commits(copies, needed);
      EXPECT_TRUE(std::ranges::includes(before, after, std::greater()));
      Rounds counted;
      for (std::int64_t one = round; one >= 1; --one)
        if (std::ranges::all_of(needed, [&](int part) { return there.contains({one, part}); }))
          counted.push_back(one);
      EXPECT_EQ(after, counted);
      last_whole = counted.empty() ? 0 : counted.front();
    }
  }
}

/// With a second copy of each part on another machine, any one loss leaves every commit.
TEST(Survival, PairsSurviveOneLoss) {
  Copies copies;
  std::vector<int> needed;
  constexpr int machines = 5;
  for (int part = 0; part < machines; ++part) {
    needed.push_back(part);
    for (const std::int64_t round : {10, 20})
      for (const int holder : {part, (part + 1) % machines})
        copies.push_back({round, part, "m" + std::to_string(holder)});
  }
  for (int lost = 0; lost < machines; ++lost) {
    const Copies left = without_machine(copies, "m" + std::to_string(lost));
    EXPECT_EQ(whole_commits(left, needed), (Rounds{20, 10}));
    for (int next = 0; next < machines; ++next) {
      const bool is_pair = next == (lost + 1) % machines || lost == (next + 1) % machines;
      EXPECT_EQ(whole_commits(without_machine(left, "m" + std::to_string(next)), needed).empty(),
                is_pair && next != lost);
    }
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::checkpointing
