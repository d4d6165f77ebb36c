#include "validation/report/lifetimes_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "validation/page/pieces.hpp"
#include "validation/report/page.hpp"
#include "workloads/records/format.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

constexpr std::size_t height_of_rates = 340;

std::string count_text(double value) { return fmt::format("{:g}", value); }

std::string bound_text(double value) { return std::isfinite(value) ? significant(value, 4) : "no bound"; }

using NamedEstimate = std::pair<std::string, const EstimatedLifetimes*>;

/// The groups of which machines departed and `is_drawn` is true; if there are none, all machines.
template <class Condition>
std::vector<NamedEstimate> drawn_estimates(const LifetimesFit& fit, const Condition& is_drawn) {
  std::vector<NamedEstimate> drawn;
  for (const LifetimesSample& group : fit.groups)
    if (group.estimated && is_drawn(*group.estimated))
      drawn.emplace_back(name_of_group(group), &*group.estimated);
  if (drawn.empty() && is_drawn(*fit.all.estimated)) drawn.emplace_back("all", &*fit.all.estimated);
  return drawn;
}
std::vector<NamedEstimate> drawn_by_age(const LifetimesFit& fit) {
  return drawn_estimates(fit, [](const EstimatedLifetimes& own) { return !own.by_age.empty(); });
}
std::vector<NamedEstimate> drawn_by_hour(const LifetimesFit& fit) {
  return drawn_estimates(
      fit, [](const EstimatedLifetimes& own) { return own.by_hour && own.by_hour->is_separable; });
}

/// The data that the script draws.
json chart_data(const LifetimesFit& fit) {
  json models = json::array(), groups = json::array(), ages = json::array(), hours = json::array();
  for (const auto& model : fit.all.estimated->models)
    models.push_back({{"name", model.fitted.model}, {"points", model.points}});
  for (const LifetimesSample& group : fit.groups)
    groups.push_back({{"name", name_of_group(group)},
                      {"last_s", group.curve.last},
                      {"survival", document_of(group.curve)}});
  for (const auto& [name, estimated] : drawn_by_age(fit))
    ages.push_back({{"name", name}, {"rates", document_of(estimated->by_age)}});
  for (const auto& [name, estimated] : drawn_by_hour(fit))
    hours.push_back({{"name", name}, {"hours", document_of(*estimated->by_hour).at("hours")}});
  return {{"last_s", fit.all.curve.last},
          {"chosen", fit.all.estimated->chosen.name},
          {"survival", document_of(fit.all.curve)},
          {"models", std::move(models)},
          {"by_age", std::move(ages)},
          {"by_hour", std::move(hours)},
          {"results", std::move(groups)}};
}

Table models_table(const EstimatedLifetimes& estimated) {
  Table table{
      .columns = {{"Model", true}, {"AIC"}, {"Difference"}, {"Log-likelihood"}, {"Parameters", true}}};
  for (const auto& model : estimated.models) {
    std::string parameters;
    for (const auto& parameter : model.fitted.parameters) {
      parameters += fmt::format("{}{} {}", parameters.empty() ? "" : ", ", parameter.name,
                                significant(parameter.value, 4));
      if (std::isfinite(parameter.lower) || std::isfinite(parameter.upper))
        parameters += fmt::format(" ({} to {})", bound_text(parameter.lower), bound_text(parameter.upper));
    }
    table.rows.push_back({{model.fitted.model, fmt::format("{:.1f}", model.fitted.aic),
                           fmt::format("{:.1f}", model.aic_difference),
                           fmt::format("{:.1f}", model.fitted.log_likelihood), parameters}});
  }
  return table;
}

/// All machines, then each group.
Table samples_table(const LifetimesFit& fit) {
  Table table{.columns = {{"Machines", true},
                          {"Number"},
                          {"Revoked"},
                          {"Failed"},
                          {"Censored"},
                          {"Median"},
                          {"Mean, up to the age"},
                          {"Chosen model", true}}};
  const auto add = [&](const std::string& name, const LifetimesSample& sample) {
    std::string median = "-", mean = "-", model = "-";
    if (const auto& estimated = sample.estimated) {
      median = age_text(estimated->median);
      mean = fmt::format("{}, {}", age_text(estimated->mean.estimate.value), age_text(estimated->mean.limit));
      model = estimated->chosen.name;
    }
    table.rows.push_back({{name, count_text(sample.machines), count_text(sample.revoked),
                           count_text(sample.failed), count_text(sample.censored), median, mean, model}});
  };
  add("all", fit.all);
  for (const LifetimesSample& group : fit.groups) add(name_of_group(group), group);
  return table;
}

Table hours_table(const lifetimes::HoursOfDay& found) {
  Table table{.columns = {{"Hour (UTC)"}, {"Departures"}, {"Observed"}, {"Factor"}, {"Interval"}}};
  for (std::size_t hour = 0; hour < found.hours.size(); ++hour) {
    const lifetimes::HourOfDay& own = found.hours[hour];
    table.rows.push_back(
        {{std::to_string(hour), count_text(own.deaths), age_text(own.time), significant(own.factor, 3),
          std::isfinite(own.lower)
              ? fmt::format("{} to {}", significant(own.lower, 3), significant(own.upper, 3))
              : "-"}});
  }
  return table;
}

/// Of all machines and of each group, if there is a fit, or that there can be none.
void add_hours(const LifetimesFit& fit, Page& page) {
  const auto is_known = [](const EstimatedLifetimes& own) { return own.by_hour.has_value(); };
  if (drawn_estimates(fit, is_known).empty()) return;
  const bool is_drawn = !drawn_by_hour(fit).empty();
  page.add(Heading{2, "Hour of the day"});
  if (is_drawn)
    page.add(Charts{{{"hours", "Factor of departures by hour of the day (UTC)", height_of_rates}}});
  const auto add = [&](const std::string& name, const LifetimesSample& sample) {
    if (!sample.estimated || !sample.estimated->by_hour) return;
    const lifetimes::HoursOfDay& found = *sample.estimated->by_hour;
    page.add(Note{fmt::format("{}: {}.", name, verdict_of(found))});
    if (found.is_separable)
      page.add(Details{fmt::format("{}: factors, and the keys of an experiment", name),
                       {{hours_table(found)}, {Code{experiment_lines_of(found)}}}});
  };
  add("all", fit.all);
  for (const LifetimesSample& group : fit.groups) add(name_of_group(group), group);
  if (!is_drawn) return;
  page.add(Note{fmt::format(
      "The hazard is a rate by age times a factor by the hour (model piecewise, option by_hour); the mean of "
      "the factors is 1. Intervals of {:g} % are exact for the counted departures, if machines depart "
      "independently of each other and the rates by age are those that were fitted. An AIC below 0 means "
      "that the hour explains more than its factors cost.",
      100.0 * fit.confidence)});
}

Page page_of_lifetimes(const LifetimesFit& fit) {
  Page page{.title = fit.file, .kind = "Tandem lifetimes of machines", .blocks = {}};
  page.add(Note{fmt::format("{} machines, of which {} departed; observed for {} in all.",
                            count_text(fit.all.machines), count_text(fit.all.revoked + fit.all.failed),
                            age_text(fit.all.observed_s))});
  if (const auto& limit = fit.all.estimated->limit)
    page.add(Note{fmt::format(
        "{} machines end at {}: a provider's limit. The models count these ends as censored, and have the "
        "option limit.",
        count_text(limit->ends), age_text(limit->age))});
  constexpr std::size_t height = 380;
  Charts charts{{{"survival", "Share alive by age, and fitted models", height}}};
  if (!fit.groups.empty()) charts.charts.push_back({"groups", "Share alive by age, by group", height});
  page.add(std::move(charts), samples_table(fit));
  if (!drawn_by_age(fit).empty()) page.add(Charts{{{"ages", "Departures by age", height_of_rates}}});
  add_hours(fit, page);
  page.add(Heading{2, "Models"}, models_table(*fit.all.estimated));
  if (const auto& test = fit.log_rank)
    page.add(Note{
        fmt::format("Log-rank test between the groups: chi-squared {} with {} degrees of freedom, p = {}.",
                    significant(test->statistic, 4), test->degrees, significant(test->p_value, 4))});
  page.add(
      Note{fmt::format("Curves are Kaplan-Meier estimates with their intervals of {:g} %, which are "
                       "symmetric in log(-log) of the share; rates of few departures, and their "
                       "bounds, may lie above the chart. Intervals of parameters: {}. Parameters are in "
                       "seconds, rates per second.",
                       100.0 * fit.confidence, fit.intervals)});
  return page;
}

}  // namespace

std::string lifetimes_html(const LifetimesFit& fit) {
  return to_html(page_of_lifetimes(fit), chart_data(fit), {pieces::lifetimes});
}

void write_lifetimes_report(const std::string& directory, const LifetimesFit& fit) {
  write_report_files(directory, document_of(fit), to_markdown(page_of_lifetimes(fit)), lifetimes_html(fit));
}

}  // namespace tandem::validation
