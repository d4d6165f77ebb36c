// Departures by age and by hour of the day: bounds and factors by hand, and the rates of made lifetimes found
// again.
#include "policies/lifetimes/estimate/hours.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "tests/policies/lifetimes/made.hpp"

namespace tandem::lifetimes {
namespace TANDEM_FILE {

constexpr double an_hour = 3600.0;

/// Ten deaths of ten machines in the first hour, none of the five others in two hours each. The bounds of a
/// count of 10 are 4.7954 and 18.3904, and that of 0 is log(40).
TEST(RatesByAge, AreDeathsOverTimeWithTheBoundsOfACount) {
  const auto rates = rates_by_age({{an_hour / 2, true, 0, 10}, {8 * an_hour, false, 6 * an_hour, 5}});
  ASSERT_EQ(rates.size(), 48U) << "of ten minutes";
  const RateOfAges& third = rates[2];
  EXPECT_EQ(third.begin, 1200.0);
  EXPECT_EQ(third.end, 1800.0);
  EXPECT_EQ(third.deaths, 10.0) << "at its end";
  EXPECT_EQ(third.time, 6000.0);
  EXPECT_NEAR(third.rate, 10 / 6000.0, 1e-15);
  EXPECT_NEAR(third.lower * 6000, 4.7954, 1e-4);
  EXPECT_NEAR(third.upper * 6000, 18.3904, 1e-4);
  EXPECT_EQ(rates[0].deaths, 0.0);
  EXPECT_EQ(rates[0].lower, 0.0);
  EXPECT_NEAR(rates[0].upper * 6000, std::log(40.0), 1e-9);
  EXPECT_TRUE(std::isnan(rates[20].rate)) << "nothing was observed at these ages";
  EXPECT_EQ(rates[47].time, 5 * 600.0);
}

/// One machine's hour of the day each: of those observed in hour h, 10 + h died at its end.
TEST(HoursOfDay, OfOneAgeAreDeathsOverTime) {
  std::vector<Observation> observations;
  std::vector<double> starts;
  double deaths = 0, statistic = 0, mean = 0;
  const auto died = [](int hour) { return 10.0 + hour; };
  const auto rate = [&](int hour) { return died(hour) / (100 + died(hour)); };
  for (int hour = 0; hour < 24; ++hour) {
    observations.push_back({an_hour, true, 0, died(hour)});
    observations.push_back({an_hour, false, 0, 100});
    // Of another day each.
    for (int i = 0; i < 2; ++i) starts.push_back((hour + 24.0 * 7 * hour) * an_hour);
    deaths += died(hour);
    mean += rate(hour) / 24;
  }
  for (int hour = 0; hour < 24; ++hour)
    statistic += 2 * died(hour) * std::log(rate(hour) / (deaths / (2400 + deaths)));
  const auto found = fit_hours(observations, starts);
  ASSERT_TRUE(found);
  for (int hour = 0; hour < 24; ++hour) {
    const HourOfDay& own = found->hours[static_cast<std::size_t>(hour)];
    EXPECT_EQ(own.deaths, died(hour));
    EXPECT_EQ(own.time, (100 + died(hour)) * an_hour);
    EXPECT_NEAR(own.factor, rate(hour) / mean, 1e-10) << hour;
  }
  EXPECT_NEAR(found->hours[0].lower / found->hours[0].factor, .47954, 1e-5);
  EXPECT_NEAR(found->hours[0].upper / found->hours[0].factor, 1.83904, 1e-5);
  EXPECT_NEAR(found->statistic, statistic, 1e-8);
  EXPECT_EQ(found->degrees, 23);
  EXPECT_NEAR(found->aic_difference, 46 - statistic, 1e-8);
}

TEST(HoursOfDay, ThatAreAllAlikeExplainNothing) {
  std::vector<Observation> observations;
  std::vector<double> starts;
  for (int hour = 0; hour < 24; ++hour) {
    observations.push_back({an_hour, true, 0, 10});
    starts.push_back(hour * an_hour);
  }
  const auto found = fit_hours(observations, starts);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->statistic, 0.0, 1e-9);
  EXPECT_NEAR(found->p_value, 1.0, 1e-9);
  EXPECT_NEAR(found->aic_difference, 46.0, 1e-9);
  EXPECT_EQ(std::get<std::string>(found->options.at("ends")), "");
  EXPECT_EQ(std::get<std::string>(found->options.at("by_hour")),
            "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1");
}

TEST(HoursOfDay, NeedMoreDeathsThanParameters) {
  std::vector<Observation> few;
  std::vector<double> starts;
  for (int hour = 0; hour < 24; ++hour) {
    few.push_back({an_hour, true});
    starts.push_back(hour * an_hour);
  }
  EXPECT_FALSE(fit_hours(few, starts)) << "24 deaths, 24 parameters";
  for (Observation& one : few) one.weight = 1.1;
  EXPECT_TRUE(fit_hours(few, starts));
  EXPECT_FALSE(fit_hours({{an_hour, true, 0, 100}}, {0.0})) << "one hour only";
  EXPECT_FALSE(fit_hours({{an_hour, false}}, {0.0})) << "no deaths";
}

/// Machines that start around midnight of several days, and die at ages at which the hazard of all is high.
TEST(HoursOfDay, OfMachinesThatStartTogetherAreTheirAges) {
  std::vector<Observation> observations;
  std::vector<double> starts;
  for (int i = 0; i < 40; ++i) {
    observations.push_back({(i % 4 == 0 ? 2.5 : 9.5) * an_hour, true, 0, 10});
    starts.push_back((24 * (i % 5) + 0.02 * (i % 40 - 20)) * an_hour);
  }
  const auto found = fit_hours(observations, starts);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->is_separable);
  EXPECT_EQ(found->p_value, 1.0);
  EXPECT_EQ(found->aic_difference, 0.0);
  EXPECT_TRUE(found->options.empty());
  ASSERT_EQ(found->hours.size(), 24U);
  double deaths = 0;
  for (const HourOfDay& hour : found->hours) {
    EXPECT_EQ(hour.factor, 1.0);
    deaths += hour.deaths;
  }
  EXPECT_EQ(deaths, 400.0);
  // One that starts an hour later is observed at other ages in each hour.
  starts.back() += an_hour;
  EXPECT_TRUE(fit_hours(observations, starts)->is_separable);
}

/// Up to an hour of age, machines were observed in hours 0 and 12, and later in 1, 2, 13 and 14: a factor of
/// each of the two sets is its rate by age.
TEST(HoursOfDay, HaveAFactorLessForEachSetWithAgesOfItsOwn) {
  std::vector<Observation> observations;
  std::vector<double> starts;
  for (const double start : {0.0, 12.0})
    for (const double age : {1.0, 3.0}) {
      observations.push_back({age * an_hour, true, 0, 20});
      starts.push_back(start * an_hour);
    }
  const auto found = fit_hours(observations, starts);
  ASSERT_TRUE(found);
  EXPECT_EQ(std::get<std::string>(found->options.at("ends")), "3600");
  EXPECT_EQ(found->degrees, 4);
}

/// Machines start at random within ten days, are young for an hour, and lie about as often in each hour of
/// the day. The hazard at noon is four times that at midnight.
TEST(HoursOfDay, FindTheFactorsOfMadeLifetimes) {
  std::vector<double> factors;
  std::string text;
  for (int hour = 0; hour < 24; ++hour) {
    factors.push_back(1.0 - 0.6 * std::cos(hour * 2 * 3.14159265358979 / 24));
    text += (hour == 0 ? "" : ",") + std::to_string(factors.back());
  }
  const Given options = {
      {"ends", std::string("3600")}, {"rates", std::string("1e-4,2e-5")}, {"by_hour", text}};
  const auto truth = make_lifetime("piecewise", options);
  Rng rng = Rng::stream(11, "hours");
  std::vector<Observation> observations;
  std::vector<double> starts;
  for (int i = 0; i < 20'000; ++i) {
    const double start = 240 * an_hour * rng.uniform(), lifetime = truth->draw(rng, start);
    observations.push_back({.duration = std::min(lifetime, 30 * an_hour), .died = lifetime <= 30 * an_hour});
    starts.push_back(start);
  }
  const auto found = fit_hours(observations, starts);
  ASSERT_TRUE(found);
  for (std::size_t hour = 0; hour < 24; ++hour)
    EXPECT_NEAR(found->hours[hour].factor, factors[hour], 0.1 * factors[hour] + 0.05) << hour;
  EXPECT_LT(found->p_value, 1e-12);
  EXPECT_LT(found->aic_difference, 0.0);
  // The options make the model: the first end lies within the young ages, the last one far above.
  const auto made = make_lifetime("piecewise", found->options);
  for (const double age : {0.3, 2.0, 10.0, 30.0})
    EXPECT_NEAR(made->survival(age * an_hour), truth->survival(age * an_hour), 0.05) << age;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::lifetimes
