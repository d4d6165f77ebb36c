#include "validation/report/report_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "validation/report/view.hpp"

namespace tandem::validation {
namespace {

// ---- Cells of figures ----

/// A value of a figure; all values of one figure share a scale.
Cell figure_cell(const Figure& figure, double value) {
  return with_unit(value, figure.unit, figure.measured == 0 ? figure.simulated : figure.measured);
}
Cell figure_simulated(const ReportFigure& figure) { return figure_cell(figure, figure.simulated); }
Cell figure_measured(const ReportFigure& figure) { return figure_cell(figure, figure.measured); }
Cell figure_witness(const ReportFigure& figure) { return figure_cell(figure, value_or_nan(figure.witness)); }
Cell figure_error(const ReportFigure& figure) { return signed_percent(figure.error); }
Cell figure_contribution(const ReportFigure& figure) {
  return signed_percent(value_or_nan(figure.contribution));
}
Cell figure_noise(const ReportFigure& figure) { return percent(value_or_nan(figure.noise_floor)); }
Cell figure_interval(const ReportFigure& figure) { return interval_text(figure.interval, signed_percent); }
/// The interval of an ensemble of simulations, and the measured runs in it.
Cell figure_ensemble(const ReportFigure& figure) {
  if (!figure.ensemble) return "-";
  const auto text = [&](double end) { return with_unit(end, figure.unit, figure.simulated); };
  return text(figure.ensemble->low) + " to " + text(figure.ensemble->high);
}
Cell figure_runs_inside(const ReportFigure& figure) {
  if (!figure.ensemble) return "-";
  return fmt::format("{} of {}", figure.ensemble->inside, figure.ensemble->runs);
}

Cell badge(const std::string& state, const std::string& hint = {}) {
  return state == "-" ? Cell(state) : Cell(state, Cell::Mark::badge, hint);
}
Cell figure_verdict(const ReportFigure& figure) {
  return badge(figure.verdict ? equivalence_name(*figure.verdict) : "-");
}

/// Rows of phases are part of the row of step time.
template <class Figures>
Table with_parts(Table table, const Figures& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (is_phase(rows[i].key)) table.rows[i].kind = Row::Kind::part;
  return table;
}

/// Step time, phases that take time, throughput, makespan, time to a target.
bool is_main_figure(const ReportFigure& figure) {
  const std::string& key = figure.key;
  if (figure.rank != -1) return false;
  if (is_phase(key)) return figure.simulated != 0.0 || figure.measured != 0.0;
  return key == "step_time" || key == "throughput" || key == "makespan" || key == "time_to_target";
}

// ---- Columns ----

ColumnOf<ErrorSummary> ratio_column(const char* name, std::string (*text)(double),
                                    double ErrorSummary::*member) {
  return {name, [=](const ErrorSummary& row) { return Cell(text(row.*member)); }};
}
ColumnOf<ErrorSummary> ratio_column(const char* name, std::string (*text)(double),
                                    std::optional<double> ErrorSummary::*member) {
  return {name, [=](const ErrorSummary& row) { return Cell(text(value_or_nan(row.*member))); }};
}

/// The speed-up in one world.
ColumnOf<RankedVariant> speed_up_column(const char* name, BothWorlds RankedVariant::*speed_up,
                                        std::optional<double> BothWorlds::*world) {
  return {name,
          [=](const RankedVariant& row) { return Cell(three_digits(value_or_nan(row.*speed_up.*world))); }};
}

}  // namespace

Table figures_table(const std::vector<ReportFigure>& figures) {
  return with_parts(
      without_empty_columns(table_of(
          pointers_to(figures), {{"Figure", [](const ReportFigure& figure) { return Cell(figure.name); }},
                                 {"Simulated", figure_simulated},
                                 {"90 % of simulations", figure_ensemble},
                                 {"Under SMPI", figure_witness},
                                 {"Measured", figure_measured},
                                 {"Runs inside", figure_runs_inside},
                                 {"Error", figure_error},
                                 {"Contribution", figure_contribution},
                                 {"95 % interval", figure_interval},
                                 {"Noise floor", figure_noise},
                                 {"Within margin", figure_verdict, true}})),
      figures);
}

Table errors_table(const std::vector<ErrorSummary>& rows, double tolerance) {
  const auto mean_error = [tolerance](const ErrorSummary& row) {
    const bool decides = row.key == "step_time" || row.key == "throughput" || row.key == "makespan";
    const bool beyond = decides && row.mape > tolerance;
    return Cell(percent(row.mape), beyond ? Cell::Mark::beyond : Cell::Mark::none);
  };
  const auto over_noise = [](const ErrorSummary& row) {
    return Cell(row.error_over_noise ? three_digits(*row.error_over_noise) + "x" : "-");
  };
  const auto verdicts = [](const ErrorSummary& row) {
    const int all = row.equivalent + row.inconclusive + row.different;
    return Cell(all == 0 ? "-"
                         : fmt::format("{} / {} / {}", row.equivalent, row.inconclusive, row.different));
  };
  using Errors = ErrorSummary;
  return with_parts(
      table_of(pointers_to(rows),
               {{"Figure", [](const Errors& row) { return Cell(row.name); }},
                {"Mean |error|", mean_error},
                {"90 % interval",
                 [](const Errors& row) { return Cell(interval_text(row.mape_interval, percent)); }},
                ratio_column("Bias", signed_percent, &Errors::bias),
                ratio_column("Median", percent, &Errors::median),
                ratio_column("p95", percent, &Errors::p95),
                ratio_column("Pearson", three_digits, &Errors::pearson),
                ratio_column("Largest", signed_percent, &Errors::largest),
                {"Largest in", [](const Errors& row) { return Cell(row.largest_name); }, true},
                ratio_column("Noise floor", percent, &Errors::noise_floor),
                {"Error / noise", over_noise},
                ratio_column("Contribution", signed_percent, &Errors::contribution),
                {"Within margin: yes / unclear / no", verdicts}}),
      rows);
}

Table overview_table(const Report& report) {
  using Configuration = ReportConfiguration;
  using CellOf = std::function<Cell(const Configuration&)>;
  const double tolerance = report.tolerance;
  const auto compared = [](auto cell) -> CellOf {
    return [cell](const Configuration& row) { return row.failed() ? Cell("-") : Cell(cell(row)); };
  };
  const auto step_time = [&](auto cell) {
    return compared([cell](const Configuration& row) { return cell(*row.find("step_time")); });
  };
  const auto failure = [](const Configuration& row) {
    return row.failed() ? Cell("failed", Cell::Mark::beyond) : figure_simulated(*row.find("step_time"));
  };
  const auto error = [tolerance](const ReportFigure& figure) {
    return Cell(signed_percent(figure.error),
                std::abs(figure.error) > tolerance ? Cell::Mark::beyond : Cell::Mark::none);
  };
  const auto quantile = [&](std::size_t i) {
    return compared([i](const Configuration& row) {
      const double simulated = row.step_times.simulated.at(i), measured = row.step_times.measured.at(i);
      return with_unit(simulated, Unit::seconds, measured) + " / " + with_unit(measured, Unit::seconds);
    });
  };
  const auto parity = compared([](const Configuration& row) {
    return badge(parity_state(row), row.gates.operations.detail + "\n" + row.gates.decisions.detail);
  });
  const auto replay = compared([](const Configuration& row) {
    return badge(state_name(row.gates.replay.state), row.gates.replay.detail);
  });
  Table table = table_of(
      pointers_to(report.configurations),
      {{"Configuration", [](const Configuration& row) { return Cell(row.name); }},
       {"Set", [](const Configuration& row) { return Cell(row.set); }, true},
       {"Simulated", failure},
       {"Measured", step_time(figure_measured)},
       {"Error", step_time(error)},
       {"95 % interval", step_time(figure_interval)},
       {"Noise floor", step_time(figure_noise)},
       {"Within margin", step_time(figure_verdict), true},
       {"P50", quantile(0)},
       {"P95", quantile(2)},
       {"P99", quantile(3)},
       {"KS", compared([](const Configuration& row) { return three_digits(row.step_times.kolmogorov); })},
       {"W1", compared([](const Configuration& row) { return percent(row.step_times.wasserstein); })},
       {"Parity", parity, true},
       {"Replay", replay, true}});
  table.size = Table::Size::scrolling;
  if (report.sets.size() > 1) return table;
  std::vector<std::string> without_set;
  for (const auto& column : table.columns)
    if (column.name != "Set") without_set.push_back(column.name);
  return narrowed(std::move(table), without_set);
}

Table attribution_table(const ReportAttribution& attribution) {
  const auto row = [](const std::string& name, double share, Row::Kind kind = Row::Kind::plain) {
    return Row{{name, signed_percent(share)}, kind};
  };
  Table table{.columns = {{"Part of the error of step time"}, {"Share"}}, .size = Table::Size::narrow};
  for (const AttributedPart& part : attribution.parts)
    table.rows.push_back(row(attribution_text(part), part.share));
  if (const auto& others = attribution.others; others.parts > 0)
    table.rows.push_back(row(fmt::format("{} smaller parts", others.parts), others.share));
  table.rows.push_back(row("error of step time", attribution.total, Row::Kind::total));
  return table;
}

Table metrics_table(const ReportConfiguration& configuration) {
  Table table{.columns = {{"Figure of the whole run"}, {"Simulated"}, {"Measured"}},
              .size = Table::Size::narrow};
  for (const auto& row : metric_rows(configuration))
    table.rows.push_back({{row.name, row.simulated, row.measured}});
  return table;
}

Table workers_table(const ShownRanks& ranks) {
  const auto both = [](auto value, Unit unit) {
    return [=](const ShownRank& rank) {
      const auto text = [&](const std::optional<RankMetrics>& world) {
        return with_unit(world ? value(*world) : std::nan(""), unit);
      };
      return Cell(text(rank.simulated) + " / " + text(rank.measured));
    };
  };
  const auto share = [&](double TimeShares::*part) {
    return both([part](const RankMetrics& rank) { return rank.shares.*part; }, Unit::ratio);
  };
  const auto bytes = [&](std::int64_t RankMetrics::*sum) {
    return both([sum](const RankMetrics& rank) { return static_cast<double>(rank.*sum); }, Unit::bytes);
  };
  const auto waiting = [](const RankMetrics& rank) {
    return rank.exchange_shares ? rank.exchange_shares->waiting : std::nan("");
  };
  const auto commits = [&](const ShownRank& rank) {
    const auto waits = [](const std::optional<RankMetrics>& world) {
      return world && world->shares.commits > 0;
    };
    return waits(rank.simulated) || waits(rank.measured) ? share(&TimeShares::commits)(rank) : Cell("-");
  };
  return without_empty_columns(
      table_of(pointers_to(ranks.ranks),
               {{"Worker: simulated / measured", [](const ShownRank& rank) { return Cell(rank.label); }},
                {"Computing", share(&TimeShares::computing)},
                {"Data", share(&TimeShares::data)},
                {"Query", share(&TimeShares::query)},
                {"Exchange", share(&TimeShares::exchange)},
                {"of it waiting", both(waiting, Unit::ratio)},
                {"Commits", commits},
                {"Other", share(&TimeShares::other)},
                {"Sent", bytes(&RankMetrics::bytes_sent)},
                {"Received", bytes(&RankMetrics::bytes_received)}}));
}

Table group_table(const Ranking& group) {
  using Variant = RankedVariant;
  const auto place = [](const Variant& row) {
    const bool differs = row.simulated_place != row.measured_place;
    return Cell(std::to_string(row.simulated_place), differs ? Cell::Mark::beyond : Cell::Mark::none);
  };
  const auto exchange = [](double Exchanges::*figure) {
    return [figure](const Variant& row) { return Cell(with_unit(row.exchanges.*figure, Unit::count)); };
  };
  const auto time = [](std::optional<double> BothWorlds::*world) {
    return [world](const Variant& row) {
      const std::optional<double>& value = row.time_to_target.*world;
      if (row.target && !value) return Cell("not reached");
      return Cell(with_unit(value_or_nan(value), Unit::seconds));
    };
  };
  constexpr auto simulated = &BothWorlds::simulated, measured = &BothWorlds::measured;
  return without_empty_columns(table_of(
      pointers_to(group.variants),
      {{"Algorithm", [](const Variant& row) { return Cell(row.name); }},
       {"Local steps per exchange", exchange(&Exchanges::steps)},
       {"Exchanges", exchange(&Exchanges::count)},
       {"Mean staleness", exchange(&Exchanges::staleness)},
       {"Simulated (samples/s)",
        [](const Variant& row) { return Cell(three_digits(row.simulated_throughput)); }},
       {"Place", place},
       {"Measured (samples/s)",
        [](const Variant& row) { return Cell(three_digits(row.measured_throughput)); }},
       {"Place", [](const Variant& row) { return Cell(std::to_string(row.measured_place)); }},
       speed_up_column("Speed-up over bsp, simulated", &Variant::speed_up, simulated),
       speed_up_column("measured", &Variant::speed_up, measured),
       {"Time to target accuracy, simulated", time(simulated)},
       {"measured", time(measured)},
       speed_up_column("Speed-up in time to target, simulated", &Variant::target_speed_up, simulated),
       speed_up_column("measured", &Variant::target_speed_up, measured)}));
}

Table groups_table(const std::vector<Ranking>& groups) {
  auto rows = pointers_to(groups);
  std::ranges::stable_sort(rows, std::ranges::greater(), [](const Ranking* group) { return group->regret; });
  const auto favourite = [](const Ranking& group) {
    return Cell(std::ranges::min_element(group.variants, {}, &RankedVariant::simulated_place)->name);
  };
  const auto correlation = [](std::optional<double> Ranking::*member) {
    return [member](const Ranking& group) { return Cell(three_digits(value_or_nan(group.*member))); };
  };
  const auto speed_up = [](std::optional<double> BothWorlds::*world) {
    return [world](const Ranking& group) {
      return Cell(three_digits(value_or_nan(group.variants.front().speed_up.*world)));
    };
  };
  const auto regret = [](const Ranking& group) {
    return Cell(percent(group.regret), group.same_best ? Cell::Mark::none : Cell::Mark::beyond);
  };
  Table table = table_of(
      rows,
      {{"Group", [](const Ranking& group) { return Cell(group.group); }},
       {"Configurations", [](const Ranking& group) { return Cell(std::to_string(group.variants.size())); }},
       {"Spearman", correlation(&Ranking::spearman)},
       {"Kendall", correlation(&Ranking::kendall)},
       {"Fastest simulated", favourite, true},
       {"Fastest measured", [](const Ranking& group) { return Cell(group.variants.front().name); }, true},
       {"Its speed-up over bsp, simulated", speed_up(&BothWorlds::simulated)},
       {"measured", speed_up(&BothWorlds::measured)},
       {"Regret", regret}});
  table.size = Table::Size::scrolling;
  return table;
}

Table main_figures(const Report& report, bool phases) {
  const bool are_errors = std::ranges::all_of(
      report.configurations, [](const ReportConfiguration& own) { return own.other_origin.empty(); });
  Table table{.columns = {{"Configuration"},
                          {"Figure", true},
                          {"Simulated"},
                          {"90 % of simulations"},
                          {"Under SMPI"},
                          {"Measured"},
                          {"Runs inside"},
                          {are_errors ? "Error" : "Difference"},
                          {"Contribution"}}};
  for (const auto& configuration : report.configurations) {
    std::string name = configuration.name;
    if (configuration.failed()) {
      table.rows.push_back({{name, "failed", "-", "-", "-", "-", "-", "-", "-"}});
      continue;
    }
    for (const ReportFigure& figure : configuration.figures) {
      if (!is_main_figure(figure) || (!phases && figure.key != "step_time")) continue;
      table.rows.push_back({{name, (is_phase(figure.key) ? "  " : "") + figure.name, figure_simulated(figure),
                             figure_ensemble(figure), figure_witness(figure), figure_measured(figure),
                             figure_runs_inside(figure), figure_error(figure), figure_contribution(figure)}});
      name.clear();
    }
  }
  return without_empty_columns(std::move(table));
}

}  // namespace tandem::validation
