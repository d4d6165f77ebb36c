#include "cli/fit/fit_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "workloads/records/format.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

double number_or_nan(const json& value) { return value.is_number() ? value.get<double>() : std::nan(""); }
std::string number_text(const json& value) { return significant(number_or_nan(value), 4); }

std::string count_text(const json& value) { return fmt::format("{:g}", value.get<double>()); }

std::string interval_text(const json& estimate, const char* lower, const char* upper,
                          std::string (*text)(const json&)) {
  if (estimate.at(lower).is_null() && estimate.at(upper).is_null()) return "";
  const auto bound = [&](const char* name) {
    return estimate.at(name).is_null() ? std::string("no bound") : text(estimate.at(name));
  };
  return fmt::format(" ({} to {})", bound(lower), bound(upper));
}

/// At most a dozen of the steps, evenly chosen, with the last one.
std::string curve_text(const json& steps) {
  constexpr std::size_t most = 12;
  std::string text = fmt::format("  {:>10} {:>9} {:>9}  {}\n", "age", "at risk", "alive", "interval");
  const std::size_t count = steps.size(), shown = std::min(count, most);
  for (std::size_t i = 1; i <= shown; ++i) {
    const json& step = steps[count * i / shown - 1];
    text += fmt::format("  {:>10} {:>9} {:>9} {}\n", duration_text(step.at("time_s")),
                        count_text(step.at("at_risk")), percent(step.at("survival").get<double>()),
                        interval_text(step, "lower", "upper",
                                      [](const json& value) { return percent(value.get<double>()); }));
  }
  return text;
}

std::string parameter_text(const json& parameter) {
  return fmt::format("{} {}{}", parameter.at("name").get<std::string>(), number_text(parameter.at("value")),
                     interval_text(parameter, "lower", "upper", number_text));
}

std::string models_text(const json& sample) {
  std::string text = fmt::format("  {:<12} {:>9} {:>10} {:>11}  parameters (seconds; rates per second)\n",
                                 "model", "AIC", "difference", "likelihood");
  for (const auto& model : sample.at("models")) {
    std::string parameters;
    for (const auto& parameter : model.at("parameters"))
      parameters += (parameters.empty() ? "" : ", ") + parameter_text(parameter);
    text += fmt::format("  {:<12} {:>9.1f} {:>10.1f} {:>11.1f}  {}\n", model.at("name").get<std::string>(),
                        model.at("aic").get<double>(), model.at("aic_difference").get<double>(),
                        model.at("log_likelihood").get<double>(), parameters);
  }
  return text;
}

std::string sample_text(const json& sample) {
  std::string text = fmt::format("{} machines: {} revoked, {} failed, {} censored; observed for {} in all\n",
                                 count_text(sample.at("machines")), count_text(sample.at("revoked")),
                                 count_text(sample.at("failed")), count_text(sample.at("censored")),
                                 duration_text(sample.at("observed_s")));
  if (sample.at("in_interval").get<double>() > 0.0)
    text += fmt::format("  of {} departures only an interval is known: the curve counts them at its end\n",
                        count_text(sample.at("in_interval")));
  if (sample.at("survival").empty()) return text + "  no departures, so nothing can be estimated\n";
  const json& mean = sample.at("mean_up_to");
  text += curve_text(sample.at("survival"));
  text += fmt::format("  median {}; mean up to {}: {}{}\n",
                      sample.at("median_s").is_null() ? "not reached" : duration_text(sample.at("median_s")),
                      duration_text(mean.at("limit_s")), duration_text(mean.at("value_s")),
                      interval_text(mean, "lower_s", "upper_s", duration_text));
  if (const json& limit = sample.at("limit"); !limit.is_null())
    text += fmt::format(
        "  {} machines end at {}: a provider's limit; the models count these ends as censored, and have the "
        "option limit ({:g} s)\n",
        count_text(limit.at("ends")), duration_text(limit.at("age_s")), limit.at("age_s").get<double>());
  text += models_text(sample);
  const std::string chosen = sample.at("chosen").at("name");
  text += fmt::format("  chosen: {}", chosen);
  if (chosen == "empirical") {
    const json& options = sample.at("chosen").at("options");
    if (options.contains("tail_rate"))
      text += fmt::format(", beyond {} with a hazard of one departure per {}",
                          duration_text(options.at("tail_from")),
                          duration_text(1.0 / options.at("tail_rate").get<double>()));
  }
  return text + '\n';
}

std::string comparison_text(const json& document) {
  std::string text;
  if (document.contains("log_rank") && !document.at("log_rank").is_null()) {
    const json& test = document.at("log_rank");
    text += fmt::format("log-rank test: chi-squared {} with {} degrees of freedom, p = {}\n",
                        number_text(test.at("statistic")), test.at("degrees").get<int>(),
                        number_text(test.at("p_value")));
  }
  const json& correlation = document.at("correlation");
  if (!correlation.is_null())
    text += fmt::format(
        "departures within {} s of each other in one zone: {} pairs, {} if independent; index {}\n",
        number_text(correlation.at("window_s")), correlation.at("pairs").get<std::int64_t>(),
        number_text(correlation.at("expected")), number_text(correlation.at("index")));
  return text;
}

}  // namespace

std::string duration_text(const json& seconds) {
  if (seconds.is_null()) return "-";
  const double value = seconds.get<double>();
  if (value >= 3600.0) return three_digits(value / 3600.0) + " h";
  if (value >= 60.0) return three_digits(value / 60.0) + " min";
  return three_digits(value) + " s";
}

std::string group_name(const json& group) {
  std::string name;
  for (const auto& [column, value] : group.at("values").items())
    name += (name.empty() ? "" : ", ") + column + ' ' + value.get<std::string>();
  return name;
}

std::string lifetimes_text(const json& document) {
  std::string text = document.at("file").get<std::string>() + ": " + sample_text(document);
  if (document.contains("groups"))
    for (const auto& group : document.at("groups"))
      text += '\n' + group_name(group) + ": " + sample_text(group);
  text += '\n' + comparison_text(document);
  return text + fmt::format("Intervals: {} at {}.\n", document.at("intervals").get<std::string>(),
                            percent(document.at("confidence").get<double>()));
}

}  // namespace tandem::cli
