// Scripts of made times: what a campaign says of the time of its other tasks.
#include "validation/campaign/task_times.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace tandem::validation {
namespace TANDEM_FILE {

using Kind = Task::Kind;

std::vector<Task> tasks_of(const std::vector<std::pair<std::size_t, Kind>>& all) {
  std::vector<Task> tasks;
  for (const auto& [configuration, kind] : all) tasks.push_back({configuration, kind, 0, ""});
  return tasks;
}

double left_s(const TaskTimes& times, std::size_t next, std::optional<std::size_t> failed = {}) {
  const auto left = times.left(next, [&](std::size_t configuration) { return configuration == failed; });
  return left ? left->count() : -1.0;
}

/// Simulations of half a second and 5 s say nothing of the runs, of which they foretell 20 s and 100 s with
/// the start of their processes.
TEST(TaskTimes, OfRunsAreThoseThatTheirSimulationsForetell) {
  const auto tasks = tasks_of(
      {{0, Kind::simulation}, {1, Kind::simulation}, {1, Kind::run}, {0, Kind::run}, {1, Kind::run}});
  TaskTimes times(tasks, {1.0, 9.0});
  EXPECT_EQ(left_s(times, 0), -1.0);
  times.ended(tasks[0], Seconds(0.5));
  times.foretell(tasks[0], Seconds(18));
  EXPECT_EQ(left_s(times, 1), -1.0) << "nobody knows how long the other configuration takes";
  EXPECT_DOUBLE_EQ(left_s(times, 1, 1), 20.0);
  times.ended(tasks[1], Seconds(5));
  times.foretell(tasks[1], Seconds(98));
  EXPECT_DOUBLE_EQ(left_s(times, 2), 220.0);
  times.ended(tasks[2], Seconds(150));
  EXPECT_DOUBLE_EQ(left_s(times, 3), 1.5 * 120);
  times.ended(tasks[3], Seconds(42));
  EXPECT_DOUBLE_EQ(left_s(times, 4), 1.6 * 100);
  EXPECT_DOUBLE_EQ(left_s(times, 4, 1), 0.0) << "a configuration that has failed";
  EXPECT_DOUBLE_EQ(left_s(times, 5), 0.0);
}

TEST(TaskTimes, OfSimulationsGrowWithTheirCosts) {
  const auto tasks = tasks_of({{0, Kind::simulation},
                               {1, Kind::simulation},
                               {0, Kind::witness},
                               {1, Kind::witness},
                               {0, Kind::run},
                               {1, Kind::run}});
  TaskTimes times(tasks, {1.0, 9.0});
  for (const std::size_t i : {0U, 1U}) times.foretell(tasks[i], Seconds(8));
  EXPECT_EQ(left_s(times, 1), -1.0) << "the results are of an earlier campaign";
  times.ended(tasks[0], Seconds(2));
  EXPECT_EQ(left_s(times, 1), -1.0) << "none has run under SMPI";
  times.ended(tasks[2], Seconds(3));
  EXPECT_DOUBLE_EQ(left_s(times, 3), 9 * 3 + 20);
  EXPECT_DOUBLE_EQ(left_s(times, 1), 9 * 2 + (1 + 9) * 3 + 20);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
