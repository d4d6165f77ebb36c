#include "validation/report/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "validation/compare/seed_means.hpp"
#include "validation/compare/statistics.hpp"
#include "validation/report/study.hpp"
#include "validation/report/view.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

constexpr const char* worker_count = "placement.worker_count";

// ---- Axes ----

/// Empty unless all are numbers with one unit.
std::vector<double> numbers_of(const std::vector<std::string>& values) {
  std::vector<double> numbers;
  std::set<std::string> units;
  for (const auto& value : values) {
    char* rest = nullptr;
    const double number = std::strtod(value.c_str(), &rest);
    if (rest == value.c_str() || !std::isfinite(number)) return {};
    if (number != 0) units.insert(rest);
    numbers.push_back(number);
  }
  if (units.size() > 1) return {};
  return numbers;
}

void sort_numbers(StudyAxis& axis) {
  if (numbers_of(axis.values).empty()) return;
  std::ranges::stable_sort(axis.values, {}, [](const std::string& value) { return std::stod(value); });
  axis.numbers = numbers_of(axis.values);
}

/// Whether the value of `one` is known from that of `other`.
bool follows(const StudyAxis& one, const StudyAxis& other, const std::vector<const json*>& worked) {
  std::map<std::string, std::set<std::string>> values;
  for (const json* own : worked) values[coordinate(*own, other.key)].insert(coordinate(*own, one.key));
  return std::ranges::all_of(values, [](const auto& known) { return known.second.size() == 1; });
}

std::vector<StudyAxis> axes_of(const std::vector<const json*>& worked) {
  std::vector<StudyAxis> axes;
  for (const json* own : worked)
    for (const json& one : own->at("coordinates"))
      if (const std::string key = one.at(0);
          !is_seed(key) && std::ranges::find(axes, key, &StudyAxis::key) == axes.end())
        axes.push_back({key, axis_name(key), {}, {}});
  // Experiments of one job and of several have different keys.
  for (auto& axis : axes)
    for (const json* own : worked)
      if (const std::string value = coordinate(*own, axis.key);
          std::ranges::find(axis.values, value) == axis.values.end())
        axis.values.push_back(value);
  std::erase_if(axes, [](const StudyAxis& axis) { return axis.values.size() < 2; });
  for (std::size_t i = axes.size(); i-- > 0;)
    if (std::ranges::any_of(axes, [&](const StudyAxis& other) {
          return other.key != axes[i].key && follows(axes[i], other, worked);
        }))
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
  for (auto& axis : axes) sort_numbers(axis);
  return axes;
}

/// Workers go across; else the axis of numbers with the most values, else the one of words.
void choose_across(std::vector<StudyAxis> axes, Answer& answer) {
  if (!axes.empty()) {
    const auto rank = [](const StudyAxis& axis) {
      return std::tuple(axis.key == worker_count, !axis.numbers.empty(), axis.values.size());
    };
    const auto chosen = std::ranges::max_element(axes, {}, rank);
    answer.across = std::move(*chosen);
    axes.erase(chosen);
  }
  answer.others = std::move(axes);
}

/// With one variant there is nothing to compare in a column, unless another axis takes its place.
void choose_down(const std::vector<const json*>& worked, Answer& answer) {
  const auto is_other = [&](const json* own) {
    return own->at("algorithm") != worked.front()->at("algorithm");
  };
  if (std::ranges::any_of(worked, is_other)) return;
  if (!answer.others.empty()) {
    answer.down = std::move(answer.others.back());
    answer.others.pop_back();
  } else if (answer.across && answer.across->numbers.empty()) {
    answer.down.swap(answer.across);
  }
}

std::string variant_of(const json& own, const Answer& answer) {
  if (!answer.down) return own.at("algorithm");
  return answer.down->named(coordinate(own, answer.down->key));
}

// ---- Measures ----

json value_of(const json& own, const Measure& measure) {
  if (measure.key == "last_accuracy") return own.at("curve").empty() ? json() : own.at("curve").back().at(2);
  return own.at(measure.key);
}

bool is_number(const json& own, const char* key) { return own.at(key).is_number(); }

std::vector<Measure> measures_of(const std::vector<const json*>& worked) {
  const auto any = [&](const auto& is_so) { return std::ranges::any_of(worked, is_so); };
  std::vector<Measure> measures;
  if (any([](const json* own) { return is_number(*own, "time_to_target_s"); })) {
    std::set<double> targets;
    for (const json* own : worked)
      if (own->at("time_to_target").is_object())
        targets.insert(own->at("time_to_target").at("target").get<double>());
    const std::string target =
        targets.size() == 1 ? fmt::format("accuracy {:.4g}", *targets.begin()) : "the target accuracy";
    measures.push_back(
        {"time_to_target_s", "time to " + target, "the first to reach " + target, Unit::seconds, false});
  } else if (std::ranges::all_of(worked, [](const json* own) { return !own->at("curve").empty(); })) {
    measures.push_back({"last_accuracy", "accuracy at the end", "the most accurate", Unit::count, true});
  }
  const bool is_time =
      any([](const json* own) { return own->contains("job") || own->at("membership").is_object(); });
  if (is_time)
    measures.push_back({"makespan_s", "time of the job", "the first to finish", Unit::seconds, false});
  else
    measures.push_back({"throughput", "throughput", "the fastest", Unit::samples_per_second, true});
  return measures;
}

/// A measure of the simulations of a cell.
struct Sample {
  std::map<std::string, double> by_seed;
  std::optional<Interval> interval;  ///< of an ensemble
};

Sample sample_of(const std::vector<const json*>& members, const Measure& measure) {
  Sample sample;
  for (const json* own : members) {
    const json value = value_of(*own, measure);
    if (!value.is_number()) return {};
    sample.by_seed[seed_of(*own)] = value;
    const json interval = own->at("intervals").value(measure.key, json());
    if (interval.is_array()) sample.interval = Interval{interval.at(0), interval.at(1)};
  }
  return sample;
}

std::vector<double> values_of(const Sample& sample) {
  std::vector<double> values;
  for (const auto& [seed, value] : sample.by_seed) values.push_back(value);
  return values;
}

bool are_equal(const Sample& best, const Sample& other) {
  const double one = mean_and_deviation(values_of(best)).mean,
               two = mean_and_deviation(values_of(other)).mean;
  if (std::abs(one - two) < equal_share * std::max(std::abs(one), std::abs(two)) || one == two) return true;
  if (best.by_seed.size() == 1 && (best.interval || other.interval)) {
    const Interval a = best.interval.value_or(Interval{one, one}),
                   b = other.interval.value_or(Interval{two, two});
    return a.low <= b.high && b.low <= a.high;
  }
  const Moments difference = difference_over_seeds(best.by_seed, other.by_seed);
  return std::abs(difference.mean) < 2 * difference.deviation;
}

double gain_over(double own, double baseline, const Measure& measure) {
  if (measure.key == "last_accuracy") return own - baseline;
  return measure.more_is_better ? own / baseline : baseline / own;
}

// ---- Cells ----

json shares_of(const std::vector<const json*>& members) {
  std::map<std::string, double> sums;
  for (const json* own : members) {
    if (!own->at("shares").is_object()) return nullptr;
    for (const char* key : {"computing", "data", "query", "other"})
      sums[key] += own->at("shares").at(key).get<double>();
    const json& exchange = own->at("exchange_shares");
    if (exchange.is_object())
      for (const char* key : {"communicating", "waiting"}) sums[key] += exchange.at(key).get<double>();
    else
      sums["exchange"] += own->at("shares").at("exchange").get<double>();
  }
  json shares = json::object();
  for (const auto& [part, sum] : sums) shares[part] = sum / static_cast<double>(members.size());
  return shares;
}

/// `shares`: of the makespan, as above.
Bottleneck bottleneck_of(const std::vector<const json*>& members, const json& shares) {
  std::map<std::string, double> sums;
  for (const json* own : members) {
    if (!own->at("binding").is_object()) return {};
    for (const char* key : {"computing", "exchange", "data", "decoding", "query"})
      sums[key] += own->at("binding").at(key).get<double>();
  }
  const double outside = shares.at("other");
  const auto share = [&](const char* key) {
    return sums.at(key) / static_cast<double>(members.size()) * (1 - outside);
  };
  const std::vector<Bottleneck> parts = {{"computing", share("computing")},
                                         {"exchange", share("exchange")},
                                         {"data", share("data")},
                                         {"decoding samples", share("decoding")},
                                         {"questions to the coordinator", share("query")},
                                         {"time outside steps", outside}};
  return *std::ranges::max_element(parts, {}, &Bottleneck::share);
}

using Simulations = std::vector<const json*>;
/// By variant and column, as in the rows of a panel.
struct Grid {
  std::vector<std::string> variants;
  std::map<std::pair<std::string, std::size_t>, Simulations> members;
};

AnswerCell cell_of(const Simulations& members, const std::vector<Measure>& measures) {
  AnswerCell cell;
  for (const json* own : members) cell.configurations.push_back(own->at("name"));
  for (const auto& measure : measures) {
    const auto [mean, deviation] = mean_and_deviation(values_of(sample_of(members, measure)));
    cell.estimates.push_back({.mean = mean, .deviation = deviation});
  }
  cell.shares = shares_of(members);
  if (cell.shares.is_object()) cell.bottleneck = bottleneck_of(members, cell.shares);
  return cell;
}

/// Finds the best of a column, its equals, and the gains over the baseline.
void compare_column(AnswerPanel& panel, std::size_t at, const Grid& grid,
                    const std::vector<Measure>& measures) {
  const std::size_t column = panel.columns[at];
  for (std::size_t m = 0; m < measures.size(); ++m) {
    const auto better = [&](double a, double b) { return measures[m].more_is_better ? a > b : a < b; };
    AnswerRow* best = nullptr;
    double base = std::nan("");
    const auto mean_of = [&](const AnswerRow& row) { return row.cells[at]->estimates[m].mean; };
    for (auto& row : panel.rows) {
      if (!row.cells[at] || std::isnan(mean_of(row))) continue;
      if (best == nullptr || better(mean_of(row), mean_of(*best))) best = &row;
      if (row.variant == panel.baseline) base = mean_of(row);
    }
    if (best == nullptr) continue;
    const auto sample = [&](const AnswerRow& row) {
      return sample_of(grid.members.at({row.variant, column}), measures[m]);
    };
    for (auto& row : panel.rows) {
      if (!row.cells[at] || std::isnan(mean_of(row))) continue;
      Estimate& estimate = row.cells[at]->estimates[m];
      estimate.gain = gain_over(estimate.mean, base, measures[m]);
      if (&row == best)
        estimate.place = Estimate::Place::best;
      else if (are_equal(sample(*best), sample(row)))
        estimate.place = Estimate::Place::equal;
    }
  }
}

/// Efficiency and knee of the last measure, which is throughput.
void add_scaling(AnswerRow& row, const std::vector<double>& workers, double share) {
  std::vector<std::pair<int, double>> points;
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const double mean = row.cells[i] ? row.cells[i]->estimates.back().mean : std::nan("");
    const bool is_known = mean > 0;
    if (is_known) points.emplace_back(static_cast<int>(workers[i]), mean);
    row.efficiency.push_back(is_known ? mean / workers[i] / (points.front().second / points.front().first)
                                      : std::nan(""));
  }
  row.knee = knee_of(points, share);
}

AnswerPanel panel_of(const std::string& title, const Simulations& members, const Answer& answer) {
  Grid grid;
  std::set<std::size_t> columns;
  std::string baseline;
  for (const json* own : members) {
    const std::string variant = variant_of(*own, answer);
    std::size_t column = 0;
    if (answer.across) {
      const auto& values = answer.across->values;
      column = static_cast<std::size_t>(std::ranges::find(values, coordinate(*own, answer.across->key)) -
                                        values.begin());
    }
    if (std::ranges::find(grid.variants, variant) == grid.variants.end()) grid.variants.push_back(variant);
    grid.members[{variant, column}].push_back(own);
    columns.insert(column);
    if (!answer.down && own->at("baseline") == own->at("name")) baseline = variant;
  }
  AnswerPanel panel{title, baseline, {columns.begin(), columns.end()}, {}};
  for (const auto& variant : grid.variants) {
    AnswerRow row{variant, {}, {}, {}, {}};
    for (const std::size_t column : panel.columns) {
      const auto found = grid.members.find({variant, column});
      row.cells.push_back(found == grid.members.end()
                              ? std::nullopt
                              : std::optional(cell_of(found->second, answer.measures)));
    }
    if (answer.is_along_workers() && answer.measures.back().key == "throughput") {
      std::vector<double> workers;
      for (const std::size_t column : panel.columns) workers.push_back(answer.across->numbers[column]);
      add_scaling(row, workers, answer.knee_share);
    }
    panel.rows.push_back(std::move(row));
  }
  for (std::size_t at = 0; at < panel.columns.size(); ++at) compare_column(panel, at, grid, answer.measures);
  return panel;
}

/// "quad, batch 32".
std::string title_of(const json& own, const std::vector<StudyAxis>& others) {
  std::string title;
  for (const auto& axis : others)
    title += (title.empty() ? "" : ", ") + axis.named(coordinate(own, axis.key));
  return title;
}

}  // namespace

std::string axis_name(const std::string& key) {
  if (key == worker_count) return "workers";
  std::string name = key.substr(key.rfind('.') + 1);
  if (const auto at = key.rfind(".options."); at != std::string::npos) {
    const std::string before = key.substr(0, at);
    name = before.substr(before.rfind('.') + 1) + ' ' + name;
  }
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::vector<std::string> grid_keys(const json& document) {
  std::vector<std::string> keys;
  for (const json& own : document.at("configurations"))
    for (const json& one : own.at("coordinates"))
      if (const std::string key = one.at(0); std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  return keys;
}

std::string coordinate(const json& configuration, const std::string& key) {
  for (const json& one : configuration.at("coordinates"))
    if (one.at(0) == key) return one.at(1);
  return "";
}

std::string StudyAxis::named(const std::string& value) const {
  const bool speaks = !value.empty() && std::isalpha(static_cast<unsigned char>(value.front())) != 0 &&
                      value != "true" && value != "false" && value != "none";
  return speaks ? value : name + ' ' + (value.empty() ? "-" : value);
}

std::string place_text(Estimate::Place place) {
  return place == Estimate::Place::best ? "best" : place == Estimate::Place::equal ? "equal" : "behind";
}

bool Answer::is_along_workers() const {
  return across && across->key == worker_count && !across->numbers.empty();
}

std::string Answer::row_title() const { return down ? down->name : "variant"; }

std::string Answer::column_name(std::size_t column) const {
  if (!across) return "";
  const std::string& value = across->values.at(column);
  return value.empty() ? "-" : value;
}

Answer answer_of(const json& document) {
  Answer answer;
  const std::string about = document.at("about");
  answer.question = about.empty() ? document.at("question").get<std::string>() : about;
  const auto worked = compared_configurations(document);
  if (worked.empty()) return answer;
  answer.measures = measures_of(worked);
  answer.knee_share = document.at("knee_share");
  choose_across(axes_of(worked), answer);
  choose_down(worked, answer);
  std::vector<std::pair<std::string, Simulations>> panels;
  for (const json* own : worked) {
    const std::string title = title_of(*own, answer.others);
    auto known = std::ranges::find(panels, title, &std::pair<std::string, Simulations>::first);
    if (known == panels.end()) known = panels.insert(panels.end(), {title, {}});
    known->second.push_back(own);
  }
  for (const auto& [title, members] : panels) answer.panels.push_back(panel_of(title, members, answer));
  put_in_words(answer, document);
  return answer;
}

// ---- For other programs ----

namespace {

json null_if_nan(double value) { return std::isnan(value) ? json() : json(value); }

json json_of_cell(const AnswerCell& cell) {
  json estimates = json::array();
  for (const auto& estimate : cell.estimates)
    estimates.push_back({{"mean", null_if_nan(estimate.mean)},
                         {"deviation", null_if_nan(estimate.deviation)},
                         {"gain", null_if_nan(estimate.gain)},
                         {"place", place_text(estimate.place)}});
  return {{"configurations", cell.configurations},
          {"estimates", std::move(estimates)},
          {"shares", cell.shares},
          {"bottleneck", {{"part", cell.bottleneck.part}, {"share", cell.bottleneck.share}}}};
}

json json_of_row(const AnswerRow& row) {
  json cells = json::array(), efficiency = json::array();
  for (const auto& cell : row.cells) cells.push_back(cell ? json_of_cell(*cell) : json());
  for (const double value : row.efficiency) efficiency.push_back(null_if_nan(value));
  return {{"variant", row.variant},
          {"cells", std::move(cells)},
          {"efficiency", std::move(efficiency)},
          {"knee", row.knee ? json(*row.knee) : json()},
          {"bottlenecks", row.bottlenecks}};
}

json json_of_axis(const StudyAxis& axis) {
  return {{"key", axis.key}, {"name", axis.name}, {"values", axis.values}, {"numbers", axis.numbers}};
}

}  // namespace

json to_json(const Answer& answer) {
  json measures = json::array(), others = json::array(), panels = json::array();
  for (const auto& measure : answer.measures)
    measures.push_back({{"key", measure.key},
                        {"name", measure.name},
                        {"unit", unit_name(measure.unit)},
                        {"more_is_better", measure.more_is_better}});
  for (const auto& axis : answer.others) others.push_back(json_of_axis(axis));
  for (const auto& panel : answer.panels) {
    json rows = json::array();
    for (const auto& row : panel.rows) rows.push_back(json_of_row(row));
    panels.push_back({{"title", panel.title}, {"columns", panel.columns}, {"rows", std::move(rows)}});
  }
  return {{"question", answer.question},
          {"text", answer.text},
          {"points", answer.points},
          {"measures", std::move(measures)},
          {"across", answer.across ? json_of_axis(*answer.across) : json()},
          {"down", answer.down ? json_of_axis(*answer.down) : json()},
          {"others", std::move(others)},
          {"panels", std::move(panels)}};
}

}  // namespace tandem::validation
