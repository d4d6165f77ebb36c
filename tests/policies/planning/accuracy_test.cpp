// Samples until a target accuracy, from made curves.
#include "policies/planning/accuracy.hpp"

#include <gtest/gtest.h>

#include <string>

#include "policies/vocabulary/check.hpp"

namespace tandem::planning {
namespace TANDEM_FILE {

AccuracyCurve curve(int workers, std::vector<AccuracyCurve::Point> points) {
  return {.source = "made", .workers = workers, .points = std::move(points)};
}

TEST(Accuracy, TheFirstEvaluationCounts) {
  const AccuracyCurve own = curve(1, {{100, 0.5}, {200, 0.9}, {300, 0.8}, {400, 0.9}});
  EXPECT_EQ(reached(own, 0.85)->samples, 200);
  EXPECT_FALSE(reached(own, 0.91));
  EXPECT_EQ(best_of(own).samples, 200);
}

/// Repetitions by their mean; between 2 and 8 workers, 4 is in the middle on a logarithmic scale.
TEST(Accuracy, SamplesFollowTheCurves) {
  const SamplesToTarget samples(
      {curve(2, {{100, 0.9}}), curve(8, {{400, 0.95}}), curve(2, {{50, 0.1}, {300, 0.9}})}, 0.9, "asp");
  EXPECT_EQ(samples.with(2), 200);
  EXPECT_EQ(samples.with(8), 400);
  EXPECT_EQ(samples.with(4), 283);  // sqrt(200 * 400)
}

TEST(Accuracy, OtherNumbersOfWorkersAreRefused) {
  const SamplesToTarget samples(
      {curve(2, {{100, 0.9}}), curve(4, {{100, 0.9}}), curve(4, {{100, 0.8}}), curve(8, {{100, 0.92}})}, 0.9,
      "asp");
  const auto refusal = [&](int workers) -> std::string {
    try {
      samples.with(workers);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(1), "no accuracy curve of asp with so many workers (curves: 2 to 8)");
  EXPECT_EQ(refusal(9), refusal(1));
  // One of its two repetitions does not reach it, nor do numbers of workers that it is a neighbour of.
  EXPECT_EQ(refusal(4), "the accuracy curves of asp with so many workers do not reach 0.9 (best 0.8)");
  EXPECT_EQ(refusal(3), refusal(4));
  EXPECT_EQ(refusal(6), refusal(4));
  EXPECT_EQ(samples.with(8), 100);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::planning
