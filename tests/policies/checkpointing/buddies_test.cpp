// Who keeps copies for whom, and that a commit survives exactly the losses that leave a holder of each part.
#include "policies/checkpointing/buddies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "policies/checkpointing/survival.hpp"

namespace tandem::checkpointing {
namespace TANDEM_FILE {

std::vector<std::string> machines_of(int count) {
  std::vector<std::string> machines;
  for (int i = 0; i < count; ++i) machines.push_back("m" + std::to_string(i));
  return machines;
}

TEST(Buddies, AreARingInTheGivenOrder) {
  const std::vector<std::string> machines = {"c", "a", "b"};
  EXPECT_EQ(make_buddies(machines), (Buddies{{"a", "b"}, {"b", "c"}, {"c", "a"}}));
  EXPECT_EQ(make_buddies(machines_of(2)), (Buddies{{"m0", "m1"}, {"m1", "m0"}}));
  EXPECT_TRUE(make_buddies(machines_of(1)).empty());
  EXPECT_TRUE(make_buddies({}).empty());
  const std::vector<std::string> twice = {"a", "b", "a"};
  EXPECT_DEATH(make_buddies(twice), "machine a");
}

TEST(Buddies, AreBackupsInTurn) {
  const std::vector<std::string> backups = {"s", "t"}, with_one = {"a", "s", "b", "c"};
  EXPECT_EQ(make_buddies(machines_of(3), backups), (Buddies{{"m0", "s"}, {"m1", "t"}, {"m2", "s"}}));
  EXPECT_EQ(make_buddies(with_one, backups), (Buddies{{"a", "s"}, {"s", "t"}, {"b", "s"}, {"c", "t"}}));
  // A single backup has no one to keep copies of its own parts.
  EXPECT_EQ(make_buddies(with_one, std::span(backups).first(1)),
            (Buddies{{"a", "s"}, {"b", "s"}, {"c", "s"}}));
}

TEST(Buddies, HoldBothCopies) {
  const Buddies buddies = make_buddies(machines_of(3));
  EXPECT_EQ(holders_of(buddies, "m2"), (std::vector<std::string>{"m2", "m0"}));
  EXPECT_EQ(holders_of({}, "m2"), std::vector<std::string>{"m2"});
}

/// Each machine keeps the copies of exactly one other machine, never its own.
TEST(Buddies, ShareTheLoad) {
  for (int count = 2; count <= 9; ++count) {
    std::set<std::string> keepers;
    for (const auto& [machine, buddy] : make_buddies(machines_of(count))) {
      EXPECT_NE(machine, buddy);
      keepers.insert(buddy);
    }
    EXPECT_EQ(std::ssize(keepers), count);
  }
}

/// All losses of up to seven machines, for commits whose parts are on some of them: the commit is whole iff
/// no part has lost both its machine and that machine's buddy.
TEST(Buddies, SurviveEveryLossThatLeavesAHolderOfEachPart) {
  for (int count = 2; count <= 7; ++count) {
    const auto machines = machines_of(count);
    const Buddies buddies = make_buddies(machines);
    for (std::uint32_t with_parts = 1; with_parts < 1U << count; with_parts += 3)
      for (std::uint32_t lost = 0; lost < 1U << count; ++lost) {
        const auto is_in = [&](std::uint32_t set, int machine) {
          return (set >> (machine % count) & 1U) != 0;
        };
        std::vector<Copy> copies;
        std::vector<int> parts;
        bool survives = true;
        for (int part = 0; part < count; ++part) {
          if (!is_in(with_parts, part)) continue;
          parts.push_back(part);
          for (const auto& holder : holders_of(buddies, machines[static_cast<std::size_t>(part)]))
            copies.push_back({4, part, holder});
          survives = survives && !(is_in(lost, part) && is_in(lost, part + 1));
        }
        for (int machine = 0; machine < count; ++machine)
          if (is_in(lost, machine))
            copies = without_machine(copies, machines[static_cast<std::size_t>(machine)]);
        EXPECT_EQ(!whole_commits(copies, parts).empty(), survives)
            << count << " machines, parts on " << with_parts << ", lost " << lost;
      }
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::checkpointing
