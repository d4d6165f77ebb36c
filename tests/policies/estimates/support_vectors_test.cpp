// Support vectors follow a law that bends, also for groups that they have not seen, and choose their settings
// without help.
#include "policies/estimates/support_vectors.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "policies/estimates/group_folds.hpp"

namespace tandem::estimates {
namespace TANDEM_FILE {

class SupportVectorForm : public ::testing::Test {
 protected:
  void SetUp() override {
    if (fit_support_vectors(bent(16)).reason == "this program was built without libsvm")
      GTEST_SKIP() << "this program was built without libsvm";
  }
  /// No sum and no product of powers.
  static double law(double flops, double launches) {
    return 2e-3 * (1.0 + std::pow(flops / 5e9, 1.5)) * (1.0 + launches / 300.0);
  }
  static std::vector<FormPoint> bent(int networks) {
    std::vector<FormPoint> points;
    for (int i = 0; i < networks; ++i) {
      const double flops = 1e9 * (1 + i), launches = 50.0 * (1 + i * i % 7);
      points.push_back({{{flops, launches}}, law(flops, launches), "net" + std::to_string(i)});
    }
    return points;
  }
};

TEST_F(SupportVectorForm, FollowALawThatBends) {
  std::vector<Reading> readings;
  for (const FormPoint& point : bent(16)) readings.push_back({point, ""});
  const Evaluation found = evaluate_forms(readings);
  const auto error = [&](const std::string& name) {
    for (const FormScore& score : found.scores)
      if (score.name == name && score.errors) return score.errors->mean;
    ADD_FAILURE() << name;
    return 0.0;
  };
  EXPECT_LT(error("svr"), 0.06);
  EXPECT_LT(2.0 * error("svr"), error("powers"));
}

TEST_F(SupportVectorForm, StayWithinTheirToleranceOfTheirPoints) {
  const auto points = bent(16);
  const auto form = fit_support_vectors(points).fitted;
  ASSERT_TRUE(form);
  EXPECT_GT(form->centres.size(), 1U);
  EXPECT_GT(form->gamma, 0.0);
  for (const FormPoint& point : points)
    EXPECT_NEAR(form->predict(point.input) / point.value, 1.0, 0.05) << point.group;
  EXPECT_NEAR(form->predict({{3.5e9, 120}}) / law(3.5e9, 120), 1.0, 0.02) << "between the points";
  EXPECT_DOUBLE_EQ(fit_support_vectors(points).fitted->predict({{3.5e9, 120}}),
                   form->predict({{3.5e9, 120}}));
}

/// Readings of a network are its median, so one that went wrong changes nothing.
TEST_F(SupportVectorForm, CountANetworkOnce) {
  auto points = bent(10);
  const auto once = fit_support_vectors(points).fitted;
  for (const FormPoint& point : bent(10))
    for (const double factor : {1.0, 3.0}) {
      points.push_back(point);
      points.back().value *= factor;
    }
  const auto often = fit_support_vectors(points).fitted;
  ASSERT_TRUE(once && often);
  EXPECT_DOUBLE_EQ(once->predict({{3.5e9, 120}}), often->predict({{3.5e9, 120}}));
}

TEST_F(SupportVectorForm, SayWhyTheyAreNotFitted) {
  EXPECT_EQ(fit_support_vectors(bent(7)).reason, "fewer than 8 groups");
  EXPECT_EQ(fit_support_vectors(bent(41)).reason, "more than 40 points");
  auto points = bent(10);
  points[3].input.features[1] = 0.0;
  EXPECT_EQ(fit_support_vectors(points).reason, "features that are not above 0");
}

/// Each fold has 40 points, which support vectors take, and predict well.
TEST_F(SupportVectorForm, AreNotJudgedWhereTheWholeTableHasTooManyPoints) {
  std::vector<Reading> readings;
  for (const FormPoint& point : bent(41)) readings.push_back({point, ""});
  const Evaluation found = evaluate_forms(readings);
  const FormScore& svr = found.scores.back();
  EXPECT_EQ(svr.name, "svr");
  EXPECT_FALSE(svr.errors);
  EXPECT_EQ(svr.reason, "more than 40 points");
  EXPECT_NE(found.predictor.form.name, "mean") << "another form predicts";
}

}  // namespace TANDEM_FILE
}  // namespace tandem::estimates
