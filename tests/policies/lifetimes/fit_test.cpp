// Maximum likelihood: closed forms, and parameters of made lifetimes, half of which are censored, found
// again.
#include "policies/lifetimes/estimate/fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "policies/lifetimes/estimate/families.hpp"
#include "tests/policies/lifetimes/made.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::lifetimes {
namespace TANDEM_FILE {

double value_of(const Fitted& fitted, const std::string& name) {
  return std::ranges::find(fitted.parameters, name, &FittedParameter::name)->value;
}

TEST(Fit, ExponentialIsDeathsOverTime) {
  const std::vector<Observation> worked = {{1, true}, {2, true},  {2, false},
                                           {3, true}, {5, false}, {8, true}};
  const auto fitted = fit("exponential", worked);
  EXPECT_NEAR(value_of(fitted, "mean"), 21.0 / 4, 1e-4);
  EXPECT_NEAR(fitted.log_likelihood, 4 * std::log(4.0 / 21) - 4, 1e-9);
  EXPECT_NEAR(fitted.aic, 2 - 2 * fitted.log_likelihood, 1e-12);
  EXPECT_NEAR(value_of(fit("exponential", {{7, true}}), "mean"), 7.0, 1e-4) << "one machine";
  EXPECT_NEAR(value_of(fit("exponential", {{7, true, 3}}), "mean"), 4.0, 1e-4) << "observed from age 3 on";
}

/// 2 (d log(rate / rate^) - (rate - rate^) time) = -3.841459 at the bounds.
TEST(Fit, ProfileOfTheExponentialHasItsClosedForm) {
  const auto observations = observed(drawn("exponential", {{"mean", 100.0}}, 60, 1), 100.0, 1);
  auto fitted = fit("exponential", observations);
  add_profile_intervals(fitted, observations);
  double deaths = 0, time = 0;
  for (const auto& one : observations) deaths += one.died ? 1 : 0, time += one.duration;
  for (const double mean : {fitted.parameters[0].lower, fitted.parameters[0].upper}) {
    const double rate = 1 / mean, best = deaths / time;
    EXPECT_NEAR(2 * (deaths * std::log(rate / best) - (rate - best) * time), -3.841459, 1e-3);
  }
  EXPECT_LT(fitted.parameters[0].lower, fitted.parameters[0].value);
}

/// At the maximum, Weibull's equations hold: scale^k = sum t^k / d, and the score of the shape is 0.
TEST(Fit, WeibullSolvesItsEquations) {
  const auto observations = observed(drawn("weibull", {{"shape", 0.7}, {"scale", 100.0}}, 300, 4), 150.0, 4);
  const auto fitted = fit("weibull", observations);
  const double k = value_of(fitted, "shape"), scale = value_of(fitted, "scale");
  double deaths = 0, powers = 0, weighted = 0, logs = 0;
  for (const auto& one : observations) {
    const double power = std::pow(one.duration, k);
    powers += power;
    weighted += power * std::log(one.duration);
    if (one.died) deaths += 1, logs += std::log(one.duration);
  }
  EXPECT_NEAR(scale / std::pow(powers / deaths, 1 / k), 1.0, 1e-4);
  EXPECT_NEAR(1 / k + logs / deaths - weighted / powers, 0.0, 1e-3);
}

TEST(Fit, PiecewiseIsDeathsOverTimeInEachInterval) {
  const auto observations = observed(drawn("weibull", {{"shape", 0.6}, {"scale", 100.0}}, 200, 4), 150.0, 4);
  const auto fitted = fit("piecewise", observations);
  ASSERT_EQ(fitted.ends.size(), 3U);
  for (std::size_t i = 0; i < 4; ++i) {
    const double begin = i == 0 ? 0.0 : fitted.ends[i - 1], end = i < 3 ? fitted.ends[i] : infinity;
    double deaths = 0, time = 0;
    for (const auto& one : observations) {
      deaths += one.died && one.duration > begin && one.duration <= end ? 1 : 0;
      time += std::max(0.0, std::min(one.duration, end) - begin);
    }
    EXPECT_NEAR(fitted.parameters[i].value * time / deaths, 1.0, 1e-4);
  }
}

struct Recovery {
  std::string model;
  Given options;
  double stop_mean;  ///< so that about half of the machines are censored
};

/// The true parameters lie in their intervals of 99.9 %, and the likelihood is not below that of the truth.
TEST(LongFit, RecoversTheParametersOfTenThousandMachines) {
  const std::vector<Recovery> all = {
      {"exponential", {{"mean", 5000.0}}, 5000.0},
      {"weibull", {{"shape", 0.7}, {"scale", 5000.0}}, 5000.0},
      {"weibull", {{"shape", 2.5}, {"scale", 5000.0}}, 6000.0},
      {"early-death", {{"share", 0.3}, {"early_mean", 600.0}, {"mean", 20000.0}}, 7000.0},
      {"bathtub", {{"a", 0.45}, {"tau1", 3600.0}, {"tau2", 3000.0}, {"b", 80000.0}}, 60000.0}};
  for (const auto& [model, options, stop_mean] : all) {
    SCOPED_TRACE(model);
    const auto observations = observed(drawn(model, options, 10'000, 21), stop_mean, 21);
    EXPECT_NEAR(share_of_deaths(observations), 0.5, 0.12);
    auto fitted = fit(model, observations);
    // The profile of `bathtub` has no such interval.
    if (model != "bathtub") add_profile_intervals(fitted, observations, 0.999);
    Values truth;
    for (const auto& parameter : fitted.parameters) {
      truth.push_back(std::get<double>(options.at(parameter.name)));
      if (model != "bathtub") {
        EXPECT_LT(parameter.lower, truth.back()) << parameter.name;
        EXPECT_GT(parameter.upper, truth.back()) << parameter.name;
      }
      EXPECT_NEAR(parameter.value / truth.back(), 1.0, 0.1) << parameter.name;
    }
    EXPECT_GE(fitted.log_likelihood, family_of(model, observations).log_likelihood(truth) - 1e-6);
    EXPECT_EQ(fit_all(observations).front().model, model) << "the smallest AIC";
  }
}

/// With q = S(hour), q^(k-1) (1 - q) is the probability of a death in hour k, and q^k that of being alive
/// after it; so q is the share of the machines' hours that they lived through.
TEST(Fit, ExponentialDeathsByTheHourHaveAClosedForm) {
  const auto lifetimes = drawn("exponential", {{"mean", 9000.0}}, 200, 3);
  std::vector<Observation> observations;
  double deaths = 0, lived = 0, log_likelihood = 0;
  for (const double lifetime : lifetimes) {
    const double hour = std::min(std::floor(lifetime / 3600.0), 4.0);
    lived += hour;
    if (hour == 4.0) {
      observations.push_back({.duration = 4 * 3600.0});
    } else {
      deaths += 1;
      observations.push_back({.duration = (hour + 1) * 3600.0, .died = true, .alive_at = hour * 3600.0});
    }
  }
  const double q = lived / (lived + deaths);
  const auto fitted = fit("exponential", observations);
  EXPECT_NEAR(value_of(fitted, "mean") / (-3600.0 / std::log(q)), 1.0, 1e-5);
  log_likelihood = lived * std::log(q) + deaths * std::log(1 - q);
  EXPECT_NEAR(fitted.log_likelihood, log_likelihood, 1e-8);
  // A machine that was first seen after an hour tells nothing of that hour.
  for (auto& one : observations) one.duration += 3600.0, one.entry = 3600.0;
  for (auto& one : observations)
    if (one.alive_at) *one.alive_at += 3600.0;
  EXPECT_NEAR(fit("exponential", observations).log_likelihood, log_likelihood, 1e-8);
}

/// log(S(t - w) - S(t)) tends to log(w f(t)).
TEST(Fit, AShortIntervalIsADensity) {
  const auto observations =
      observed(drawn("weibull", {{"shape", 0.7}, {"scale", 5000.0}}, 100, 8), 5000.0, 8);
  auto within = observations;
  double expected = 0.0;
  for (auto& one : within) {
    if (!one.died) continue;
    const double width = 1e-6 * one.duration;
    one.alive_at = one.duration - width;
    expected += std::log(width);
  }
  for (const auto& name : fitted_names()) {
    const Family family = family_of(name, observations);
    const Values& values = family.starts.front();
    EXPECT_NEAR(family_of(name, within, family.ends).log_likelihood(values) - expected,
                family.log_likelihood(values), 1e-3)
        << name;
  }
}

/// Half of the deaths are known by the interval only.
TEST(LongFit, RecoversParametersFromIntervals) {
  const std::vector<Recovery> all = {
      {"exponential", {{"mean", 5000.0}}, 5000.0},
      {"weibull", {{"shape", 0.7}, {"scale", 5000.0}}, 5000.0},
      {"early-death", {{"share", 0.3}, {"early_mean", 600.0}, {"mean", 20000.0}}, 7000.0},
      {"bathtub", {{"a", 0.45}, {"tau1", 3600.0}, {"tau2", 3000.0}, {"b", 80000.0}}, 60000.0}};
  for (const auto& [model, options, stop_mean] : all) {
    SCOPED_TRACE(model);
    const auto observations =
        half_in_intervals(observed(drawn(model, options, 10'000, 21), stop_mean, 21), 1200.0);
    auto fitted = fit(model, observations);
    // As with known ages.
    if (model != "bathtub") add_profile_intervals(fitted, observations, 0.999);
    Values truth;
    for (const auto& parameter : fitted.parameters) {
      truth.push_back(std::get<double>(options.at(parameter.name)));
      EXPECT_NEAR(parameter.value / truth.back(), 1.0, 0.1) << parameter.name;
      if (model == "bathtub") continue;
      EXPECT_LT(parameter.lower, truth.back()) << parameter.name;
      EXPECT_GT(parameter.upper, truth.back()) << parameter.name;
    }
    EXPECT_GE(fitted.log_likelihood, family_of(model, observations).log_likelihood(truth) - 1e-6);
  }
}

TEST(Fit, RecoversTheRatesOfPiecewise) {
  const Given options = {{"ends", std::string("1000,5000")}, {"rates", std::string("4e-4,5e-5,2e-4")}};
  const auto truth = make_lifetime("piecewise", options);
  const auto observations = observed(drawn("piecewise", options, 10'000, 5), 6000.0, 5);
  const auto fitted = fit("piecewise", observations);
  const auto made = make_lifetime("piecewise", fitted.options);
  // Between its ends the fitted curve is a chord of the logarithm.
  for (const double t : fitted.ends) EXPECT_NEAR(made->survival(t), truth->survival(t), 0.02) << t;
  const auto by_the_hour = fit("piecewise", half_in_intervals(observations, 400.0));
  const auto remade = make_lifetime("piecewise", by_the_hour.options);
  for (const double t : by_the_hour.ends) EXPECT_NEAR(remade->survival(t), truth->survival(t), 0.02) << t;
}

/// The options of every fitted model are those of its lifetime model, with the likelihood's survival.
TEST(LongFit, FittedOptionsMakeTheModel) {
  const auto observations =
      observed(drawn("weibull", {{"shape", 0.7}, {"scale", 5000.0}}, 500, 8), 5000.0, 8);
  const auto curve = kaplan_meier(observations);
  for (const auto& name : fitted_names()) {
    const auto fitted = fit(name, observations);
    const auto lifetime = make_lifetime(fitted.model, fitted.options);
    double sum = 0.0;
    for (const auto& one : observations)
      sum += std::log(lifetime->survival(one.duration)) +
             (one.died ? std::log(lifetime->hazard(one.duration * (1 - 1e-12))) : 0.0);
    // The last death of `bathtub` is where S vanishes, so that its hazard has few digits.
    EXPECT_NEAR(sum, fitted.log_likelihood, 5e-3 * std::abs(sum)) << name;
  }
}

TEST(Fit, TruncationIsUndone) {
  Rng rng(5);
  std::vector<Observation> seen;
  for (const double lifetime : drawn("weibull", {{"shape", 0.6}, {"scale", 1000.0}}, 20'000, 2)) {
    const double entry = 800.0 * rng.uniform();
    if (entry < lifetime) seen.push_back({lifetime, true, entry});
  }
  auto fitted = fit("weibull", seen);
  add_profile_intervals(fitted, seen, 0.999);
  EXPECT_LT(fitted.parameters[0].lower, 0.6);
  EXPECT_GT(fitted.parameters[0].upper, 0.6);
  EXPECT_LT(fitted.parameters[1].lower, 1000.0);
  EXPECT_GT(fitted.parameters[1].upper, 1000.0);
  EXPECT_NEAR(value_of(fitted, "shape"), 0.6, 0.03);
}

/// Machines of a group that die together are one observation, so intervals by group are wider by the root of
/// their number.
TEST(Fit, BootstrapByGroupKnowsThatMachinesDieTogether) {
  std::vector<Observation> observations;
  std::vector<std::size_t> groups, single;
  const auto lifetimes = drawn("exponential", {{"mean", 100.0}}, 100, 6);
  for (std::size_t group = 0; group < lifetimes.size(); ++group)
    for (int machine = 0; machine < 9; ++machine) {
      observations.push_back({lifetimes[group], true});
      groups.push_back(group);
      single.push_back(single.size());
    }
  auto together = fit("exponential", observations), apart = together;
  add_bootstrap_intervals(together, observations, groups, 1000, 1);
  add_bootstrap_intervals(apart, observations, single, 1000, 1);
  const auto width = [](const Fitted& fitted) {
    return fitted.parameters[0].upper - fitted.parameters[0].lower;
  };
  EXPECT_NEAR(width(together) / width(apart), 3.0, 0.4);
  EXPECT_LT(together.parameters[0].lower, together.parameters[0].value);
  EXPECT_GT(together.parameters[0].upper, together.parameters[0].value);
}

/// Densities that are constant or rise slowly: the formula alone fits them best with up to 2 % of the
/// machines dead at age 0.
TEST(Fit, EveryMachineOfABathtubIsAliveAtAgeZero) {
  constexpr double longest = 86'400.0;
  Rng rng = Rng::stream(7, "rising densities");
  std::vector<std::vector<Observation>> samples(3);
  for (int i = 0; i < 400; ++i) {
    const double u = rng.uniform();
    samples[0].push_back({longest * u, true});
    samples[1].push_back({longest * std::sqrt(u), true});
    samples[2].push_back({longest / 2.0 * std::log1p(u * std::expm1(2.0)), true});
  }
  for (const auto& observations : samples) {
    const auto fitted = fit("bathtub", observations);
    EXPECT_TRUE(std::isfinite(fitted.log_likelihood));
    const auto lifetime = make_lifetime("bathtub", fitted.options);
    EXPECT_GE(lifetime->survival(0.0), 1.0 - 1.001e-3);
    EXPECT_GE(lifetime->survival(1.0), 0.99);
  }
}

TEST(Fit, DurationsOfZeroAreNoObstacle) {
  for (const auto& name : fitted_names()) {
    const auto fitted = fit(
        name, {{0, true}, {0, true}, {5, true}, {9, true}, {12, true}, {30, false}, {31, true}, {40, true}});
    EXPECT_TRUE(std::isfinite(fitted.log_likelihood)) << name;
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::lifetimes
