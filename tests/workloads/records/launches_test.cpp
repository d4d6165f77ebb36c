// The launches of a job that started again.
#include "workloads/records/launches.hpp"

#include <gtest/gtest.h>

#include "tests/support/member_results.hpp"

namespace tandem {
namespace TANDEM_FILE {

TEST(Launches, AreThoseOfRunJson) {
  const auto launches = launches_of(testing::three_launches());
  ASSERT_EQ(launches.size(), 3U);
  EXPECT_EQ(launches[0].number, 0);
  EXPECT_EQ(launches[0].began, Seconds(0));
  EXPECT_EQ(launches[0].ended, "the machine of worker 2 on 'lab-3' departed (lost)");
  EXPECT_EQ(launches[1].launched, Seconds(1.5));
  EXPECT_FALSE(launches[1].began);
  EXPECT_EQ(launches[2].number, 2);
  EXPECT_EQ(launches[2].round, 50);
  EXPECT_EQ(launches[2].began, Seconds(2.25));
  EXPECT_EQ(launches[2].ended, "");
}

/// The clock of the job begins when the ranks of its first launch are ready.
TEST(Launches, TakeTimeAfterTheFirst) {
  const auto launches = launches_of(testing::three_launches());
  EXPECT_FALSE(launches[0].ready_after());
  EXPECT_FALSE(launches[1].ready_after());
  EXPECT_EQ(launches[2].ready_after(), Seconds(0.25));
  EXPECT_EQ(ready_times_s(launches), std::vector<double>{0.25});
}

TEST(Launches, OfOlderVersionsHaveNoTimes) {
  auto generations = testing::three_launches();
  for (auto& generation : generations) generation.erase("launched_s");
  EXPECT_TRUE(ready_times_s(launches_of(generations)).empty());
}

TEST(Launches, OfAJobThatDidNotStartAgainAreNone) { EXPECT_TRUE(launches_of(nullptr).empty()); }

}  // namespace TANDEM_FILE
}  // namespace tandem
