// The page on the speed of a job by its number of workers: from which number on more of them hardly pay.
#include "validation/report/scaling_page.hpp"

#include <gtest/gtest.h>

namespace tandem::validation {
namespace TANDEM_FILE {

/// From 1 to 2 workers 80 % is gained, or 49 %, of 100 %; from 2 to 4 workers 40 % of 100 %, or 48 %. From 1
/// to 4 workers, 120 % of 300 % is less than half.
TEST(ScalingPage, MoreWorkersPayUpToHalfOfAProportionalGain) {
  std::vector<ScalingPage::Point> points = {{.workers = 1, .speed = 100.0}, {.workers = 2, .speed = 180.0}};
  EXPECT_EQ(last_that_pays(points), std::nullopt);
  points.push_back({.workers = 4, .speed = 252.0});
  EXPECT_EQ(last_that_pays(points), 2);
  points = {{.workers = 1, .speed = 100.0}, {.workers = 2, .speed = 149.0}, {.workers = 4, .speed = 220.0}};
  EXPECT_EQ(last_that_pays(points), 1);
  EXPECT_EQ(last_that_pays({{.workers = 8, .speed = 1.0}}), std::nullopt);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
