// Departures by the age of machines and by the hour of the day: rates with exact intervals, and the factors
// `by_hour` of the lifetime model `piecewise`. Times are seconds, rates per second. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policies/lifetimes/estimate/survival.hpp"
#include "policies/vocabulary/options.hpp"

namespace tandem::lifetimes {

/// Deaths of machines at ages above `begin`, up to `end`.
struct RateOfAges {
  double begin = 0.0;
  double end = 0.0;
  double deaths = 0.0;
  double time = 0.0;        ///< for which machines of these ages were observed
  double rate = no_value;   ///< NaN without such a time, as the bounds are
  double lower = no_value;  ///< for a Poisson count (Garwood, 1936)
  double upper = no_value;
};

/// At most 48 intervals of a round width, such as a second or an hour, up to the longest duration. A death of
/// which only an interval is known counts in its middle.
std::vector<RateOfAges> rates_by_age(const std::vector<Observation>& observations, double confidence = 0.95);

struct HourOfDay {
  double deaths = 0.0;
  double time = 0.0;        ///< for which machines were observed in this hour
  double factor = 1.0;      ///< of the hazard; 1 where no machine was observed
  double lower = no_value;  ///< for a Poisson count, if the rates by age are those that were fitted
  double upper = no_value;
};

/// A hazard that is a rate by age times a factor by the hour of the day. The mean of the factors is 1.
struct HoursOfDay {
  std::vector<HourOfDay> hours = {};  ///< 24, from midnight on
  /// False: each hour was observed at its own ages only, as all machines started within an hour of the day.
  /// Then factors could be of the ages as well, all are 1, and there are no options.
  bool is_separable = true;
  /// Twice the logarithm of the likelihood over that of the same intervals of age without factors, and the
  /// probability of such a value or a larger one if the hour has no effect and machines are independent.
  double statistic = 0.0;
  /// The hours that were observed at ages with deaths, less one for each set of hours with ages in common:
  /// one factor of a set is a part of the rates by age.
  std::int64_t degrees = 0;
  double p_value = 1.0;
  double aic_difference = 0.0;                      ///< below 0: the factors explain more than they cost
  std::map<std::string, OptionValue> options = {};  ///< of `piecewise`, for a job that starts at midnight
};

/// Maximum likelihood, with the intervals of age of `piecewise`. `starts`: the clock at age 0 of each
/// observation, in seconds since any midnight. Deaths count as in rates_by_age(). None: there are not more
/// deaths than parameters, or machines were observed in one hour only.
std::optional<HoursOfDay> fit_hours(const std::vector<Observation>& observations,
                                    const std::vector<double>& starts, double confidence = 0.95);

}  // namespace tandem::lifetimes
