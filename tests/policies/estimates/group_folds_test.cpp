// Forms judged by groups that they have not seen: made tables whose law is known, tables that only a look-up
// can predict, and intervals by hand and by counting.
#include "policies/estimates/group_folds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

#include "policies/vocabulary/rng.hpp"

namespace tandem::estimates {
namespace TANDEM_FILE {

using Vector = std::vector<double>;
using Law = std::function<double(double flops, double launches)>;

/// Networks whose flops and launches do not grow together.
std::vector<Reading> table_of(const Law& law, int networks = 10) {
  std::vector<Reading> readings;
  for (int i = 0; i < networks; ++i) {
    const double flops = 1e9 * (1 + i), launches = 50.0 * (1 + i * i % 7);
    readings.push_back({{{{flops, launches}}, law(flops, launches), "net" + std::to_string(i)}, ""});
  }
  return readings;
}

const FormScore& score(const Evaluation& found, const std::string& name) {
  for (const FormScore& each : found.scores)
    if (each.name == name) return each;
  throw std::invalid_argument(name);
}

const Law additive = [](double flops, double launches) { return 0.01 + 2e-11 * flops + 1e-4 * launches; };

TEST(GroupFolds, FindAnAdditiveLaw) {
  const Evaluation found = evaluate_forms(table_of(additive));
  EXPECT_EQ(found.predictor.form.name, "additive") << "the simplest of the forms that are exact";
  ASSERT_EQ(found.predictor.form.terms.size(), 3U);
  EXPECT_NEAR(found.predictor.form.terms[0].coefficient, 0.01, 1e-8);
  EXPECT_NEAR(found.predictor.form.terms[1].coefficient, 2e-11, 2e-17);
  EXPECT_NEAR(found.predictor.form.terms[2].coefficient, 1e-4, 1e-10);
  EXPECT_LT(score(found, "linear").errors.value().mean, 1e-9);
  EXPECT_LT(score(found, "quadratic").errors.value().mean, 1e-6);
  EXPECT_GT(score(found, "powers").errors.value().mean, 1e-3);
  EXPECT_GT(score(found, "mean").errors.value().mean, 0.2);
  EXPECT_LT(found.chosen_inside.mean, 1e-6);
  const auto time = found.predictor.predict({{3.5e9, 120}}, 0.9);
  EXPECT_NEAR(time.value, 0.01 + 0.07 + 0.012, 1e-8);
  EXPECT_NEAR(time.upper, time.lower, 1e-6);
}

TEST(GroupFolds, FindProductsAndPowers) {
  const Evaluation powers = evaluate_forms(
      table_of([](double flops, double launches) { return 3e-9 * std::pow(flops, 0.7) * launches; }));
  EXPECT_EQ(powers.predictor.form.name, "powers");
  EXPECT_LT(powers.chosen_inside.mean, 1e-9);
  const Evaluation products = evaluate_forms(table_of([](double flops, double launches) {
    return 0.5 + 1e-11 * flops + 1e-13 * flops * launches + 1e-21 * flops * flops;
  }));
  EXPECT_EQ(products.predictor.form.name, "quadratic");
  EXPECT_LT(score(products, "quadratic").errors.value().mean, 1e-7);
}

/// Three features that are mixtures of two: x, y and 2 x + 3 y.
TEST(GroupFolds, FindTheTwoDirectionsInWhichFeaturesVary) {
  std::vector<Reading> readings;
  for (int i = 0; i < 10; ++i) {
    const double x = 1.0 + i, y = 1.0 + i * i % 7;
    readings.push_back({{{{x, y, 2 * x + 3 * y}}, 40.0 - 2.0 * x + y, std::to_string(i)}, ""});
  }
  const Evaluation found = evaluate_forms(readings);
  EXPECT_LT(score(found, "components").errors.value().mean, 1e-9);
  EXPECT_EQ(score(found, "linear").reason, "features that others make up");
  EXPECT_EQ(found.predictor.form.name, "components") << "a coefficient is below 0";
  EXPECT_EQ(score(evaluate_forms(table_of(additive)), "components").reason, "no more than two features");
}

TEST(GroupFolds, OfTooFewGroupsSayWhy) {
  const Evaluation found = evaluate_forms(table_of(additive, 5));
  EXPECT_EQ(score(found, "quadratic").reason, "5 points for 6 coefficients");
  EXPECT_FALSE(score(found, "quadratic").errors);
}

/// 16 points, but of seven groups in each fold.
TEST(GroupFolds, DoNotSearchWithFewGroups) {
  std::vector<Reading> readings;
  for (const Reading& reading : table_of(additive, 8))
    for (const double batch : {1.0, 2.0}) {
      const Vector& features = reading.point.input.features;
      readings.push_back(reading);
      readings.back().point.input.features = {batch, features[0] * batch, features[1]};
    }
  const Evaluation found = evaluate_forms(readings);
  EXPECT_EQ(score(found, "components").reason, "fewer than 8 groups");
  EXPECT_FALSE(score(found, "svr").errors);
}

/// Of a group that is left out, nothing reaches the fit.
TEST(GroupFolds, DoNotSeeTheGroupThatTheyPredict) {
  std::vector<Reading> readings = table_of(additive);
  readings[4].point.value *= 30.0;
  const Evaluation found = evaluate_forms(readings);
  for (const FoldOfGroup& fold : found.predictor.folds)
    if (fold.group == "net4") {
      EXPECT_NEAR(fold.log_ratios.front(), std::log(30.0), 1e-6);
    }
  EXPECT_EQ(found.chosen_inside.worst_group, "net4");
  EXPECT_GT(found.chosen_inside.mean, 0.05) << "the others are fitted with it";
}

/// Powers fit the others exactly.
TEST(GroupFolds, ChooseNoFormThatCannotPredictAGroup) {
  std::vector<Reading> readings =
      table_of([](double flops, double launches) { return 3e-9 * std::pow(flops, 0.7) * launches; });
  readings.push_back({{{{5e9, 0.0}}, 0.1, "without launches"}, ""});
  const Evaluation found = evaluate_forms(readings);
  EXPECT_EQ(score(found, "powers").reason, "features that are not above 0");
  for (const FoldOfGroup& fold : found.predictor.folds) {
    EXPECT_NE(fold.form.name, "powers") << fold.group;
    EXPECT_TRUE(std::isfinite(fold.log_ratios.front())) << fold.group;
  }
}

/// A constant for each network that no feature explains, three readings each with 1 % between them.
TEST(GroupFolds, NoticeThatRowsCanBeLookedUp) {
  std::vector<Reading> readings;
  const double constants[] = {1.0, 5.0, 2.0};
  for (int network = 0; network < 3; ++network)
    for (const double deviation : {-0.01, 0.0, 0.01})
      readings.push_back(
          {{{{1.0 + network}}, constants[network] * (1.0 + deviation), std::to_string(network)}, ""});
  const Evaluation found = evaluate_forms(readings);
  EXPECT_NEAR(found.look_up_by_rows.value(), 0.01, 0.002);
  EXPECT_LT(score(found, "quadratic").by_rows.value(), 0.03) << "three coefficients for three networks";
  EXPECT_GT(found.look_up, 0.5);
  EXPECT_GT(found.chosen_inside.mean, 0.5);
  EXPECT_TRUE(found.is_leaking());
  EXPECT_FALSE(evaluate_forms(table_of(additive)).is_leaking());
  EXPECT_NEAR(found.within_runs.value(), 0.02 / 3, 1e-12);
  EXPECT_FALSE(found.between_runs);
}

/// Medians 1 and 1.2 around 1.1.
TEST(GroupFolds, KnowHowMuchRunsDiffer) {
  std::vector<Reading> readings = table_of(additive);
  for (const auto& [run, value] : {std::pair("a", 1.0), {"a", 1.0}, {"b", 1.2}, {"b", 1.3}, {"b", 1.1}})
    readings.push_back({{{{5e8, 60}}, value, "again"}, run});
  const Evaluation found = evaluate_forms(readings);
  EXPECT_NEAR(found.between_runs.value(), 0.1 / 1.1, 1e-12);
  EXPECT_NEAR(found.within_runs.value(), (0.0 + 0.2 / 1.2 / 3) / 2, 1e-12);
}

/// Forms that predict a constant, whatever the features.
Predictor predictor_of(const Vector& constants, const Vector& ratios) {
  Predictor predictor;
  const auto constant = [](double value) {
    return FittedForm{.name = "mean",
                      .is_logarithmic = true,
                      .least = {0.0},
                      .span = {1.0},
                      .terms = {{{0}, std::log(value)}}};
  };
  for (std::size_t i = 0; i < constants.size(); ++i)
    predictor.folds.push_back({std::to_string(i), constant(constants[i]), {std::log(ratios[i])}});
  predictor.form = constant(3.0);
  predictor.least = {1.0};
  predictor.most = {2.0};
  return predictor;
}

/// Lower ends 1 / 1.1, 2 / 1.2, 4 / 1.3, 8 / 1.6; upper ends 1.1, 2.4, 5.2, 12.8.
TEST(Jackknife, IntervalsByHand) {
  const Predictor predictor = predictor_of({1, 2, 4, 8}, {1.1, 1 / 1.2, 1.3, 1.6});
  EXPECT_NEAR(predictor.most_confidence(), 0.8, 1e-12);
  const auto widest = predictor.predict({{1.5}}, 0.8);
  EXPECT_NEAR(widest.value, 3.0, 1e-12);
  EXPECT_NEAR(widest.lower, 1 / 1.1, 1e-12);
  EXPECT_NEAR(widest.upper, 12.8, 1e-9);
  EXPECT_NEAR(predictor.predict({{1.5}}, 0.99).upper, 12.8, 1e-9) << "four groups allow no more";
  const auto inner = predictor.predict({{1.5}}, 0.6);
  EXPECT_NEAR(inner.lower, 2 / 1.2, 1e-12);
  EXPECT_NEAR(inner.upper, 5.2, 1e-9);
}

/// Three groups with as many points as one likes allow 3 / 4. Upper ends 1.1 (three times), 2.4, 2.2, 2 and
/// 5.2; mass beyond 5.2 is 1 / 4, beyond 2.4 1 / 2, beyond 2.2 and 2 a twelfth more each, beyond 1.1 3 / 4.
TEST(Jackknife, GroupsCountOnceHoweverManyPointsTheyHave) {
  Predictor predictor = predictor_of({1, 2, 4}, {1.1, 1.2, 1.3});
  predictor.folds[0].log_ratios.assign(3, std::log(1.1));
  predictor.folds[1].log_ratios = {std::log(1.2), std::log(1.1), 0.0};
  EXPECT_NEAR(predictor.most_confidence(), 0.75, 1e-12);
  for (const auto& [confidence, upper] :
       {std::pair(0.9, 5.2), {0.75, 5.2}, {0.55, 5.2}, {0.5, 2.4}, {0.4, 2.2}, {0.3, 2.0}, {0.25, 1.1}})
    EXPECT_NEAR(predictor.predict({{1.5}}, confidence).upper, upper, 1e-9) << confidence;
  EXPECT_NEAR(predictor.predict({{1.5}}, 0.75).lower, 1 / 1.1, 1e-12);
}

TEST(Jackknife, PredictorsKnowWhatTheyHaveSeen) {
  const Predictor predictor = predictor_of({1, 2, 4, 8}, {1, 1, 1, 1});
  EXPECT_FALSE(predictor.outside({1.0}));
  EXPECT_FALSE(predictor.outside({2.0}));
  EXPECT_EQ(predictor.outside({2.001}), 0U);
  EXPECT_EQ(predictor.outside({std::nan("")}), 0U);
}

/// Times of networks with 5 % of noise, each measured once: 14 of them allow intervals of 14 in 15.
TEST(Jackknife, IntervalsHoldNewNetworks) {
  int held = 0, asked = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng random(seed);
    const auto noisy = [&](double flops, double launches) {
      return additive(flops, launches) * std::exp(0.05 * random.normal());
    };
    const Evaluation found = evaluate_forms(table_of(noisy, 14));
    for (int i = 0; i < 10; ++i, ++asked) {
      const double flops = 1e9 * (1 + 13 * random.uniform()), launches = 50 + 300 * random.uniform();
      const double truth = noisy(flops, launches);
      const auto time = found.predictor.predict({{flops, launches}}, 0.9);
      held += truth >= time.lower && truth <= time.upper ? 1 : 0;
    }
  }
  EXPECT_GE(held, asked * 83 / 100) << "of " << asked;
  EXPECT_LE(held, asked * 99 / 100) << "of " << asked;
}

/// The mean of the other two predicts each of three: 3 of 1, 2.5 of 2, 1.5 of 4. An interval has the error of
/// the other two; with less confidence, the smaller one of them.
TEST(HeldOut, HasTheErrorsOfTheOtherGroups) {
  const std::vector<Reading> readings = {
      {{{{1.0}}, 1.0, "a"}, ""}, {{{{2.0}}, 2.0, "b"}, ""}, {{{{3.0}}, 4.0, "c"}, ""}};
  Evaluation found;
  const auto fold = [](const char* group, double predicted, double measured) {
    FittedForm mean{.name = "mean", .least = {0.0}, .span = {1.0}, .terms = {{{0}, predicted}}};
    return FoldOfGroup{group, std::move(mean), {std::log(measured / predicted)}};
  };
  found.predictor.folds = {fold("a", 3.0, 1.0), fold("b", 2.5, 2.0), fold("c", 1.5, 4.0)};
  const auto points = held_out(readings, found, 0.6);
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[1].group, "b");
  EXPECT_EQ(points[1].measured, 2.0);
  EXPECT_NEAR(points[1].predicted.value, 2.5, 1e-12);
  EXPECT_NEAR(points[1].predicted.upper, 2.5 * 3.0, 1e-12) << "of a, which is worse than c";
  EXPECT_NEAR(points[0].predicted.lower, 3.0 / (4.0 / 1.5), 1e-12) << "of c";
  EXPECT_NEAR(held_out(readings, found, 0.3)[0].predicted.upper, 3.0 * (2.5 / 2.0), 1e-12) << "of b";
}

}  // namespace TANDEM_FILE
}  // namespace tandem::estimates
