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

#include "validation/compare/statistics.hpp"
#include "validation/report/seed_means.hpp"
#include "validation/report/study.hpp"

namespace tandem::validation {
namespace {

using Simulations = std::vector<const StudyResult*>;

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
bool follows(const StudyAxis& one, const StudyAxis& other, const Simulations& worked) {
  std::map<std::string, std::set<std::string>> values;
  for (const StudyResult* own : worked) values[coordinate(*own, other.key)].insert(coordinate(*own, one.key));
  return std::ranges::all_of(values, [](const auto& known) { return known.second.size() == 1; });
}

std::vector<StudyAxis> axes_of(const Simulations& worked) {
  std::vector<StudyAxis> axes;
  for (const StudyResult* own : worked)
    for (const auto& [key, value] : own->coordinates)
      if (!is_seed(key) && std::ranges::find(axes, key, &StudyAxis::key) == axes.end())
        axes.push_back({key, axis_name(key), {}, {}});
  // Experiments of one job and of several have different keys.
  for (auto& axis : axes)
    for (const StudyResult* own : worked)
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

/// Workers are across; otherwise the axis of numbers with the most values, otherwise the one of words.
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
void choose_down(const Simulations& worked, Answer& answer) {
  const auto is_other = [&](const StudyResult* own) { return own->algorithm != worked.front()->algorithm; };
  if (std::ranges::any_of(worked, is_other)) return;
  if (!answer.others.empty()) {
    answer.down = std::move(answer.others.back());
    answer.others.pop_back();
  } else if (answer.across && answer.across->numbers.empty()) {
    answer.down.swap(answer.across);
  }
}

std::string variant_of(const StudyResult& own, const Answer& answer) {
  if (!answer.down) return own.algorithm;
  return answer.down->named(coordinate(own, answer.down->key));
}

// ---- Measures ----

/// None: not known.
std::optional<double> value_of(const StudyResult& own, const Measure& measure) {
  if (measure.key == "last_accuracy")
    return own.curve.empty() ? std::nullopt : std::optional(own.curve.back().accuracy);
  if (measure.key == "time_to_target_s") return own.time_to_target_s;
  if (measure.key == "cost") return own.cost ? std::optional(own.cost->total.dollars()) : std::nullopt;
  if (measure.key == "step_time_s") return own.step_time_s;
  return measure.key == "makespan_s" ? own.makespan_s : own.throughput;
}

std::optional<Interval> interval_of(const StudyResult& own, const Measure& measure) {
  if (measure.key == "throughput") return own.intervals.throughput;
  if (measure.key == "step_time_s") return own.intervals.step_time_s;
  return measure.key == "makespan_s" ? own.intervals.makespan_s : std::nullopt;
}

/// Jobs of as many epochs with different samplers, which need not draw all samples in each: samples per
/// second do not compare them.
bool draw_different_samples(const Simulations& worked) {
  std::set<std::string> samplers;
  for (const StudyResult* own : worked) {
    const auto& stop = own->experiment.stop;
    if (stop.epochs == 0.0 || stop.rounds > 0 || stop.seconds > Seconds(0)) return false;
    samplers.insert(own->experiment.data.sampling);
  }
  return samplers.size() > 1;
}

/// Whether a second of the job costs differently much: where it does not, cost says what time says.
bool cost_differs_from_time(const Simulations& worked) {
  std::vector<double> rates;
  for (const StudyResult* own : worked) {
    if (!own->cost || own->makespan_s <= 0) return false;
    rates.push_back(own->cost->total.dollars() / own->makespan_s);
  }
  const auto [least, most] = std::ranges::minmax(rates);
  return most > (1 + equal_share) * least;
}

/// `decides`: the key of the measure that comes first, if it is known.
std::vector<Measure> measures_of(const Simulations& worked, const std::string& decides) {
  const auto any = [&](const auto& is_so) { return std::ranges::any_of(worked, is_so); };
  std::vector<Measure> measures;
  if (any([](const StudyResult* own) { return own->time_to_target_s.has_value(); })) {
    std::set<double> targets;
    for (const StudyResult* own : worked)
      if (own->time_to_target) targets.insert(own->time_to_target->target);
    const std::string target =
        targets.size() == 1 ? fmt::format("accuracy {:.4g}", *targets.begin()) : "the target accuracy";
    measures.push_back(
        {"time_to_target_s", "time to " + target, "the first to reach " + target, Unit::seconds, false});
  }
  if ((measures.empty() || decides == "last_accuracy") &&
      !any([](const StudyResult* own) { return own->curve.empty(); }))
    measures.push_back({"last_accuracy", "accuracy at the end", "the most accurate", Unit::count, true});
  const bool is_time = draw_different_samples(worked) || any([](const StudyResult* own) {
                         return !own->job.empty() || own->membership.has_value();
                       });
  // More workers compute more samples in a step that takes longer.
  const bool has_step = decides == "step_time_s";
  const bool is_step =
      has_step && !any([&](const StudyResult* own) { return own->workers != worked.front()->workers; });
  if (has_step) measures.push_back({decides, "step time", "the fastest", Unit::seconds, false});
  if (decides == "makespan_s" || (is_time && decides != "throughput"))
    measures.push_back({"makespan_s", "time of the job", "the first to finish", Unit::seconds, false});
  else if (!is_step)
    measures.push_back({"throughput", "throughput", "the fastest", Unit::samples_per_second, true});
  const bool has_prices = any([](const StudyResult* own) { return own->cost.has_value(); });
  if (decides == "cost" ? has_prices : cost_differs_from_time(worked))
    measures.push_back({"cost", "cost", "the cheapest", Unit::dollars, false});
  if (const auto first = std::ranges::find(measures, decides, &Measure::key); first != measures.end())
    std::rotate(measures.begin(), first, first + 1);
  return measures;
}

/// A measure of the simulations of a cell.
struct Sample {
  std::map<std::string, double> by_seed;
  std::optional<Interval> interval;  ///< of an ensemble
};

Sample sample_of(const Simulations& members, const Measure& measure) {
  Sample sample;
  for (const StudyResult* own : members) {
    const std::optional<double> value = value_of(*own, measure);
    if (!value) return {};
    sample.by_seed[seed_of(*own)] = *value;
    if (const auto interval = interval_of(*own, measure)) sample.interval = interval;
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
  if (measure.key == "cost") return own / baseline;
  return measure.more_is_better ? own / baseline : baseline / own;
}

// ---- Cells ----

using Shares = std::map<std::string, double>;

std::optional<Shares> shares_of(const Simulations& members) {
  Shares sums;
  for (const StudyResult* own : members) {
    if (!own->shares) return std::nullopt;
    sums["computing"] += own->shares->computing;
    sums["data"] += own->shares->data;
    sums["query"] += own->shares->query;
    sums["commits"] += own->shares->commits;
    sums["other"] += own->shares->other;
    if (own->exchange_shares) {
      sums["communicating"] += own->exchange_shares->communicating;
      sums["waiting"] += own->exchange_shares->waiting;
    } else {
      sums["exchange"] += own->shares->exchange;
    }
  }
  for (auto& [part, sum] : sums) sum /= static_cast<double>(members.size());
  return sums;
}

/// `shares`: of the makespan, as above.
Bottleneck bottleneck_of(const Simulations& members, const Shares& shares) {
  Binding sums;
  double busy = 0;
  for (const StudyResult* own : members) {
    if (!own->binding) return {};
    busy += own->storage_busy.value_or(0.0) / static_cast<double>(members.size());
    for (double Binding::*part : {&Binding::computing, &Binding::exchange, &Binding::data, &Binding::decoding,
                                  &Binding::query, &Binding::commits})
      sums.*part += (*own->binding).*part;
  }
  const double outside = shares.at("other");
  const auto share = [&](double sum) { return sum / static_cast<double>(members.size()) * (1 - outside); };
  const std::vector<Bottleneck> parts = {{"computing", share(sums.computing)},
                                         {"exchange", share(sums.exchange)},
                                         {"data", share(sums.data)},
                                         {"decoding samples", share(sums.decoding)},
                                         {"questions to the coordinator", share(sums.query)},
                                         {"waiting for commits", share(sums.commits)},
                                         {"time outside steps", outside}};
  return bottleneck_among(parts, busy);
}

/// By variant and column, as in the rows of a panel.
struct Grid {
  std::vector<std::string> variants;
  std::map<std::pair<std::string, std::size_t>, Simulations> members;
};

AnswerCell cell_of(const Simulations& members, const std::vector<Measure>& measures) {
  AnswerCell cell;
  for (const StudyResult* own : members) cell.configurations.push_back(own->name);
  for (const auto& measure : measures) {
    const auto [mean, deviation] = mean_and_deviation(values_of(sample_of(members, measure)));
    cell.estimates.push_back({.mean = mean, .deviation = deviation});
  }
  cell.shares = shares_of(members);
  if (cell.shares) cell.bottleneck = bottleneck_of(members, *cell.shares);
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

/// Efficiency and knee. `throughput`: the place of that measure.
void add_scaling(AnswerRow& row, std::size_t throughput, const std::vector<double>& workers, double share) {
  std::vector<std::pair<int, double>> points;
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const double mean = row.cells[i] ? row.cells[i]->estimates[throughput].mean : std::nan("");
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
  for (const StudyResult* own : members) {
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
    if (!answer.down && own->baseline == std::optional(std::optional(own->name))) baseline = variant;
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
    if (const auto throughput = answer.place_of("throughput"); throughput && answer.is_along_workers()) {
      std::vector<double> workers;
      for (const std::size_t column : panel.columns) workers.push_back(answer.across->numbers[column]);
      add_scaling(row, *throughput, workers, answer.knee_share);
    }
    panel.rows.push_back(std::move(row));
  }
  for (std::size_t at = 0; at < panel.columns.size(); ++at) compare_column(panel, at, grid, answer.measures);
  return panel;
}

/// "quad, batch 32".
std::string title_of(const StudyResult& own, const std::vector<StudyAxis>& others) {
  std::string title;
  for (const auto& axis : others)
    title += (title.empty() ? "" : ", ") + axis.named(coordinate(own, axis.key));
  return title;
}

}  // namespace

std::string axis_name(const std::string& key) {
  if (key == worker_count) return "workers";
  if (key == "transience.options.mean") return "mean lifetime";
  std::string name = key.substr(key.rfind('.') + 1);
  if (const auto at = key.rfind(".options."); at != std::string::npos) {
    const std::string before = key.substr(0, at);
    name = before.substr(before.rfind('.') + 1) + ' ' + name;
  }
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::vector<std::string> grid_keys(const Study& study) {
  std::vector<std::string> keys;
  for (const StudyResult& own : study.configurations)
    for (const auto& [key, value] : own.coordinates)
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  return keys;
}

std::string coordinate(const StudyConfiguration& configuration, const std::string& key) {
  for (const auto& [own, value] : configuration.coordinates)
    if (own == key) return value;
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

std::optional<std::size_t> Answer::place_of(const std::string& measure) const {
  const auto found = std::ranges::find(measures, measure, &Measure::key);
  if (found == measures.end()) return std::nullopt;
  return static_cast<std::size_t>(found - measures.begin());
}

std::string Answer::row_title() const { return down ? down->name : "variant"; }

std::string Answer::column_name(std::size_t column) const {
  if (!across) return "";
  const std::string& value = across->values.at(column);
  return value.empty() ? "-" : value;
}

Answer answer_of(const Study& study) {
  Answer answer;
  answer.question = study.about.empty() ? study.question : study.about;
  const auto worked = study.worked();
  if (worked.empty()) return answer;
  answer.measures = measures_of(worked, study.decides);
  answer.knee_share = study.knee_share;
  choose_across(axes_of(worked), answer);
  choose_down(worked, answer);
  std::vector<std::pair<std::string, Simulations>> panels;
  for (const StudyResult* own : worked) {
    const std::string title = title_of(*own, answer.others);
    auto known = std::ranges::find(panels, title, &std::pair<std::string, Simulations>::first);
    if (known == panels.end()) known = panels.insert(panels.end(), {title, {}});
    known->second.push_back(own);
  }
  for (const auto& [title, members] : panels) answer.panels.push_back(panel_of(title, members, answer));
  put_in_words(answer, study);
  return answer;
}

}  // namespace tandem::validation
