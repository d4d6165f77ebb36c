// When checkpoints are due: at the first round at or after each multiple of the interval.
#include "workloads/job/plan/checkpoint_schedule.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tandem {
namespace TANDEM_FILE {

/// The rounds up to `end` at which a checkpoint is due, if a rank sees every `stride`-th round.
std::vector<int> due(CheckpointSchedule interval, int end, int stride = 1) {
  std::vector<int> rounds;
  for (int round = stride; round <= end; round += stride) {
    if (!interval.has_passed(round)) continue;
    interval.begin_again(round);
    rounds.push_back(round);
  }
  return rounds;
}

TEST(CheckpointSchedule, IsDueAtItsMultiples) {
  EXPECT_EQ(due({3, 0}, 10), (std::vector<int>{3, 6, 9}));
  EXPECT_EQ(due({1, 0}, 3), (std::vector<int>{1, 2, 3}));
}

TEST(CheckpointSchedule, SkippedMultiplesCountOnce) {
  EXPECT_EQ(due({3, 0}, 20, 5), (std::vector<int>{5, 10, 15, 20}));
  EXPECT_EQ(due({10, 0}, 32, 4), (std::vector<int>{12, 20, 32}));
}

TEST(CheckpointSchedule, CountsFromTheResumedRound) {
  EXPECT_EQ(due({3, 6}, 10), (std::vector<int>{9}));
  EXPECT_EQ(due({3, 7}, 10), (std::vector<int>{9}));
}

TEST(CheckpointSchedule, WithIntervalZeroIsNeverDue) { EXPECT_TRUE(due({0, 0}, 10).empty()); }

}  // namespace TANDEM_FILE
}  // namespace tandem
