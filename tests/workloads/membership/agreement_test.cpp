// The agreement of workers without servers on who is a member.
#include "workloads/membership/agreement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tandem {
namespace TANDEM_FILE {

using Slots = std::vector<int>;

TEST(Agreement, BeginsWithAll) {
  Agreement agreement(3, 3);
  EXPECT_EQ(agreement.present(), (Slots{0, 1, 2}));
  EXPECT_FALSE(agreement.begin(1));
  EXPECT_FALSE(agreement.take_members());
  EXPECT_FALSE(agreement.is_over());
}

TEST(Agreement, MembersAreKnownWhenAllAreQuiet) {
  Agreement agreement(4, 4);
  agreement.leave(1);
  ASSERT_TRUE(agreement.begin(1));
  EXPECT_FALSE(agreement.begin(2)) << "nothing has changed since";
  agreement.note_quiet(0, 1, 1, 7);
  agreement.note_quiet(2, 1, 1, 8);
  EXPECT_FALSE(agreement.take_members());
  agreement.note_quiet(3, 1, 1, 8);
  const auto members = agreement.take_members();
  ASSERT_TRUE(members);
  EXPECT_EQ(members->slots, (Slots{0, 2, 3}));
  EXPECT_EQ(members->behind, (std::vector<bool>{true, false, false}));
  EXPECT_EQ(members->source, 2);
  EXPECT_EQ(members->round, 8);
  EXPECT_FALSE(agreement.take_members()) << "only once";
}

TEST(Agreement, SlotsForSparesAreEmptyAtFirst) {
  Agreement agreement(3, 2);
  EXPECT_EQ(agreement.present(), (Slots{0, 1}));
  agreement.leave(0);
  agreement.join(2, 1);
  ASSERT_TRUE(agreement.begin(2));
  agreement.note_quiet(1, 1, 2, 7, 28);
  agreement.note_quiet(2, 1, 2, -1);
  const auto members = agreement.take_members();
  ASSERT_TRUE(members);
  EXPECT_EQ(members->slots, (Slots{1, 2}));
  EXPECT_EQ(members->behind, (std::vector<bool>{false, true}));
  EXPECT_EQ(members->taken, (std::vector<std::int64_t>{28, -1}));
}

TEST(Agreement, ANewcomerHasNoState) {
  Agreement agreement(2, 2);
  agreement.leave(0);
  agreement.join(0, 2);
  ASSERT_TRUE(agreement.begin(2));
  agreement.note_quiet(0, 1, 2, 9);  // of its slot's last occupant
  agreement.note_quiet(1, 1, 2, 0);
  EXPECT_FALSE(agreement.take_members());
  agreement.note_quiet(0, 2, 2, -1);
  EXPECT_FALSE(agreement.has_lost_state());
  const auto members = agreement.take_members();
  ASSERT_TRUE(members);
  EXPECT_EQ(members->source, 1);
  EXPECT_EQ(members->round, 0);
  EXPECT_EQ(members->behind, (std::vector<bool>{true, false}));
}

TEST(Agreement, AChangeInBetweenBeginsANewerView) {
  Agreement agreement(3, 3);
  agreement.leave(0);
  agreement.begin(1);
  agreement.note_quiet(1, 1, 1, 5);
  agreement.leave(2);
  EXPECT_FALSE(agreement.take_members());
  ASSERT_TRUE(agreement.begin(2));
  agreement.note_quiet(1, 1, 1, 5);
  EXPECT_FALSE(agreement.take_members()) << "a report of the older view";
  agreement.note_quiet(1, 1, 2, 5);
  ASSERT_TRUE(agreement.take_members());
}

/// Who still gets the state, and from whom, when the next change comes.
TEST(Agreement, KnowsWhoIsStillThere) {
  Agreement agreement(4, 3);
  EXPECT_EQ(agreement.source(), -1);
  EXPECT_FALSE(agreement.is_still_member(0));
  agreement.leave(0);
  agreement.begin(1);
  agreement.note_quiet(1, 1, 1, 7);
  agreement.note_quiet(2, 1, 1, 8);
  ASSERT_TRUE(agreement.take_members());
  EXPECT_EQ(agreement.source(), 2);
  EXPECT_FALSE(agreement.is_still_member(0));
  EXPECT_TRUE(agreement.is_still_member(1));
  // The next change does not end that; a new occupant of a slot is not the one that was there.
  agreement.leave(1);
  agreement.join(1, 2);
  agreement.join(3, 1);
  agreement.begin(2);
  EXPECT_EQ(agreement.source(), 2);
  EXPECT_FALSE(agreement.is_still_member(1));
  EXPECT_TRUE(agreement.is_still_member(2));
  EXPECT_FALSE(agreement.is_still_member(3));
}

TEST(Agreement, TheStateIsLostWithTheLastThatHadIt) {
  Agreement agreement(2, 2);
  agreement.leave(0);
  agreement.leave(1);
  agreement.begin(2);
  EXPECT_FALSE(agreement.has_lost_state()) << "a machine may still come";
  EXPECT_FALSE(agreement.is_over());
  agreement.join(1, 2);
  agreement.begin(3);
  EXPECT_FALSE(agreement.has_lost_state());
  agreement.note_quiet(1, 2, 3, -1);
  EXPECT_TRUE(agreement.has_lost_state());
  EXPECT_FALSE(agreement.take_members());
}

TEST(Agreement, EndsWhenAllHaveFinishedInOneView) {
  Agreement agreement(2, 2);
  agreement.note_finished(0, 1, 0);
  EXPECT_FALSE(agreement.is_over());
  agreement.leave(0);
  EXPECT_FALSE(agreement.is_over());
  agreement.begin(1);
  agreement.note_finished(1, 1, 0);
  EXPECT_FALSE(agreement.is_over()) << "before the change";
  agreement.note_finished(1, 1, 1);
  EXPECT_TRUE(agreement.is_over());
}

TEST(Agreement, EndsWithoutAnybodyAfterTheLastDuties) {
  for (const bool leader_finished : {false, true}) {
    Agreement agreement(2, 2);
    agreement.note_finished(leader_finished ? 0 : 1, 1, 0);
    agreement.leave(0);
    agreement.leave(1);
    EXPECT_EQ(agreement.is_over(), leader_finished);
  }
}

/// Else a newcomer in a lower slot would do the duties at the end once more.
TEST(Agreement, WhoHasDoneTheLastDutiesLeadsWhileItIsThere) {
  Agreement agreement(3, 3);
  const auto leader_after = [&agreement](std::int64_t view) {
    agreement.begin(view);
    for (const int slot : agreement.present())
      agreement.note_quiet(slot, agreement.incarnation(slot), view, 10);
    return agreement.take_members()->leader;
  };
  agreement.leave(0);
  EXPECT_EQ(leader_after(1), 1);
  agreement.join(0, 2);
  // It says so before it knows of the change.
  agreement.note_finished(1, 1, 1);
  EXPECT_EQ(leader_after(2), 1);
  agreement.leave(1);
  EXPECT_EQ(leader_after(3), 0);
  agreement.note_finished(2, 1, 3);
  agreement.join(1, 2);
  EXPECT_EQ(leader_after(4), 0) << "slot 2 did not lead";
}

/// Whatever the order of changes and reports: members are taken as soon as each of them has reported in the
/// same view, and one of them has the state; the source is one that has the most, and nobody ahead of it is
/// left out.
TEST(Agreement, IsSoundInAnyOrder) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const int slots = 1 + static_cast<int>(random() % 5);
    Agreement agreement(slots, slots);
    std::vector<std::int64_t> rounds(static_cast<std::size_t>(slots), 0), reported(rounds.size(), -2);
    std::int64_t view = 0;
    bool has_changed = false, is_open = false;
    for (int event = 0; event < 200; ++event) {
      const int slot = static_cast<int>(random() % static_cast<unsigned>(slots));
      const auto index = static_cast<std::size_t>(slot);
      switch (random() % 6) {
        case 0:
          if (!agreement.is_present(slot) || random() % 3 != 0) break;
          agreement.leave(slot);
          has_changed = true;
          break;
        case 1:
          if (agreement.is_present(slot)) break;
          agreement.join(slot, agreement.incarnation(slot) + 1);
          rounds[index] = -1;
          reported[index] = -2;
          has_changed = true;
          break;
        case 2:
          ASSERT_EQ(agreement.begin(++view), has_changed);
          if (!has_changed) break;
          std::fill(reported.begin(), reported.end(), -2);
          has_changed = false;
          is_open = true;
          break;
        default:
          if (!agreement.is_present(slot)) break;
          agreement.note_quiet(slot, agreement.incarnation(slot), agreement.view(), rounds[index]);
          reported[index] = rounds[index];
      }
      const auto members = agreement.take_members();
      std::int64_t least = 0, most = -1;
      for (const int present : agreement.present()) {
        least = std::min(least, reported[static_cast<std::size_t>(present)]);
        most = std::max(most, reported[static_cast<std::size_t>(present)]);
      }
      ASSERT_EQ(members.has_value(), is_open && !has_changed && least > -2 && most >= 0);
      if (!members) continue;
      is_open = false;
      ASSERT_EQ(members->slots, agreement.present());
      for (std::size_t i = 0; i < members->slots.size(); ++i) {
        const auto member = static_cast<std::size_t>(members->slots[i]);
        ASSERT_GE(reported[member], -1);
        ASSERT_LE(reported[member], members->round);
        ASSERT_EQ(members->behind[i], reported[member] < members->round);
        rounds[member] = members->round + static_cast<std::int64_t>(random() % 2);
      }
      ASSERT_EQ(reported[static_cast<std::size_t>(members->source)], members->round);
      ASSERT_GE(members->round, 0);
    }
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
