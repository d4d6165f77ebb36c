// The estimate of a simulation's real time, with a clock of the test's own.
#include "cli/jobs/long_job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policies/vocabulary/check.hpp"

namespace tandem::cli {
namespace TANDEM_FILE {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Clock = LongJobCheck::Clock;

class SlowJob : public ::testing::Test {
 protected:
  /// Progress at this time of the clock.
  void at(double seconds, double fraction) {
    now_ = Clock::time_point(
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
    check_.update(fraction);
  }

  Clock::time_point now_;
  LongJobCheck check_{std::chrono::hours(1), [this] { return now_; }};
};

TEST_F(SlowJob, IsStoppedWithItsEstimateAndBothWaysOut) {
  at(5, 0);
  at(24.9, 0.0000009);
  EXPECT_THAT([this] { at(25, 0.000001); },
              ThrowsMessage<ConfigError>(AllOf(HasSubstr("about 231 days"), HasSubstr("after 20 s, 0.0001 %"),
                                               HasSubstr("stop.rounds"), HasSubstr("--yes"))));
}

TEST_F(SlowJob, OfNoProgressIsStoppedToo) {
  at(0, 0);
  EXPECT_THAT([this] { at(20, 0); }, ThrowsMessage<ConfigError>(HasSubstr("would take very long")));
}

TEST_F(SlowJob, OfLessThanAnHourContinues) {
  at(300, 0.5);          // a slow start, after a resume: neither counts
  at(320, 0.5 + 0.003);  // half the job in 55 minutes
  at(400, 0.5 + 0.0031);
}

TEST_F(SlowJob, ThatIsShortIsNeverAsked) {
  at(0, 0);
  at(19.9, 1e-9);
}

TEST_F(SlowJob, IsAskedOnce) {
  at(0, 0);
  at(20, 0.5);
  at(30'000, 0.50001);  // a suspended computer
}

TEST(SlowStart, IsToldOnceUnlessARoundHasEnded) {
  double seconds = 0;
  const auto now = [&] {
    return Clock::time_point(
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
  };
  SlowStartCheck slow(std::chrono::hours(1), now), quick(std::chrono::hours(1), now);
  quick.round_ended();
  seconds = 59;
  EXPECT_EQ(slow.update(Seconds(0.5)), std::nullopt);
  seconds = 61;
  EXPECT_THAT(*slow.update(Seconds(0.5)), AllOf(HasSubstr("after 61 s"), HasSubstr("0.5 s of simulated")));
  EXPECT_EQ(slow.update(Seconds(0.6)), std::nullopt);
  EXPECT_EQ(quick.update(Seconds(0.5)), std::nullopt);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::cli
