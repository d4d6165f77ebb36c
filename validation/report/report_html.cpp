// The report as one self-contained page. Tables are written here; charts are drawn by the page's scripts from
// the embedded data.
#include <fmt/format.h>

#include "validation/page/pieces.hpp"
#include "validation/report/html.hpp"
#include "validation/report/report.hpp"
#include "validation/report/report_sections.hpp"
#include "validation/report/view.hpp"

namespace tandem::validation {
namespace {

using html::escaped;
using html::typeset;
using nlohmann::json;

std::string tile(const std::string& name, const std::string& value) {
  return fmt::format("<div class=\"tile\"><span>{}</span><b>{}</b></div>\n", name, typeset(value));
}

std::string tiles_of_one(const json& configuration) {
  const auto step = figure_text(*find_figure(configuration, "step_time"));
  const auto throughput = figure_text(*find_figure(configuration, "throughput"));
  return tile("error of step time", step.error) + tile("its 95&nbsp;% interval", step.interval) +
         tile("noise floor of step time", step.noise_floor) + tile("error of throughput", throughput.error);
}

std::string tiles_of_many(const json& document) {
  const json& set = document.at("sets").front();
  std::string text;
  for (const auto& errors : set.at("errors")) {
    if (errors.at("key") != "step_time") continue;
    const auto cells = error_text(errors);
    const std::string of = set.at("name") == "all" ? "" : ", hold-out";
    text += tile("mean |error| of step time" + of, cells.mape) +
            tile("its 90&nbsp;% interval", cells.interval) + tile("bias" + of, cells.bias) +
            tile("p95 of |error|", cells.p95) + tile("noise floor", cells.noise_floor);
  }
  if (set.at("groups").empty()) return text;
  const json& ranking = set.at("ranking");
  text += tile("rank agreement (Spearman)", three_digits(number_or_nan(ranking.at("mean_spearman"))));
  return text + tile("regret of choosing", percent(ranking.at("mean_regret")));
}

std::string head(const json& document) {
  const bool passed = document.at("passed");
  std::string text =
      fmt::format("<h1><small>Tandem validation report</small>{}</h1>\n", escaped(document.at("title")));
  text += fmt::format("<div class=\"verdict {0}\"><b>{0}</b>{1}</div>\n", passed ? "passed" : "failed",
                      escaped(document.at("verdict")));
  const auto compared = compared_configurations(document);
  if (compared.empty()) return text;
  return text + "<div class=\"tiles\">\n" +
         (compared.size() == 1 ? tiles_of_one(*compared.front()) : tiles_of_many(document)) + "</div>\n";
}

/// Up to so many configurations have a line of their own in the chart of errors.
constexpr std::size_t most_named_lines = 40;

std::string predicted(const json& document) {
  const std::size_t count = compared_configurations(document).size();
  if (count == 0) return "";
  const std::string band = typeset(fmt::format("{:.3g} %", document.at("tolerance").get<double>() * 100));
  return fmt::format(
      "<h2>Predicted against measured</h2>\n<div class=\"charts\">\n<div class=\"chart\"><h3>Mean step time, "
      "a "
      "point a configuration</h3><div id=\"algorithms\" class=\"legend\"></div><div "
      "style=\"height:400px\"><canvas id=\"scatter\"></canvas></div></div>\n"
      "<div class=\"chart\"><h3>Error of step time with its 95&nbsp;% interval, sorted</h3><div "
      "class=\"legend\"><span><i class=\"band\"></i>tolerance of {}</span></div><div "
      "style=\"height:{}px\"><canvas id=\"step-error\"></canvas></div></div>\n</div>\n",
      band, count <= most_named_lines ? std::max<std::size_t>(120, 70 + 30 * count) : 400);
}

// ---- What the scripts need ----

json point_of(const json& configuration) {
  const json& step = *find_figure(configuration, "step_time");
  return {{"name", configuration.at("name")}, {"algorithm", configuration.at("algorithm")},
          {"set", configuration.at("set")},   {"simulated", step.at("simulated")},
          {"measured", step.at("measured")},  {"error", step.at("error")},
          {"interval", step.at("interval")}};
}

json detail_of(const json& configuration, const json& phases) {
  json detail = configuration.at("detail");
  detail["name"] = configuration.at("name");
  detail["target"] = configuration.at("experiment").at("target_accuracy");
  for (const char* key : {"staleness", "local_steps"})
    detail[key] = {{"simulated", configuration.at("metrics").at("simulated").at(key)},
                   {"measured", configuration.at("metrics").at("measured").front().at(key)}};
  json simulated = json::array(), measured = json::array();
  for (const auto& phase : phases) {
    const json* figure = find_figure(configuration, "phase." + phase.get<std::string>());
    simulated.push_back(figure == nullptr ? json(0) : figure->at("simulated"));
    measured.push_back(figure == nullptr ? json(0) : figure->at("measured"));
  }
  detail["phases"] = {{"simulated", std::move(simulated)}, {"measured", std::move(measured)}};
  json parts = json::array();
  constexpr std::size_t most = 7;
  const auto& attribution = configuration.at("attribution");
  double rest = attribution.at("others").at("share");
  for (const auto& part : attribution.at("parts")) {
    if (parts.size() == most)
      rest += part.at("share").get<double>();
    else
      parts.push_back({attribution_text(part), part.at("share")});
  }
  detail["attribution"] = {{"parts", std::move(parts)}, {"rest", rest}, {"total", attribution.at("total")}};
  return detail;
}

json page_data(const json& document) {
  json points = json::array(), details = json::array(), phases = json::array();
  for (const auto* configuration : compared_configurations(document)) {
    points.push_back(point_of(*configuration));
  }
  for (const auto* configuration : detailed_configurations(document))
    details.push_back(detail_of(*configuration, document.at("phases")));
  const json& set = document.at("sets").front();
  for (const auto& errors : set.at("errors"))
    if (errors.at("contribution").is_number() && errors.at("key").get<std::string>().starts_with("phase."))
      phases.push_back({errors.at("name"), errors.at("contribution"), errors.at("absolute_contribution")});
  return {{"tolerance", document.at("tolerance")},
          {"named_lines", most_named_lines},
          {"points", std::move(points)},
          {"phase_errors", std::move(phases)},
          {"hosts", document.at("hosts")},
          {"ranking", set.at("groups").size() == 1 ? set.at("groups").front() : json()},
          {"phases", document.at("phases")},
          {"details", std::move(details)}};
}

std::string body(const json& document) {
  std::string text = head(document) + sections::caveats(document);
  if (compared_configurations(document).empty()) return text + sections::environment(document);
  return text + predicted(document) + sections::errors(document) + sections::phases_and_hosts(document) +
         sections::ranking(document) + sections::explorer(document) + sections::configurations(document) +
         sections::environment(document);
}

}  // namespace

std::string report_html(const json& document) {
  const std::string title = document.at("title").get<std::string>() + ": simulated against measured";
  return html::fill(pieces::page,
                    {{"title", escaped(title)},
                     {"style", std::string(pieces::style)},
                     {"body", body(document)},
                     {"data", html::json_in_script(page_data(document))},
                     {"chart_library", std::string(pieces::chart_library)},
                     {"base", std::string(pieces::base)},
                     {"scripts", html::script(pieces::charts) + html::script(pieces::explore)}});
}

}  // namespace tandem::validation
