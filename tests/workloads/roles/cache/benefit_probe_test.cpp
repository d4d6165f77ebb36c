// What a cache saves a job, from the times at which its batches were sent: closed forms.
#include "workloads/roles/cache/benefit_probe.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace tandem {
namespace TANDEM_FILE {

using Change = BenefitProbe::Change;
using Phase = BenefitProbe::Phase;

constexpr std::int64_t steps = 4, first = 2;
constexpr std::int64_t of_phase = first + steps + 1;  ///< batches of a worker

class Probe : public ::testing::Test {
 protected:
  /// One batch of each worker, sent `after` seconds later. Returns what the job did before.
  Change batch(double after, std::int64_t epoch = 1) {
    now_ += after;
    Change change = Change::none;
    for (std::size_t worker = 0; worker < workers_; ++worker) {
      if (const Change own = probe_.begin_batch(); own != Change::none) change = own;
      if (const auto result = probe_.note_sent(worker, probe_.tag(), epoch, Seconds(now_))) result_ = result;
    }
    return change;
  }
  std::size_t workers_ = 2;
  BenefitProbe probe_{workers_, steps, first};
  double now_ = 0;
  std::optional<BenefitProbe::Result> result_;
};

TEST_F(Probe, NothingIsMeasuredWhileTheCacheFills) {
  probe_.begin_epoch();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(batch(1, 0), Change::none);
  EXPECT_EQ(probe_.tag().phase, Phase::none);
  EXPECT_FALSE(result_);
}

/// Steps of 2 s with the cache and of 5 s without: (5 - 2) / 5. The first ones of a phase take other times.
TEST_F(Probe, TheBenefitIsTheShareOfTheStepTimeThatTheCacheSaves) {
  probe_.begin_epoch();
  probe_.begin_epoch();
  for (std::int64_t i = 0; i < of_phase; ++i) EXPECT_EQ(batch(i <= first ? 9 : 2), Change::none);
  EXPECT_FALSE(result_);
  for (std::int64_t i = 0; i < of_phase; ++i)
    EXPECT_EQ(batch(i <= first ? 0.1 : 5), i == 0 ? Change::bypasses : Change::none) << i;
  ASSERT_TRUE(result_);
  EXPECT_DOUBLE_EQ(result_->benefit(), 3.0 / 5);
  EXPECT_EQ(result_->with.count, static_cast<std::int64_t>(workers_) * steps);
  EXPECT_DOUBLE_EQ(result_->without.mean().count(), 5.0);
  EXPECT_EQ(batch(2), Change::returns);
  result_.reset();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(batch(2), Change::none);
  EXPECT_FALSE(result_);
}

TEST_F(Probe, ACacheThatDelaysStepsSavesNothing) {
  probe_.begin_epoch();
  probe_.begin_epoch();
  for (std::int64_t i = 0; i < 2 * of_phase; ++i) batch(i < of_phase ? 3 : 2);
  ASSERT_TRUE(result_);
  EXPECT_EQ(result_->benefit(), 0.0);
}

/// Between epochs, workers wait for more than batches.
TEST_F(Probe, IntervalsFromOneEpochToTheNextDoNotCount) {
  probe_.begin_epoch();
  probe_.begin_epoch();
  for (std::int64_t i = 0; i < 2 * of_phase; ++i) batch(i == 5 ? 100 : i < of_phase ? 2 : 4, i < 5 ? 1 : 2);
  ASSERT_TRUE(result_);
  EXPECT_DOUBLE_EQ(result_->benefit(), 0.5);
}

TEST_F(Probe, BeginsAgainWhenTheJobsAreOthers) {
  probe_.begin_epoch();
  EXPECT_EQ(probe_.begin_again(), Change::none);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(batch(1), Change::none) << "the cache still fills";
  probe_.begin_epoch();
  for (std::int64_t i = 0; i < of_phase + 1; ++i) batch(1);
  const auto before = probe_.tag();
  EXPECT_EQ(before.phase, Phase::without);
  EXPECT_EQ(probe_.begin_again(), Change::returns);
  EXPECT_FALSE(probe_.note_sent(0, before, 1, Seconds(now_))) << "of the probe that was given up";
  for (int i = 0; i < 50; ++i) EXPECT_EQ(batch(1), Change::none);
  EXPECT_FALSE(result_);
  probe_.begin_epoch();
  for (std::int64_t i = 0; i < 2 * of_phase; ++i) batch(i < of_phase ? 1 : 4, 2);
  ASSERT_TRUE(result_);
  EXPECT_DOUBLE_EQ(result_->benefit(), 0.75);
  // After a result, too.
  EXPECT_EQ(batch(1), Change::returns);
  EXPECT_EQ(probe_.begin_again(), Change::none);
  probe_.begin_epoch();
  EXPECT_EQ(batch(1), Change::none);
  EXPECT_EQ(probe_.tag().phase, Phase::with);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
