// Tables of measured times: which columns are rates.
#include "cli/fit/steps_table.hpp"

#include <gtest/gtest.h>

namespace tandem::cli {
namespace TANDEM_FILE {

TEST(RatesOfTables, ShowInTheNameOfTheColumn) {
  for (const char* rate : {"steps/s", "images/sec", "Batches/Second", "speed_mean", "steps_per_second"})
    EXPECT_TRUE(is_rate(rate)) << rate;
  for (const char* time : {"s/step", "ms/step", "seconds/sample", "step_time"})
    EXPECT_FALSE(is_rate(time)) << time;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::cli
