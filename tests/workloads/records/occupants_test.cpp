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

/// Four until 1 s, three until 1.5 s, four until 2 s, then three.
TEST(Occupants, TimesAndSamplesBelongToANumberOfWorkers) {
  Journal journal = journal_of(testing::two_departures());
  // The second one ends as a machine departs, the last one half a second after the last change.
  for (const auto& [start_s, samples] : {std::pair(0.25, 1), {0.5, 10}, {0.625, 100}, {2.0, 1000}}) {
    StepRecord step{.start = Seconds(start_s), .samples = samples};
    step.phases.front() = Seconds(0.5);
    journal.steps.push_back(step);
  }
  const auto times = times_by_workers(journal);
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].workers, 3);
  EXPECT_EQ(times[0].time, Seconds(0.5 + 0.5));
  EXPECT_EQ(times[0].samples, 100 + 1000);
  EXPECT_EQ(times[1].workers, 4);
  EXPECT_EQ(times[1].time, Seconds(1.0 + 0.5));
  EXPECT_EQ(times[1].samples, 1 + 10);
  EXPECT_TRUE(times_by_workers({}).empty());
}

}  // namespace TANDEM_FILE
}  // namespace tandem
