// The rows of membership.csv as stays of machines.
#include "workloads/records/occupants.hpp"

#include <gtest/gtest.h>

#include "tests/support/member_results.hpp"

namespace tandem {
namespace TANDEM_FILE {

Journal journal_of(testing::MemberRows rows) {
  Journal journal;
  journal.membership = std::move(rows);
  return journal;
}

TEST(Occupants, AreOrderedBySlotAndIncarnation) {
  const auto occupants = occupants_of(journal_of(testing::two_departures()));
  ASSERT_EQ(occupants.size(), 5U);
  const Occupant &lost = occupants[2], &newcomer = occupants[3], &revoked = occupants[4];
  EXPECT_EQ(lost.slot, 2);
  EXPECT_EQ(lost.cause, "lost");
  EXPECT_EQ(lost.departed, Seconds(1.0));
  EXPECT_EQ(lost.noticed, Seconds(1.1));
  EXPECT_EQ(lost.gone, Seconds(1.02));
  EXPECT_EQ(lost.lifetime(), Seconds(1.0));
  EXPECT_FALSE(lost.arrived());
  EXPECT_EQ(newcomer.incarnation, 2);
  EXPECT_TRUE(newcomer.arrived());
  EXPECT_EQ(newcomer.ready, Seconds(1.5));
  EXPECT_FALSE(newcomer.departed);
  EXPECT_FALSE(newcomer.lifetime());
  EXPECT_EQ(revoked.warned, Seconds(1.8));
  EXPECT_EQ(revoked.host, "lab-4");
}

TEST(Occupants, RequestsAndPausesAreAboutNoMachine) {
  EXPECT_TRUE(occupants_of(journal_of({testing::member_row(1, 0, 1, "requested"),
                                       testing::member_row(1, 0, 1, "refused"),
                                       testing::member_row(1, -1, 0, "paused")}))
                  .empty());
}

TEST(Occupants, WorkersAreLiveFromJoiningToDeparture) {
  auto rows = testing::two_departures();
  // It waits, and is never a worker.
  rows.push_back(testing::member_row(2.5, 3, 2, "ready"));
  rows.push_back(testing::member_row(2.7, 3, 2, "departed", "lost"));
  const auto occupants = occupants_of(journal_of(rows));
  using Live = std::vector<std::pair<Seconds, int>>;
  EXPECT_EQ(live_workers(occupants),
            (Live{{Seconds(0), 4}, {Seconds(1), 3}, {Seconds(1.5), 4}, {Seconds(2), 3}}));
  using Absences = std::vector<std::pair<Seconds, Seconds>>;
  EXPECT_EQ(absences(occupants, 2, Seconds(5)), (Absences{{Seconds(1), Seconds(1.5)}}));
  EXPECT_EQ(absences(occupants, 3, Seconds(5)), (Absences{{Seconds(2), Seconds(5)}}));
  EXPECT_TRUE(absences(occupants, 0, Seconds(5)).empty());
}

}  // namespace TANDEM_FILE
}  // namespace tandem
