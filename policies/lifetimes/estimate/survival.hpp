// Estimates of survival without a model, from lifetimes of which some are only known to be longer:
// Kaplan-Meier, Nelson-Aalen, restricted mean, log-rank test. Times are seconds. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "policies/lifetimes/lifetime.hpp"

namespace tandem::lifetimes {

/// What cannot be estimated: NaN.
inline constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

/// One machine that was observed from the age `entry` to the age `duration`.
struct Observation {
  double duration = 0.0;
  bool died = false;  ///< revoked at this age; otherwise it was alive (right-censored)
  double entry = 0.0;
  double weight = 1.0;  ///< how many such machines there were
  /// Where the age at death is only known to lie in an interval: the last age at which the machine was alive;
  /// it was dead at `duration`. Estimates without a model count the death at `duration`.
  std::optional<double> alive_at = {};
  bool at_limit = false;  ///< alive when it ended by a provider's limit; then it did not die

  /// The age at its end; if only an interval is known, in the middle of that.
  double middle() const { return alive_at ? (*alive_at + duration) / 2.0 : duration; }
};

/// A time at which machines died.
struct SurvivalStep {
  double time;
  double at_risk;  ///< observed at this time and alive just before
  double deaths;
  double survival;           ///< S from this time on
  double error;              ///< standard error of S, by Greenwood's formula; NaN where S is 0
  double lower;              ///< of the interval, symmetric in log(-log S); NaN where S is 0
  double upper;              ///< the same
  double cumulative_hazard;  ///< Nelson-Aalen
};

struct SurvivalCurve {
  std::vector<SurvivalStep> steps;
  double last = 0.0;  ///< the longest duration, also of machines that were alive
  /// S(t). Pre: t >= 0. Beyond `last`: as at `last`.
  double survival(double t) const;
  /// The first time with S <= s; infinity if S stays above.
  double time_of_survival(double s) const;
};

/// Deaths come before censorings at equal times. Pre: 0 <= entry < duration, or both are 0. Source: Kaplan
/// and Meier (1958), Greenwood (1926), Nelson (1972), Aalen (1978), Kalbfleisch and Prentice (2002).
SurvivalCurve kaplan_meier(const std::vector<Observation>& observations, double confidence = 0.95);

struct Estimate {
  double value;
  double error;  ///< standard error
  double lower;
  double upper;
};

/// E[min(T, limit)]: the area below the curve. Pre: limit <= last, or S is 0 from some time on.
Estimate restricted_mean(const SurvivalCurve& curve, double limit, double confidence = 0.95);

struct LogRank {
  double statistic = 0.0;
  std::int64_t degrees = 0;
  double p_value = 1.0;          ///< of such differences, or larger ones, if all groups have one distribution
  std::vector<double> observed;  ///< deaths, by group
  std::vector<double> expected;  ///< if all groups had one distribution
};

/// Whether groups differ. Groups that are never at risk at the time of a death do not count. Source: Mantel
/// (1966).
LogRank log_rank(const std::vector<std::vector<Observation>>& groups);

/// The hazard of late ages: deaths over time from the age at which half of all deaths have occurred. 0
/// without deaths.
double late_hazard(const std::vector<Observation>& observations);

}  // namespace tandem::lifetimes
