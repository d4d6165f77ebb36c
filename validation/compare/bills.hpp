// What runs of a planned job took and cost, against the forecast of its plan. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace tandem::validation {

/// Of one run: the mean of the lives of a plan, and their 5th and 95th percentile.
struct ForecastFigure {
  double mean = 0, low = 0, high = 0;

  /// It depends on chance: there is an interval.
  bool varies() const { return low < high; }
  bool holds(double value) const { return low <= value && value <= high; }
};

struct Forecast {
  ForecastFigure time_s{}, cost{};  ///< cost in dollars
};

struct PaidRun {
  Forecast forecast{};
  double time_s = 0, cost = 0;
};

/// A figure of several runs.
struct BilledFigure {
  double forecast = 0, measured = 0;  ///< means
  double error = 0;                   ///< of the measured mean, over that of the forecast
  std::optional<int> within{};        ///< runs in their 90 % interval; none: nothing varies
};

struct Bills {
  int runs = 0;
  BilledFigure time_s{}, cost{};
};

/// None: no run.
std::optional<Bills> bills_of(std::span<const PaidRun> runs);

/// "Bill of 20 runs of a planned job: paid $0.0412, forecast $0.0409 (+0.7 %), 18 of them in its 90 %
/// interval; time ...; means of the runs".
std::string text_of(const Bills& bills);

/// Of one run: the forecast, and how far the run differs from it.
std::string text_of(const PaidRun& run);

}  // namespace tandem::validation
