// Properties of every lifetime model that has a distribution, identities between models, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/policies/lifetimes/made.hpp"
#include "tests/support/names.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::lifetimes {
namespace TANDEM_FILE {

/// Options that differ from the defaults, so that several cases of a model are tested.
struct Case {
  std::string name;
  std::string model;
  Given options;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> cases;
    for (const auto& entry : catalog().entries())
      if (entry.make.lifetime != nullptr && entry.name != "never" && entry.name != "fixed")
        cases.push_back({entry.name, entry.name, {}});
    const std::string night = "0.1,0.1,0.1,0.1,0.1,0.1,1,2,3,4,4,4,4,4,4,4,3,2,1,1,1,1,0.5,0.5";
    cases.push_back({"rising weibull", "weibull", {{"shape", 3.0}}});
    cases.push_back({"falling weibull", "weibull", {{"shape", 0.3}}});
    cases.push_back({"many early deaths", "early-death", {{"share", 0.9}, {"early_mean", 100.0}}});
    cases.push_back({"early bathtub", "bathtub", {{"a", 0.9}, {"tau1", 20000.0}, {"tau2", 9000.0}}});
    cases.push_back({"by hour",
                     "piecewise",
                     {{"by_hour", night}, {"start_hour", 4.5}, {"rates", std::string("1e-5,1e-5,5e-6")}}});
    cases.push_back({"with tail", "empirical", {{"tail_from", 1e5}, {"tail_rate", 2e-5}}});
    cases.push_back({"limited", "exponential", {{"limit", 100000.0}, {"minimum", 5000.0}}});
    return cases;
  }();
  return all;
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& one : cases()) names.push_back(one.name);
  return names;
}

class LifetimeModels : public ::testing::TestWithParam<std::string> {
 protected:
  LifetimeModels()
      : case_(*std::ranges::find(cases(), GetParam(), &Case::name)),
        lifetime_(make_lifetime(case_.model, case_.options)) {}
  const Case& case_;
  std::unique_ptr<Lifetime> lifetime_;
};

TEST_P(LifetimeModels, SurvivalFallsFromOneAndTimesOfSurvivalInvertIt) {
  double before = 1.0;
  for (double t = 0.0; t < 400000.0; t += 377.0) {
    const double survival = lifetime_->survival(t);
    EXPECT_LE(survival, before);
    EXPECT_GE(survival, 0.0);
    EXPECT_GE(lifetime_->hazard(t), 0.0);
    before = survival;
  }
  for (const double s : {0.999, 0.9, 0.6, 0.5, 0.3, 0.1, 0.01}) {
    const double t = lifetime_->time_of_survival(s);
    if (std::isinf(t)) continue;
    EXPECT_LE(lifetime_->survival(t), s * (1 + 1e-9)) << s;
    if (t > 0.0) {
      EXPECT_GE(lifetime_->survival(t * (1 - 1e-9)), s * (1 - 1e-6)) << s;
    }
  }
  EXPECT_EQ(lifetime_->quantile(0.0), 0.0);
}

TEST_P(LifetimeModels, AreasAddUpAndAreIntegralsOfTheSurvival) {
  constexpr double step = 20.0;
  double sum = 0.0;
  for (double t = 0.0; t < 180000.0; t += step) sum += lifetime_->survival(t + step / 2) * step;
  EXPECT_NEAR(lifetime_->mean_up_to(180000.0) / sum, 1.0, 2e-4);
  EXPECT_NEAR(lifetime_->area(0.0, 7000.0) + lifetime_->area(7000.0, 180000.0),
              lifetime_->mean_up_to(180000.0), 1e-6);
  if (lifetime_->mean() < infinity) {
    EXPECT_NEAR((lifetime_->mean_up_to(2e6) + lifetime_->area(2e6, infinity)) / lifetime_->mean(), 1.0, 1e-9);
  }
}

/// S(t) = exp(-integral of h), where S does not jump.
TEST_P(LifetimeModels, HazardIsTheSlopeOfTheLogarithm) {
  if (case_.model == "empirical") return;
  for (const double t : {5500.0, 20000.0, 50000.0, 70000.0}) {
    // Inside an hour and an interval, so that no rate changes.
    const double h = 1.0;
    if (lifetime_->survival(t + h) <= 0.0) continue;
    const double slope =
        (std::log(lifetime_->survival(t - h)) - std::log(lifetime_->survival(t + h))) / (2 * h);
    EXPECT_NEAR(lifetime_->hazard(t) / slope, 1.0, 1e-4) << t;
  }
}

/// Kolmogorov and Smirnov: the largest distance of the empirical distribution is above 1.95 / sqrt(n) in one
/// of a thousand samples.
TEST_P(LifetimeModels, DrawsAreDistributedAsTheSurvival) {
  constexpr std::size_t count = 20'000;
  auto values = drawn(case_.model, case_.options, count, 11);
  std::ranges::sort(values);
  double distance = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const double below = static_cast<double>(std::ranges::upper_bound(values, values[i]) - values.begin());
    if (values[i] < infinity)
      distance = std::max(distance, std::abs(1.0 - lifetime_->survival(values[i]) - below / count));
  }
  EXPECT_LT(distance, 1.95 / std::sqrt(static_cast<double>(count)));
}

std::string case_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = testing::catalog_name(info);
  std::ranges::replace(name, ' ', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, LifetimeModels, ::testing::ValuesIn(case_names()), case_name);

void expect_same(const std::string& a, const Given& of_a, const std::string& b, const Given& of_b) {
  const auto first = make_lifetime(a, of_a), second = make_lifetime(b, of_b);
  for (const double t : {0.0, 10.0, 500.0, 1000.0, 4000.0, 20000.0}) {
    EXPECT_NEAR(first->survival(t), second->survival(t), 1e-12) << t;
    EXPECT_NEAR(first->hazard(t), second->hazard(t), 1e-12) << t;
    EXPECT_NEAR(first->mean_up_to(t), second->mean_up_to(t), 1e-9) << t;
  }
  for (const double p : {0.0, 0.1, 0.5, 0.99})
    EXPECT_NEAR(first->quantile(p), second->quantile(p), 1e-8) << p;
}

TEST(LifetimeIdentities, SpecialCasesAreTheExponential) {
  const Given mean = {{"mean", 1000.0}};
  expect_same("exponential", mean, "weibull", {{"shape", 1.0}, {"scale", 1000.0}});
  expect_same("exponential", mean, "early-death", {{"share", 0.0}, {"mean", 1000.0}});
  expect_same("exponential", mean, "early-death", {{"share", 1.0}, {"early_mean", 1000.0}});
  expect_same("exponential", mean, "piecewise", {{"ends", std::string()}, {"rates", std::string("0.001")}});
  expect_same("exponential", mean, "piecewise",
              {{"ends", std::string("300,3000")}, {"rates", std::string("0.001,0.001,0.001")}});
  const std::string ones = "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1";
  expect_same("exponential", mean, "piecewise",
              {{"ends", std::string("300")}, {"rates", std::string("0.001,0.001")}, {"by_hour", ones}});
  expect_same("exponential", mean, "shocks", {{"mean", 1000.0}, {"chance", 0.0}});
  expect_same("exponential", mean, "shocks", {{"mean", 2000.0}, {"shock_mean", 1000.0}, {"chance", 0.5}});
  expect_same("exponential", mean, "empirical",
              {{"times", std::string()}, {"survival", std::string()}, {"tail_rate", 0.001}});
}

TEST(LifetimeIdentities, MeansInClosedForm) {
  EXPECT_NEAR(make_lifetime("weibull", {{"shape", 0.5}, {"scale", 100.0}})->mean(), 200.0, 1e-9);
  EXPECT_NEAR(make_lifetime("weibull", {{"shape", 2.0}, {"scale", 100.0}})->mean(),
              100.0 * std::sqrt(M_PI) / 2.0, 1e-9);
  // 4 (1 - e^(-1.2)) / 0.01: what four machines of one step per second do in 120 s.
  EXPECT_NEAR(4.0 * make_lifetime("exponential", {{"mean", 100.0}})->mean_up_to(120.0), 279.522, 5e-4);
  const auto fixed = make_lifetime("fixed", {{"time", 50.0}});
  EXPECT_EQ(fixed->mean(), 50.0);
  EXPECT_EQ(fixed->survival(49.9), 1.0);
  EXPECT_EQ(fixed->survival(50.0), 0.0);
}

TEST(LifetimeIdentities, BathtubStartsAndEndsAsItsFormulaSays) {
  const auto bathtub =
      make_lifetime("bathtub", {{"a", 0.5}, {"tau1", 100.0}, {"tau2", 500.0}, {"b", 1000.0}});
  EXPECT_NEAR(bathtub->survival(0.0), 1.0 - 0.5 * std::exp(-2.0), 1e-12);
  EXPECT_NEAR(bathtub->survival(300.0), 1.0 - 0.5 * (1.0 - std::exp(-3.0) + std::exp(-1.4)), 1e-12);
  const double end = bathtub->time_of_survival(0.0);
  EXPECT_EQ(bathtub->survival(end), 0.0);
  EXPECT_GT(bathtub->survival(end * (1 - 1e-6)), 0.0);
  EXPECT_TRUE(std::isinf(bathtub->hazard(end)));
}

TEST(LifetimeIdentities, LimitAndMinimumBoundEveryLifetime) {
  const auto limited = make_lifetime("exponential", {{"mean", 100.0}, {"limit", 150.0}, {"minimum", 20.0}});
  EXPECT_EQ(limited->survival(19.9), 1.0);
  EXPECT_DOUBLE_EQ(limited->survival(20.0), std::exp(-0.2));
  EXPECT_EQ(limited->survival(150.0), 0.0);
  EXPECT_EQ(limited->hazard(10.0), 0.0);
  EXPECT_DOUBLE_EQ(limited->mean(), 20.0 + 100.0 * (std::exp(-0.2) - std::exp(-1.5)));
  EXPECT_EQ(limited->quantile(0.01), 20.0);
  EXPECT_EQ(limited->quantile(1.0), 150.0);
  const auto never = make_lifetime("never", {{"limit", 86400.0}});
  EXPECT_EQ(never->mean(), 86400.0);
  Rng rng(1);
  EXPECT_EQ(never->draw(rng), 86400.0);
}

TEST(LifetimeIdentities, ALateHazardOfZeroHasAnInfiniteMean) {
  for (const auto& [model, options] : std::vector<std::pair<std::string, Given>>{
           {"never", {}},
           {"piecewise", {{"ends", std::string("100")}, {"rates", std::string("0.01,0")}}},
           {"empirical", {{"times", std::string("100")}, {"survival", std::string("0.5")}}}}) {
    const auto lifetime = make_lifetime(model, options);
    EXPECT_TRUE(std::isinf(lifetime->mean())) << model;
    EXPECT_TRUE(std::isinf(lifetime->quantile(0.999))) << model;
    EXPECT_LE(lifetime->mean_up_to(1000.0), 1000.0) << model;
  }
}

TEST(LifetimeIdentities, HazardsByTheHourFollowTheClock) {
  // Departures only between 12 and 13 o'clock.
  const std::string noon = "0,0,0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0";
  const Given options = {
      {"ends", std::string()}, {"rates", std::string("0.001")}, {"by_hour", noon}, {"start_hour", 10.0}};
  const auto lifetime = make_lifetime("piecewise", options);
  EXPECT_EQ(lifetime->survival(7200.0), 1.0);
  EXPECT_NEAR(lifetime->survival(10800.0), std::exp(-3.6), 1e-12);
  EXPECT_NEAR(lifetime->survival(10800.0 + 86400.0), std::exp(-7.2), 1e-12);
  EXPECT_NEAR(lifetime->survival(10800.0 + 10 * 86400.0), std::exp(-39.6), 1e-20);
  // A machine that starts two hours into the job begins at noon.
  Rng rng(1), same(1);
  const double draw = -std::log(1.0 - same.uniform()) / 0.001;
  ASSERT_LT(draw, 3600.0);
  EXPECT_NEAR(lifetime->draw(rng, 7200.0), draw, 1e-9);
}

TEST(LifetimeModelErrors, BadOptionsAreRefused) {
  const auto refuses = [](const std::string& model, const Given& options, const std::string& part) {
    try {
      make_fates(model, options, 1, {0, 0});
      ADD_FAILURE() << model << " accepts " << part;
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  refuses("exponential", {{"mean", 0.0}}, "option 'mean': expected number >= 1e-09");
  refuses("exponential", {{"mean", -5.0}}, "found '-5'");
  refuses("exponential", {{"limit", 10.0}, {"minimum", 20.0}},
          "option 'minimum': expected at most the limit, 10");
  refuses("exponential", {{"lost", 1.5}}, "option 'lost'");
  refuses("piecewise", {{"rates", std::string("1e-5,inf,1e-5")}}, "found 'inf'");
  refuses("piecewise", {{"rates", std::string("1e-5")}}, "3 numbers, found '1 numbers'");
  refuses("piecewise", {{"ends", std::string("7200,3600")}}, "a number above 7200");
  refuses("piecewise", {{"by_hour", std::string("1,2")}}, "24 numbers");
  refuses("empirical", {{"survival", std::string("0.5,0.9")}}, "do not increase");
  refuses("empirical", {{"survival", std::string("0.5")}}, "as many numbers");
  refuses("trace", {{"events", std::string("9 remove a; 3 add a")}},
          "events in the order of time, so from 9 on");
  refuses("trace", {{"events", std::string("9 remove a; 10 remove a")}}, "a node that is there");
  refuses("trace", {{"events", std::string("9 add a; 10 add a")}}, "a node that was removed");
  refuses("trace", {{"events", std::string("9 vanish a")}}, "add, remove or warn");
  refuses("trace", {{"events", std::string("soon remove a")}}, "a time in seconds");
  refuses("fixed", {{"times", std::string("5,-1")}}, "found '-1'");
  refuses("fixed", {{"times", std::string("5,nan")}}, "numbers of at least 0 (or inf)");
  refuses("empirical", {{"times", std::string("5,inf")}}, "found 'inf'");
  refuses("fixed", {{"lost", std::string("inf")}}, "found 'inf'");
  refuses("shocks", {{"chance", 1e-6}}, "0, or a number from 1e-04");
  refuses("capacity-trace", {{"counts", std::string("2.5")}}, "whole numbers");
  refuses("capacity-trace", {{"counts", std::string()}}, "at least one number");
  refuses("weibul", {}, "did you mean 'weibull'");
  EXPECT_THROW(make_lifetime("markov", {}), ConfigError);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::lifetimes
