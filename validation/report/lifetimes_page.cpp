#include "validation/report/lifetimes_page.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "validation/page/pieces.hpp"
#include "validation/report/page.hpp"
#include "workloads/records/format.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

std::string hours_text(const json& seconds) {
  if (seconds.is_null()) return "-";
  const double value = seconds.get<double>();
  if (value >= 3600.0) return three_digits(value / 3600.0) + " h";
  return value >= 60.0 ? three_digits(value / 60.0) + " min" : three_digits(value) + " s";
}

std::string count_text(const json& value) { return fmt::format("{:g}", value.get<double>()); }

std::string number_text(const json& value) {
  return value.is_null() ? "no bound" : significant(value.get<double>(), 4);
}

std::string name_of_group(const json& group) {
  std::string name;
  for (const auto& [column, value] : group.at("values").items())
    name += (name.empty() ? "" : ", ") + column + ' ' + value.get<std::string>();
  return name;
}

/// The data that the script draws.
json chart_data(const json& document) {
  json data = {{"last_s", document.at("last_s")},
               {"chosen", document.at("chosen").at("name")},
               {"survival", document.at("survival")},
               {"models", json::array()},
               {"results", json::array()}};
  for (const auto& model : document.at("models"))
    data["models"].push_back({{"name", model.at("name")}, {"points", model.at("points")}});
  if (document.contains("groups"))
    for (const auto& group : document.at("groups"))
      data["results"].push_back({{"name", name_of_group(group)},
                                 {"last_s", group.at("last_s")},
                                 {"survival", group.at("survival")}});
  return data;
}

Table models_table(const json& document) {
  Table table{
      .columns = {{"Model", true}, {"AIC"}, {"Difference"}, {"Log-likelihood"}, {"Parameters", true}}};
  for (const auto& model : document.at("models")) {
    std::string parameters;
    for (const auto& parameter : model.at("parameters")) {
      parameters += fmt::format("{}{} {}", parameters.empty() ? "" : ", ",
                                parameter.at("name").get<std::string>(), number_text(parameter.at("value")));
      if (!parameter.at("lower").is_null() || !parameter.at("upper").is_null())
        parameters += fmt::format(" ({} to {})", number_text(parameter.at("lower")),
                                  number_text(parameter.at("upper")));
    }
    table.rows.push_back(
        {{model.at("name").get<std::string>(), fmt::format("{:.1f}", model.at("aic").get<double>()),
          fmt::format("{:.1f}", model.at("aic_difference").get<double>()),
          fmt::format("{:.1f}", model.at("log_likelihood").get<double>()), parameters}});
  }
  return table;
}

/// All machines, then each group.
Table samples_table(const json& document) {
  Table table{.columns = {{"Machines", true},
                          {"Number"},
                          {"Revoked"},
                          {"Failed"},
                          {"Censored"},
                          {"Median"},
                          {"Mean, up to the age"},
                          {"Chosen model", true}}};
  const auto add = [&](const std::string& name, const json& sample) {
    const bool has_departures = !sample.at("survival").empty();
    const std::string mean = has_departures
                                 ? fmt::format("{}, {}", hours_text(sample.at("mean_up_to").at("value_s")),
                                               hours_text(sample.at("mean_up_to").at("limit_s")))
                                 : "-";
    table.rows.push_back({{name, count_text(sample.at("machines")), count_text(sample.at("revoked")),
                           count_text(sample.at("failed")), count_text(sample.at("censored")),
                           has_departures ? hours_text(sample.at("median_s")) : "-", mean,
                           has_departures ? sample.at("chosen").at("name").get<std::string>() : "-"}});
  };
  add("all", document);
  if (document.contains("groups"))
    for (const auto& group : document.at("groups")) add(name_of_group(group), group);
  return table;
}

Page page_of_lifetimes(const json& document) {
  Page page{.title = document.at("file"), .kind = "Tandem lifetimes of machines", .blocks = {}};
  page.add(Note{fmt::format(
      "{} machines, of which {} departed; observed for {} in all.", count_text(document.at("machines")),
      count_text(document.at("source").at("departures")), hours_text(document.at("observed_s")))});
  if (document.contains("limit") && !document.at("limit").is_null()) {
    const json& limit = document.at("limit");
    page.add(Note{fmt::format(
        "{} machines end at {}: a provider's limit. The models count these ends as censored, and have the "
        "option limit.",
        count_text(limit.at("ends")), hours_text(limit.at("age_s")))});
  }
  constexpr std::size_t height = 380;
  Charts charts{{{"survival", "Share alive by age, and fitted models", height}}};
  if (document.contains("groups"))
    charts.charts.push_back({"groups", "Share alive by age, by group", height});
  page.add(std::move(charts), samples_table(document), Heading{2, "Models"}, models_table(document));
  if (document.contains("log_rank") && !document.at("log_rank").is_null()) {
    const json& test = document.at("log_rank");
    page.add(Note{fmt::format(
        "Log-rank test between the groups: chi-squared {} with {} degrees of freedom, p = {}.",
        number_text(test.at("statistic")), test.at("degrees").get<int>(), number_text(test.at("p_value")))});
  }
  page.add(Note{fmt::format(
      "The curve is the Kaplan-Meier estimate with its interval of {:g} %; intervals of "
      "parameters: {}. Parameters are in seconds, rates per second.",
      100.0 * document.at("confidence").get<double>(), document.at("intervals").get<std::string>())});
  return page;
}

}  // namespace

std::string lifetimes_html(const json& document) {
  return to_html(page_of_lifetimes(document), chart_data(document), {pieces::lifetimes});
}

void write_lifetimes_report(const std::string& directory, const json& document) {
  write_report_files(directory, document, to_markdown(page_of_lifetimes(document)), lifetimes_html(document));
}

}  // namespace tandem::validation
