// Progress: the estimate of the time that is left, and what a log says of it.
#include "cli/shared/time_left.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>

#include "cli/shared/progress.hpp"

namespace tandem::cli {
namespace TANDEM_FILE {

TEST(TimeLeft, OfSteadyWorkIsExactWhateverTheStartTook) {
  TimeLeft left;
  EXPECT_EQ(left.update(20.0, 0.0), std::nullopt);
  EXPECT_EQ(left.update(24.0, 0.1), std::nullopt) << "one point says nothing about the speed";
  EXPECT_DOUBLE_EQ(*left.update(28.0, 0.5), 5.0);
  EXPECT_DOUBLE_EQ(*left.update(31.0, 0.8), 2.0);
  EXPECT_DOUBLE_EQ(*left.update(33.0, 1.0), 0.0);
}

TEST(TimeLeft, DoesNotRiseWhileItIsShown) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::exponential_distribution<double> seconds(0.1), share(50.0);
    TimeLeft left;
    double elapsed_s = 0.0, fraction = 0.0;
    std::optional<double> before;
    while (fraction < 1.0) {
      const auto now = left.update(elapsed_s, fraction);
      if (now && before) {
        ASSERT_LE(*now, *before) << "seed " << seed;
      }
      before = now;
      elapsed_s += seconds(random);
      fraction = std::min(1.0, fraction + share(random));
    }
    EXPECT_EQ(left.update(elapsed_s, 1.0), 0.0) << "seed " << seed;
  }
}

/// 10 s for a tenth, then nothing for 80 s: "80 s left" would be wrong by then, and is true again at 0.6.
TEST(TimeLeft, IsNotShownWhileItIsFarTooLow) {
  TimeLeft left;
  left.update(0.0, 0.1);
  EXPECT_NEAR(*left.update(10.0, 0.2), 80.0, 1e-9);
  EXPECT_NEAR(*left.update(12.0, 0.2), 80.0, 1e-9);
  EXPECT_EQ(left.update(90.0, 0.2), std::nullopt);
  EXPECT_NEAR(*left.update(100.0, 0.6), 80.0, 1e-9);
  EXPECT_NEAR(*left.update(101.0, 0.9), 12.625, 1e-9);
}

/// Work whose end moves away as fast as the time passes.
TEST(TimeLeft, DoesNotStandStill) {
  for (const double slower : {0.0, 0.01, 0.2}) {
    TimeLeft left;
    std::optional<double> before;
    int repeated = 0, most = 0, shown = 0;
    for (double elapsed_s = 0.0; elapsed_s < 1000.0; elapsed_s += 10.0) {
      const auto now = left.update(elapsed_s, elapsed_s / (elapsed_s * (1.0 + slower) + 648.0));
      repeated = now && before && std::abs(*now - *before) < 0.5 ? repeated + 1 : 0;
      most = std::max(most, repeated);
      shown += now ? 1 : 0;
      before = now;
    }
    EXPECT_LE(most, 2) << slower;
    EXPECT_GT(shown, 10) << slower;
  }
}

TEST(TimeLeft, OfWorkThatBecomesFasterFalls) {
  TimeLeft left;
  left.update(0.0, 0.1);
  const double slow = *left.update(10.0, 0.2);
  EXPECT_LT(*left.update(11.0, 0.6), slow / 4);
}

TEST(LoggedProgress, IsThatOfTheLastLineThatSaysIt) {
  const auto log = std::filesystem::temp_directory_path() / ("progress-" + std::to_string(::getpid()));
  EXPECT_EQ(logged_progress(log), 0.0) << "no file yet";
  std::ofstream(log)
      << "job\n  memory: 12.5 % of it\nsimulate job: 4 %\nsimulate job: 37 %, 12 s left\nwarning: 3\n";
  EXPECT_EQ(logged_progress(log), 0.37);
  std::filesystem::remove(log);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::cli
