// CPU load of other programs: read from the kernel, minus the CPU time of this process.
#include "runtime/rank/other_load.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "runtime/process/process.hpp"

namespace tandem {
namespace TANDEM_FILE {

constexpr double hertz = 100.0;

TEST(OtherLoad, CountsProcessesAndTheHostButNoInterrupts) {
  const auto times = parse_core_times("cpu  100 20 30 400 50 6 7 8 0 0", hertz);
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->total.count(), 6.21);
  EXPECT_DOUBLE_EQ(times->busy.count(), 1.58);
}

TEST(OtherLoad, RefusesOtherText) {
  EXPECT_FALSE(parse_core_times("cpu0 1 2 3 4 5 6 7 8", hertz));
  EXPECT_FALSE(parse_core_times("cpu  1 2 3", hertz));
  EXPECT_FALSE(parse_core_times("", hertz));
}

TEST(OtherLoad, ExcludesOwnTime) {
  const CoreTimes before{Seconds(100), Seconds(40)};
  const CoreTimes after{Seconds(120), Seconds(50)};
  EXPECT_DOUBLE_EQ(share_of_others(before, after, Seconds(0)), 0.5);
  EXPECT_DOUBLE_EQ(share_of_others(before, after, Seconds(9)), 0.05);
  EXPECT_DOUBLE_EQ(share_of_others(before, after, Seconds(11)), 0.0);
  EXPECT_DOUBLE_EQ(share_of_others(before, before, Seconds(0)), 0.0);
}

TEST(OtherLoad, SeesAProcessThatComputes) {
  const OtherLoad load;
  Process spinner = start_function([]() -> int {
    for (std::atomic<unsigned> i = 0;;) ++i;
  });
  const double half_a_core = 0.5 / static_cast<double>(std::max(1U, std::thread::hardware_concurrency()));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  std::optional<double> share;
  while (share.value_or(0.0) <= half_a_core && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    share = load.share(load.own());
  }
  const auto without = load.share(load.own() + Seconds(0.02));
  spinner.kill();
  ASSERT_TRUE(share && without);
  EXPECT_GT(*share, half_a_core);
  EXPECT_LT(*without, *share);
}

TEST(OtherLoad, MeasuresOwnCpuTime) {
  const OtherLoad load;
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(300)) {
  }
  EXPECT_GT(load.own(), Seconds(0.01));
  EXPECT_LT(load.own(), Seconds(0.6));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
