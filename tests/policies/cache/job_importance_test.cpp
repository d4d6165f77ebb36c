// The importance of samples for several jobs, by hand.
#include "policies/cache/training/job_importance.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tandem::cache {
namespace TANDEM_FILE {

std::vector<float> relative(std::vector<float> losses) {
  std::vector<SampleId> order;
  std::vector<float> ranks;
  relative_importance(losses, order, ranks);
  return ranks;
}

std::vector<float> aggregate(const std::vector<std::vector<float>>& jobs,
                             const std::vector<double>& weights) {
  std::vector<WeighedImportance> weighed;
  for (std::size_t i = 0; i < jobs.size(); ++i) weighed.push_back({jobs[i], weights[i]});
  std::vector<float> values(jobs.front().size(), -1.0F);
  aggregate_importance(weighed, values);
  return values;
}

TEST(JobImportance, IsOneMinusTheRankByLoss) {
  EXPECT_EQ(relative({4.0F, 3.0F, 2.0F, 1.0F}), (std::vector<float>{1.0F, 0.75F, 0.5F, 0.25F}));
  EXPECT_EQ(relative({0.1F, 9.0F, 3.0F}), (std::vector<float>{1.0F - 2.0F / 3.0F, 1.0F, 1.0F - 1.0F / 3.0F}));
  // The smaller id counts more.
  EXPECT_EQ(relative({2.0F, 5.0F, 2.0F, 2.0F}), (std::vector<float>{0.75F, 1.0F, 0.5F, 0.25F}));
}

TEST(JobImportance, DoesNotDependOnTheUnitOfALoss) {
  const std::vector<float> losses = {0.3F, 0.01F, 7.0F, 1.5F, 0.3F};
  std::vector<float> other;
  for (const float loss : losses) other.push_back(100.0F * std::sqrt(loss));
  EXPECT_EQ(relative(losses), relative(other));
}

TEST(JobImportance, OfSeveralJobsIsTheMeanWeighedByTheirBenefits) {
  const std::vector<float> rising = relative({1.0F, 2.0F, 3.0F, 4.0F});
  const std::vector<float> falling = relative({40.0F, 30.0F, 20.0F, 10.0F});
  const auto values = aggregate({falling, rising}, {0.9, 0.1});
  const std::vector<double> expected = {0.925, 0.725, 0.525, 0.325};
  for (std::size_t id = 0; id < expected.size(); ++id) EXPECT_NEAR(values[id], expected[id], 1e-6) << id;
  // Only the ratio of the benefits counts.
  const auto scaled = aggregate({falling, rising}, {0.45, 0.05});
  for (std::size_t id = 0; id < expected.size(); ++id) EXPECT_NEAR(scaled[id], expected[id], 1e-6) << id;
  for (const float value : aggregate({falling, rising}, {0.5, 0.5})) EXPECT_NEAR(value, 0.625, 1e-6);
}

TEST(JobImportance, OfOneJobIsItsOwnAndOfNoBenefitIsNone) {
  const std::vector<float> own = relative({3.0F, 1.0F, 2.0F});
  EXPECT_EQ(aggregate({own}, {0.3}), own);
  EXPECT_EQ(aggregate({own, relative({1.0F, 2.0F, 3.0F})}, {0.7, 0.0}), own);
  EXPECT_EQ(aggregate({own}, {0.0}), std::vector<float>(3, 0.0F));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::cache
