// Scripts of ServerMembers, and all orders of a few departures and arrivals.
#include "workloads/roles/server/server_members.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace tandem {
namespace TANDEM_FILE {
namespace {

constexpr ServerMembers::Setting three = {.slots = 3, .first = 3, .may_change = true, .batch = 8};

TEST(ServerMembers, WithoutAStewardTheJobIsOverWhenAllHaveLeft) {
  ServerMembers members({.slots = 2, .first = 2});
  members.leave(0, false);
  EXPECT_FALSE(members.is_over());
  EXPECT_FALSE(members.are_all_there());
  members.leave(1, false);
  EXPECT_TRUE(members.is_over());
  // The learning rate does not follow them.
  EXPECT_EQ(members.rate_factor(), 1.0);
}

TEST(ServerMembers, WithAStewardAlsoNobodyMayJoinAnyMore) {
  ServerMembers members(three);
  for (const int worker : {0, 1, 2}) members.leave(worker, false);
  EXPECT_FALSE(members.is_over());
  members.end_joins();
  EXPECT_TRUE(members.is_over());
}

TEST(ServerMembers, ANewcomerCountsWhenItHasJoined) {
  ServerMembers members(three);
  members.depart(1);
  EXPECT_EQ(members.members(), 2);
  // The policy does not know of it yet.
  EXPECT_TRUE(members.are_all_there());
  members.leave(1, false);
  EXPECT_FALSE(members.are_all_there());
  members.begin_join(1);
  EXPECT_TRUE(members.is_present(1));
  EXPECT_FALSE(members.is_member(1));
  EXPECT_EQ(members.members(), 2);
  members.join(1);
  EXPECT_EQ(members.members(), 3);
}

TEST(ServerMembers, LearningRateAndBatchesFollowTheirNumber) {
  ServerMembers::Setting setting = three;
  setting.rate_scale = RateScale::linear;
  setting.batch_rule = BatchRule::global;
  ServerMembers members(setting);
  EXPECT_FALSE(members.batch(0));
  members.leave(1, false);
  EXPECT_EQ(members.pushes_per_round(), 2);
  EXPECT_DOUBLE_EQ(members.rate_factor(), 2.0 / 3.0);
  EXPECT_EQ(members.batch(0), 12);
  EXPECT_EQ(members.batch(1), 0);
  EXPECT_EQ(members.batch(2), 12);
  members.begin_join(1);
  members.join(1);
  members.rescale();
  EXPECT_EQ(members.batch(1), 8);
  EXPECT_DOUBLE_EQ(members.rate_factor(), 1.0);
}

TEST(ServerMembers, WithFewerThanTheJobNeedsTheRoundWaitsForOthersInTheirSlots) {
  ServerMembers::Setting setting = three;
  setting.least = 3;
  ServerMembers members(setting);
  EXPECT_FALSE(members.is_short(false));
  EXPECT_TRUE(members.lose_place(1));
  EXPECT_FALSE(members.lose_place(1));
  EXPECT_TRUE(members.is_short(false));
  members.leave(1, true);
  EXPECT_FALSE(members.take_left(false));
  // The newcomer counts when it has joined, and nobody else is waited for.
  members.begin_join(1);
  members.take_place(1);
  EXPECT_TRUE(members.is_short(false));
  members.join(1);
  EXPECT_FALSE(members.is_short(false));
  EXPECT_TRUE(members.take_awaited(1));
  EXPECT_FALSE(members.take_awaited(1));
  EXPECT_FALSE(members.take_left(false));
}

TEST(ServerMembers, AJobThatEndsWaitsForNobody) {
  ServerMembers::Setting setting = three;
  setting.least = 3;
  ServerMembers members(setting);
  for (const int worker : {2, 0}) {
    members.lose_place(worker);
    members.leave(worker, true);
  }
  EXPECT_FALSE(members.take_left(false));
  EXPECT_EQ(members.take_left(true), 0);
  EXPECT_EQ(members.take_left(true), 2);
  EXPECT_FALSE(members.take_left(true));
}

TEST(ServerMembers, TheCoordinatorAsksOnceForTheEnd) {
  for (const bool is_coordinator : {false, true}) {
    ServerMembers::Setting setting = three;
    setting.is_coordinator = is_coordinator;
    ServerMembers members(setting);
    members.leave(0, false);
    members.leave(1, false);
    EXPECT_FALSE(members.takes_end(true));
    members.leave(2, false);
    EXPECT_FALSE(members.takes_end(false));
    EXPECT_EQ(members.takes_end(true), is_coordinator);
    EXPECT_FALSE(members.takes_end(true));
  }
}

/// What may happen to a worker, as far as it may happen now.
void try_all(const ServerMembers& members, const std::string& before, int length, int& sequences) {
  int found = 0;
  for (const int worker : {0, 1, 2}) found += members.is_member(worker) ? 1 : 0;
  ASSERT_EQ(members.members(), found) << before;
  ASSERT_GE(members.pushes_per_round(), 1) << before;
  bool is_empty = true;
  for (const int worker : {0, 1, 2}) is_empty = is_empty && !members.is_present(worker);
  ServerMembers closed = members;
  closed.end_joins();
  ASSERT_EQ(closed.is_over(), is_empty) << before;
  ++sequences;
  if (length == 0) return;
  const auto go_on = [&](int worker, const char* event, const std::function<void(ServerMembers&)>& happen) {
    ServerMembers next = members;
    happen(next);
    try_all(next, before + event + std::to_string(worker) + ' ', length - 1, sequences);
  };
  for (const int worker : {0, 1, 2}) {
    if (members.is_member(worker)) {
      go_on(worker, "leave ", [&](ServerMembers& next) { next.leave(worker, false); });
      go_on(worker, "lost ", [&](ServerMembers& next) {
        next.depart(worker);
        next.lose_place(worker);
        next.leave(worker, next.is_short(false));
      });
    } else if (members.is_present(worker)) {
      go_on(worker, "cancel ", [&](ServerMembers& next) { next.cancel_join(worker); });
      go_on(worker, "join ", [&](ServerMembers& next) {
        next.join(worker);
        next.take_awaited(worker);
        next.rescale();
      });
    } else {
      go_on(worker, "begin ", [&](ServerMembers& next) {
        next.begin_join(worker);
        next.take_place(worker);
      });
    }
  }
}

TEST(ServerMembers, InAnyOrderTheyAreThoseWhoAreThere) {
  ServerMembers::Setting setting = three;
  setting.least = 2;
  setting.batch_rule = BatchRule::global;
  int sequences = 0;
  try_all(ServerMembers(setting), "", 5, sequences);
  EXPECT_GT(sequences, 1000);
}

}  // namespace
}  // namespace TANDEM_FILE
}  // namespace tandem
