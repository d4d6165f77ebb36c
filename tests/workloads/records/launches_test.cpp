// The launches of a job that started again.
#include "workloads/records/launches.hpp"

#include <gtest/gtest.h>

#include "tests/support/member_results.hpp"

namespace tandem {
namespace TANDEM_FILE {

TEST(Launches, AreThoseOfRunJson) {
  RunInfo info;
  info.world = "measured";
  EXPECT_TRUE(to_json(info).at("generations").is_null());
  EXPECT_TRUE(run_info_from_json(to_json(info)).generations.empty());
  info.generations = testing::three_launches();
  info.generations[0].lost_samples = 12;
  info.generations[1].slots = {0, 2};
  info.generations[1].workers = 2;
  info.generations[2].lost_commit = 50;
  const auto document = to_json(info).at("generations");
  EXPECT_EQ(document.at(0).at("ended"), "the machine of worker 2 on 'lab-3' departed (lost)");
  EXPECT_TRUE(document.at(1).at("began_s").is_null());
  EXPECT_FALSE(document.at(1).contains("lost_samples"));
  EXPECT_TRUE(document.at(2).at("ended").is_null());
  EXPECT_EQ(run_info_from_json(to_json(info)).generations, info.generations);
}

/// The clock of the job begins when the ranks of its first launch are ready.
TEST(Launches, TakeTimeAfterTheFirst) {
  const auto launches = testing::three_launches();
  EXPECT_FALSE(launches[0].ready_after());
  EXPECT_FALSE(launches[1].ready_after());
  EXPECT_EQ(launches[2].ready_after(), Seconds(0.25));
  EXPECT_EQ(ready_times_s(launches), std::vector<double>{0.25});
}

TEST(Launches, OfOlderVersionsHaveNoTimes) {
  auto launches = testing::three_launches();
  for (auto& launch : launches) launch.launched.reset();
  EXPECT_TRUE(ready_times_s(launches).empty());
}

}  // namespace TANDEM_FILE
}  // namespace tandem
