#include "validation/compare/bills.hpp"

#include <fmt/format.h>

#include "workloads/records/format.hpp"

namespace tandem::validation {
namespace {

BilledFigure figure_of(std::span<const PaidRun> runs, ForecastFigure Forecast::*of, double PaidRun::*value) {
  BilledFigure figure;
  for (const PaidRun& run : runs) {
    const ForecastFigure& forecast = run.forecast.*of;
    figure.forecast += forecast.mean;
    figure.measured += run.*value;
    if (forecast.varies()) figure.within = figure.within.value_or(0) + (forecast.holds(run.*value) ? 1 : 0);
  }
  figure.error = figure.measured / figure.forecast - 1.0;
  figure.forecast /= static_cast<double>(runs.size());
  figure.measured /= static_cast<double>(runs.size());
  return figure;
}

std::string figure_text(const char* verb, const BilledFigure& of, Unit unit) {
  std::string text = fmt::format("{} {}, forecast {} ({})", verb, with_unit(of.measured, unit, of.forecast),
                                 with_unit(of.forecast, unit), signed_percent(of.error));
  if (of.within) text += fmt::format(", {} of them in its 90 % interval", *of.within);
  return text;
}

std::string run_text(const ForecastFigure& forecast, double value, Unit unit) {
  const auto text = [&](double one) { return with_unit(one, unit, forecast.mean); };
  std::string line = text(forecast.mean);
  if (forecast.varies())
    line += fmt::format(" (90 % of runs: {} to {})", text(forecast.low), text(forecast.high));
  line += fmt::format("; this run {}", signed_percent(value / forecast.mean - 1.0));
  if (forecast.varies() && !forecast.holds(value)) line += ", outside";
  return line;
}

}  // namespace

std::optional<Bills> bills_of(std::span<const PaidRun> runs) {
  if (runs.empty()) return std::nullopt;
  return Bills{static_cast<int>(runs.size()), figure_of(runs, &Forecast::time_s, &PaidRun::time_s),
               figure_of(runs, &Forecast::cost, &PaidRun::cost)};
}

std::string text_of(const Bills& bills) {
  return fmt::format("Bill of {} {} of a planned job: {}; {}; means of the runs", bills.runs,
                     bills.runs == 1 ? "run" : "runs", figure_text("paid", bills.cost, Unit::dollars),
                     figure_text("time", bills.time_s, Unit::seconds));
}

std::string text_of(const PaidRun& run) {
  return fmt::format("forecast of the plan: cost {}; time {}",
                     run_text(run.forecast.cost, run.cost, Unit::dollars),
                     run_text(run.forecast.time_s, run.time_s, Unit::seconds));
}

}  // namespace tandem::validation
