#include "validation/report/report_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "validation/report/view.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;
using CellOf = std::function<Cell(const json&)>;

// ---- Columns ----

CellOf text_at(const char* key) {
  return [key](const json& row) { return Cell(row.at(key).get<std::string>()); };
}
CellOf number_at(const char* key) {
  return [key](const json& row) { return Cell(three_digits(number_or_nan(row.at(key)))); };
}
CellOf percent_at(const char* key) {
  return [key](const json& row) { return Cell(percent(number_or_nan(row.at(key)))); };
}
CellOf signed_at(const char* key) {
  return [key](const json& row) { return Cell(signed_percent(number_or_nan(row.at(key)))); };
}
/// Of an object {simulated, measured}.
CellOf number_of(const char* key, const char* world) {
  return [=](const json& row) { return Cell(three_digits(number_or_nan(row.at(key).at(world)))); };
}

Cell badge(const std::string& state, const std::string& hint = {}) {
  return state == "-" ? Cell(state) : Cell(state, Cell::Mark::badge, hint);
}

/// A value of a figure; all values of one figure share a scale.
CellOf figure_at(const char* key) {
  return [key](const json& figure) {
    const double simulated = number_or_nan(figure.at("simulated")),
                 measured = number_or_nan(figure.at("measured"));
    return Cell(with_unit(number_or_nan(figure.at(key)), unit_of(figure.at("unit")),
                          measured == 0 ? simulated : measured));
  };
}
Cell figure_interval(const json& figure) { return interval_text(figure.at("interval"), signed_percent); }
/// The interval of an ensemble of simulations, and the measured runs in it.
Cell figure_ensemble(const json& figure) {
  const json& ensemble = figure.at("ensemble");
  if (!ensemble.is_object()) return Cell("-");
  const auto text = [&](const char* end) {
    return with_unit(ensemble.at(end), unit_of(figure.at("unit")), number_or_nan(figure.at("simulated")));
  };
  return Cell(text("low") + " to " + text("high"));
}
Cell figure_runs_inside(const json& figure) {
  const json& ensemble = figure.at("ensemble");
  if (!ensemble.is_object()) return Cell("-");
  return Cell(fmt::format("{} of {}", ensemble.at("inside").get<int>(), ensemble.at("runs").get<int>()));
}
Cell figure_verdict(const json& figure) {
  return badge(figure.at("verdict").is_string() ? figure.at("verdict").get<std::string>() : "-");
}
/// Rows of phases are part of the row of step time.
Table with_parts(Table table, const std::vector<const json*>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (is_phase(*rows[i])) table.rows[i].kind = Row::Kind::part;
  return table;
}

/// Step time, phases that take time, throughput, makespan, time to a target.
bool is_main_figure(const json& figure) {
  const std::string key = figure.at("key");
  if (figure.at("rank") != -1) return false;
  if (is_phase(figure)) return figure.at("simulated") != 0.0 || figure.at("measured") != 0.0;
  return key == "step_time" || key == "throughput" || key == "makespan" || key == "time_to_target";
}

}  // namespace

Table figures_table(const std::vector<const json*>& figures) {
  return with_parts(without_empty_columns(table_of(figures, {{"Figure", text_at("name")},
                                                             {"Simulated", figure_at("simulated")},
                                                             {"90 % of simulations", figure_ensemble},
                                                             {"Under SMPI", figure_at("witness")},
                                                             {"Measured", figure_at("measured")},
                                                             {"Runs inside", figure_runs_inside},
                                                             {"Error", signed_at("error")},
                                                             {"Contribution", signed_at("contribution")},
                                                             {"95 % interval", figure_interval},
                                                             {"Noise floor", percent_at("noise_floor")},
                                                             {"Within margin", figure_verdict, true}})),
                    figures);
}

Table errors_table(const std::vector<const json*>& rows, double tolerance) {
  const auto mean_error = [tolerance](const json& row) {
    const double mape = number_or_nan(row.at("mape"));
    const std::string key = row.at("key");
    const bool decides = key == "step_time" || key == "throughput" || key == "makespan";
    const bool beyond = decides && mape > tolerance;
    return Cell(percent(mape), beyond ? Cell::Mark::beyond : Cell::Mark::none);
  };
  const auto over_noise = [](const json& row) {
    const json& ratio = row.at("error_over_noise");
    return Cell(ratio.is_number() ? three_digits(ratio) + "x" : "-");
  };
  const auto verdicts = [](const json& row) {
    const int within = row.at("equivalent"), unclear = row.at("inconclusive"), beyond = row.at("different");
    return Cell(within + unclear + beyond == 0 ? "-" : fmt::format("{} / {} / {}", within, unclear, beyond));
  };
  return with_parts(
      table_of(rows, {{"Figure", text_at("name")},
                      {"Mean |error|", mean_error},
                      {"90 % interval",
                       [](const json& row) { return Cell(interval_text(row.at("mape_interval"), percent)); }},
                      {"Bias", signed_at("bias")},
                      {"Median", percent_at("median")},
                      {"p95", percent_at("p95")},
                      {"Pearson",
                       [](const json& row) {
                         return Cell(three_digits(number_or_nan(row.value("pearson", json()))));
                       }},
                      {"Largest", signed_at("largest")},
                      {"Largest in", text_at("largest_configuration"), true},
                      {"Noise floor", percent_at("noise_floor")},
                      {"Error / noise", over_noise},
                      {"Contribution", signed_at("contribution")},
                      {"Within margin: yes / unclear / no", verdicts}}),
      rows);
}

Table overview_table(const json& document) {
  const double tolerance = document.at("tolerance");
  const auto compared = [](CellOf cell) -> CellOf {
    return [cell](const json& row) { return row.at("failure") == "" ? cell(row) : Cell("-"); };
  };
  const auto step_time = [&](CellOf cell) {
    return compared([cell](const json& row) { return cell(*find_figure(row, "step_time")); });
  };
  const auto failure = [&](const json& row) {
    return row.at("failure") == "" ? figure_at("simulated")(*find_figure(row, "step_time"))
                                   : Cell("failed", Cell::Mark::beyond);
  };
  const auto error = [tolerance](const json& figure) {
    const double value = number_or_nan(figure.at("error"));
    return Cell(signed_percent(value), std::abs(value) > tolerance ? Cell::Mark::beyond : Cell::Mark::none);
  };
  const auto quantile = [&](std::size_t i) {
    return compared([i](const json& row) {
      const json& times = row.at("step_times");
      const double simulated = times.at("simulated")[i], measured = times.at("measured")[i];
      return Cell(with_unit(simulated, Unit::seconds, measured) + " / " + with_unit(measured, Unit::seconds));
    });
  };
  const auto parity = compared([](const json& row) {
    const json& gates = row.at("gates");
    return badge(parity_state(row), gates.at("operations").at("detail").get<std::string>() + "\n" +
                                        gates.at("decisions").at("detail").get<std::string>());
  });
  const auto replay = compared([](const json& row) {
    const json& gate = row.at("gates").at("replay");
    return badge(gate.at("state"), gate.at("detail"));
  });
  const auto distance = [&](const char* key, std::string (*text)(double)) {
    return compared([=](const json& row) { return Cell(text(row.at("step_times").at(key))); });
  };
  Table table = table_of(pointers_to(document.at("configurations")),
                         {{"Configuration", text_at("name")},
                          {"Set", text_at("set"), true},
                          {"Simulated", failure},
                          {"Measured", step_time(figure_at("measured"))},
                          {"Error", step_time(error)},
                          {"95 % interval", step_time(figure_interval)},
                          {"Noise floor", step_time(percent_at("noise_floor"))},
                          {"Within margin", step_time(figure_verdict), true},
                          {"P50", quantile(0)},
                          {"P95", quantile(2)},
                          {"P99", quantile(3)},
                          {"KS", distance("kolmogorov", three_digits)},
                          {"W1", distance("wasserstein", percent)},
                          {"Parity", parity, true},
                          {"Replay", replay, true}});
  table.size = Table::Size::scrolling;
  if (document.at("sets").size() > 1) return table;
  std::vector<std::string> without_set;
  for (const auto& column : table.columns)
    if (column.name != "Set") without_set.push_back(column.name);
  return narrowed(std::move(table), without_set);
}

Table attribution_table(const json& attribution) {
  const auto row = [](const std::string& name, const json& share, Row::Kind kind = Row::Kind::plain) {
    return Row{{name, signed_percent(share)}, kind};
  };
  Table table{.columns = {{"Part of the error of step time"}, {"Share"}}, .size = Table::Size::narrow};
  for (const auto& part : attribution.at("parts"))
    table.rows.push_back(row(attribution_text(part), part.at("share")));
  const json& others = attribution.at("others");
  if (const int parts = others.at("parts"); parts > 0)
    table.rows.push_back(row(fmt::format("{} smaller parts", parts), others.at("share")));
  table.rows.push_back(row("error of step time", attribution.at("total"), Row::Kind::total));
  return table;
}

Table metrics_table(const json& configuration) {
  Table table{.columns = {{"Figure of the whole run"}, {"Simulated"}, {"Measured"}},
              .size = Table::Size::narrow};
  for (const auto& row : metric_rows(configuration))
    table.rows.push_back({{row.name, row.simulated, row.measured}});
  return table;
}

Table workers_table(const json& ranks) {
  const auto both = [](const char* place, Unit unit) -> CellOf {
    return [=](const json& rank) {
      const auto value = [&](const char* world) {
        const json::json_pointer at(std::string("/") + world + place);
        return with_unit(number_or_nan(rank.contains(at) ? rank.at(at) : json()), unit);
      };
      return Cell(value("simulated") + " / " + value("measured"));
    };
  };
  return table_of(pointers_to(ranks.at("ranks")),
                  {{"Worker: simulated / measured", text_at("label")},
                   {"Computing", both("/shares/computing", Unit::ratio)},
                   {"Data", both("/shares/data", Unit::ratio)},
                   {"Query", both("/shares/query", Unit::ratio)},
                   {"Exchange", both("/shares/exchange", Unit::ratio)},
                   {"of it waiting", both("/exchange_shares/waiting", Unit::ratio)},
                   {"Other", both("/shares/other", Unit::ratio)},
                   {"Sent", both("/bytes_sent", Unit::bytes)},
                   {"Received", both("/bytes_received", Unit::bytes)}});
}

Table group_table(const json& group) {
  const auto place = [](const json& row) {
    const int simulated = row.at("simulated_place");
    const bool differs = simulated != row.at("measured_place").get<int>();
    return Cell(std::to_string(simulated), differs ? Cell::Mark::beyond : Cell::Mark::none);
  };
  const auto exchange = [](const char* key) -> CellOf {
    return [key](const json& row) {
      return Cell(with_unit(row.at("exchanges").at(key).get<double>(), Unit::count));
    };
  };
  const auto time = [](const char* world) -> CellOf {
    return [world](const json& row) {
      const json& value = row.at("time_to_target").at(world);
      if (row.at("target").is_number() && value.is_null()) return Cell("not reached");
      return Cell(with_unit(number_or_nan(value), Unit::seconds));
    };
  };
  return without_empty_columns(
      table_of(pointers_to(group.at("variants")),
               {{"Algorithm", text_at("name")},
                {"Local steps per exchange", exchange("local_steps")},
                {"Exchanges", exchange("count")},
                {"Mean staleness", exchange("staleness")},
                {"Simulated (samples/s)", number_at("simulated_throughput")},
                {"Place", place},
                {"Measured (samples/s)", number_at("measured_throughput")},
                {"Place", [](const json& row) { return Cell(row.at("measured_place").dump()); }},
                {"Speed-up over bsp, simulated", number_of("speed_up", "simulated")},
                {"measured", number_of("speed_up", "measured")},
                {"Time to target accuracy, simulated", time("simulated")},
                {"measured", time("measured")},
                {"Speed-up in time to target, simulated", number_of("target_speed_up", "simulated")},
                {"measured", number_of("target_speed_up", "measured")}}));
}

Table groups_table(const json& groups) {
  auto rows = pointers_to(groups);
  std::stable_sort(rows.begin(), rows.end(), [](const json* a, const json* b) {
    return a->at("regret").get<double>() > b->at("regret").get<double>();
  });
  const auto favourite = [](const json& group) {
    const json& variants = group.at("variants");
    const auto found = std::min_element(variants.begin(), variants.end(), [](const json& a, const json& b) {
      return a.at("simulated_place").get<int>() < b.at("simulated_place").get<int>();
    });
    return Cell(found->at("name").get<std::string>());
  };
  const auto fastest = [](CellOf cell) -> CellOf {
    return [cell](const json& group) { return cell(group.at("variants").front()); };
  };
  const auto regret = [](const json& group) {
    return Cell(percent(group.at("regret")),
                group.at("same_best").get<bool>() ? Cell::Mark::none : Cell::Mark::beyond);
  };
  Table table =
      table_of(rows, {{"Group", text_at("name")},
                      {"Configurations",
                       [](const json& group) { return Cell(std::to_string(group.at("variants").size())); }},
                      {"Spearman", number_at("spearman")},
                      {"Kendall", number_at("kendall")},
                      {"Fastest simulated", favourite, true},
                      {"Fastest measured", fastest(text_at("name")), true},
                      {"Its speed-up over bsp, simulated", fastest(number_of("speed_up", "simulated"))},
                      {"measured", fastest(number_of("speed_up", "measured"))},
                      {"Regret", regret}});
  table.size = Table::Size::scrolling;
  return table;
}

Table main_figures(const json& document, bool phases) {
  const bool are_errors = std::ranges::all_of(document.at("configurations"), [](const json& configuration) {
    return configuration.value("other_origin", "").empty();
  });
  Table table{.columns = {{"Configuration"},
                          {"Figure", true},
                          {"Simulated"},
                          {"90 % of simulations"},
                          {"Under SMPI"},
                          {"Measured"},
                          {"Runs inside"},
                          {are_errors ? "Error" : "Difference"},
                          {"Contribution"}}};
  for (const auto& configuration : document.at("configurations")) {
    std::string name = configuration.at("name");
    if (configuration.at("failure") != "") {
      table.rows.push_back({{name, "failed", "-", "-", "-", "-", "-", "-", "-"}});
      continue;
    }
    for (const auto& figure : configuration.at("figures")) {
      if (!is_main_figure(figure) || (!phases && figure.at("key") != "step_time")) continue;
      table.rows.push_back(
          {{name, (is_phase(figure) ? "  " : "") + figure.at("name").get<std::string>(),
            figure_at("simulated")(figure), figure_ensemble(figure), figure_at("witness")(figure),
            figure_at("measured")(figure), figure_runs_inside(figure), signed_at("error")(figure),
            signed_at("contribution")(figure)}});
      name.clear();
    }
  }
  return without_empty_columns(std::move(table));
}

}  // namespace tandem::validation
