// The sentences of a study's answer.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "validation/compare/headline.hpp"
#include "validation/report/answer.hpp"
#include "validation/report/study.hpp"
#include "validation/report/view.hpp"

namespace tandem::validation {
namespace {

using Names = std::vector<std::string>;

constexpr std::size_t most_listed = 8;

/// "a, b and c".
std::string listed(const Names& names) {
  if (names.size() < 2) return names.empty() ? "" : names.front();
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

/// The variants of a column, by the first measure; the best one comes first.
struct ColumnRanking {
  const AnswerPanel* panel;
  std::size_t at;  ///< of the column, in its panel
  std::vector<const AnswerRow*> rows;
  Names best;     ///< and its equals
  Names unknown;  ///< variants whose measure is not known, or that did not reach the target
};

const Estimate& first_of(const AnswerRow& row, std::size_t at) { return row.cells[at]->estimates.front(); }

/// Rankings in the columns in which the measure of some variant is known.
std::vector<ColumnRanking> rankings_of(const Answer& answer) {
  std::vector<ColumnRanking> all;
  for (const auto& panel : answer.panels)
    for (std::size_t at = 0; at < panel.columns.size(); ++at) {
      ColumnRanking ranking{&panel, at, {}, {}, {}};
      for (const auto& row : panel.rows) {
        if (!row.cells[at]) continue;
        if (std::isnan(first_of(row, at).mean))
          ranking.unknown.push_back(row.variant);
        else
          ranking.rows.push_back(&row);
      }
      if (ranking.rows.empty()) continue;
      std::ranges::stable_sort(ranking.rows, [&](const AnswerRow* a, const AnswerRow* b) {
        const double one = first_of(*a, at).mean, two = first_of(*b, at).mean;
        return answer.measures.front().more_is_better ? one > two : one < two;
      });
      for (const auto* row : ranking.rows)
        if (first_of(*row, at).place != Estimate::Place::behind) ranking.best.push_back(row->variant);
      all.push_back(std::move(ranking));
    }
  return all;
}

/// "1.50x the throughput of bsp"; empty without a baseline.
std::string gain_phrase(const Measure& measure, const std::string& gain, const std::string& baseline) {
  if (gain == "-" || baseline.empty()) return "";
  if (measure.key == "throughput") return fmt::format("{} the throughput of {}", gain, baseline);
  if (measure.key == "last_accuracy") return fmt::format("{} against {}", gain, baseline);
  if (measure.key == "cost") return fmt::format("{} of the cost of {}", gain, baseline);
  return fmt::format("{} as fast as {}", gain, baseline);
}

/// "8 workers", "8 to 64 workers", "cache capacity 2MB to 8MB", "mlp to vgg16".
std::string range_name(const Answer& answer, std::size_t first, std::size_t last) {
  const std::string one = answer.column_name(first), two = answer.column_name(last);
  if (answer.is_along_workers()) return one == two ? workers_text(one) : one + " to " + workers_text(two);
  return one == two ? answer.across->named(one) : answer.across->name + ' ' + one + " to " + two;
}

/// Text that is the same at neighbouring columns is printed once: "x at 8 to 64 workers, y at 128 workers".
/// Columns of words are listed.
std::string along(const Answer& answer, const std::vector<std::pair<std::size_t, std::string>>& at_columns) {
  Names parts;
  if (answer.across->numbers.empty()) {
    std::vector<std::pair<std::string, Names>> places;
    for (const auto& [column, what] : at_columns) {
      auto known = std::ranges::find(places, what, &std::pair<std::string, Names>::first);
      if (known == places.end()) known = places.insert(places.end(), {what, {}});
      known->second.push_back(answer.column_name(column));
    }
    for (const auto& [what, names] : places) parts.push_back(fmt::format("{} ({})", what, listed(names)));
  } else {
    for (std::size_t i = 0; i < at_columns.size();) {
      std::size_t last = i;
      while (last + 1 < at_columns.size() && at_columns[last + 1].second == at_columns[i].second) ++last;
      parts.push_back(fmt::format("{} at {}", at_columns[i].second,
                                  range_name(answer, at_columns[i].first, at_columns[last].first)));
      i = last + 1;
    }
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string equals(const Names& best) { return best.size() == 1 ? best.front() : listed(best) + " (equal)"; }

/// "esync at 8 to 32 workers; bsp and ring (equal) at 64 workers", of one panel.
std::string best_along(const Answer& answer, const std::vector<ColumnRanking>& rankings) {
  std::vector<std::pair<std::size_t, std::string>> best;
  for (const auto& ranking : rankings)
    best.emplace_back(ranking.panel->columns[ranking.at], equals(ranking.best));
  return answer.across ? along(answer, best) : best.front().second;
}

// ---- The first sentence ----

/// Empty: there is none in this column.
std::string baseline_of(const ColumnRanking& ranking) {
  const std::string& baseline = ranking.panel->baseline;
  const bool is_here = std::ranges::find(ranking.rows, baseline, &AnswerRow::variant) != ranking.rows.end();
  return is_here ? baseline : "";
}

/// Whether all variants of the column, of which there are several, are equal.
bool are_all_equal(const ColumnRanking& ranking) {
  return ranking.best.size() > 1 && ranking.best.size() == ranking.rows.size() && ranking.unknown.empty();
}

std::string sentence_of(const Answer& answer, const ColumnRanking& ranking) {
  const Measure& measure = answer.measures.front();
  const Estimate& first = first_of(*ranking.rows.front(), ranking.at);
  const std::string value = estimate_text(measure, first);
  const std::size_t count = ranking.rows.size();
  if (count == 1) return fmt::format("{}: {} {}.", ranking.best.front(), measure.name, value);
  if (are_all_equal(ranking))
    return fmt::format("{} variants are equal: {} about {}.",
                       count == 2 ? "Both" : fmt::format("All {}", count), measure.name, value);
  const std::string baseline = baseline_of(ranking);
  const bool is_baseline = std::ranges::find(ranking.best, baseline) != ranking.best.end();
  std::string gain = is_baseline ? "" : gain_phrase(measure, gain_text(measure, first.gain), baseline);
  if (!gain.empty()) gain.insert(0, ", ");
  if (ranking.best.size() > 1)
    return fmt::format("{} are equal, and {}: {} {}{}.", listed(ranking.best), measure.superlative,
                       measure.name, value, gain);
  const AnswerRow& next = *ranking.rows[1];
  return fmt::format("{} is {}: {} {}{}. Next is {} with {}.", ranking.best.front(), measure.superlative,
                     measure.name, value, gain, next.variant,
                     estimate_text(measure, first_of(next, ranking.at)));
}

std::string range_of(const Measure& measure, const std::vector<double>& gains) {
  const auto [least, most] = std::ranges::minmax(gains);
  const std::string low = gain_text(measure, least), high = gain_text(measure, most);
  return low == high ? low : low + " to " + high;
}

/// "1.20x to 27.0x the throughput of bsp" of a variant; of the baseline "the others have 0.80x to 0.90x its
/// throughput". Empty without a baseline.
std::string gains_of(const Answer& answer, const std::vector<ColumnRanking>& rankings,
                     const std::string& variant) {
  const Measure& measure = answer.measures.front();
  std::vector<double> own, others;
  std::string baseline;
  for (const auto& ranking : rankings)
    for (const auto* row : ranking.rows) {
      const double gain = first_of(*row, ranking.at).gain;
      if (std::isnan(gain)) continue;
      (row->variant == variant ? own : others).push_back(gain);
      if (row->variant == variant) baseline = baseline_of(ranking);
    }
  if (own.empty()) return "";
  if (baseline != variant) return gain_phrase(measure, range_of(measure, own), baseline);
  if (others.empty()) return "";
  if (measure.key == "cost") return fmt::format("the others cost {} as much", range_of(measure, others));
  return measure.key == "throughput"
             ? fmt::format("the others have {} its throughput", range_of(measure, others))
             : fmt::format("the others {}", gain_phrase(measure, range_of(measure, others), "it"));
}

/// A sentence about one variant at several places of the axis across: "throughput: 100 samples/s at 8
/// workers, ...".
std::string sentence_of_one(const Answer& answer, const std::vector<ColumnRanking>& rankings) {
  const Measure& measure = answer.measures.front();
  Names values;
  for (const auto& ranking : rankings) {
    const std::size_t column = ranking.panel->columns[ranking.at];
    values.push_back(fmt::format("{} at {}",
                                 estimate_text(measure, first_of(*ranking.rows.front(), ranking.at)),
                                 range_name(answer, column, column)));
  }
  if (values.size() > most_listed) values = {values.front(), values.back()};
  return fmt::format("{}: {} {}.", rankings.front().best.front(), measure.name, listed(values));
}

/// "In all 8 cases halving-doubling is the fastest: 1.13x to 22.4x the throughput of server-8. Equal to it:
/// ring in 4."
std::string everywhere(const Answer& answer, const std::vector<ColumnRanking>& rankings,
                       const std::string& best, const std::map<std::string, std::size_t>& among) {
  Names equal;
  for (const auto& [variant, times] : among)
    if (variant != best) equal.push_back(fmt::format("{} in {}", variant, times));
  const std::string gains = gains_of(answer, rankings, best);
  return fmt::format("In {} cases {} is {}{}.{}",
                     rankings.size() == 2 ? "both" : fmt::format("all {}", rankings.size()), best,
                     answer.measures.front().superlative, gains.empty() ? "" : ": " + gains,
                     equal.empty() ? "" : fmt::format(" Equal to it: {}.", listed(equal)));
}

std::string sentence_of_several(const Answer& answer, const std::vector<ColumnRanking>& rankings) {
  const Measure& measure = answer.measures.front();
  std::map<std::string, std::size_t> among, alone;
  std::size_t all_equal = 0, tied = 0;
  for (const auto& ranking : rankings) {
    for (const auto& variant : ranking.best) ++among[variant];
    if (ranking.best.size() == 1) ++alone[ranking.best.front()];
    if (ranking.best.size() > 1) ++tied;
    if (are_all_equal(ranking)) ++all_equal;
  }
  const std::size_t count = rankings.size();
  if (answer.panels.size() == 1 && answer.panels.front().rows.size() == 1)
    return sentence_of_one(answer, rankings);
  if (all_equal == count)
    return fmt::format("The variants are equal in {} in all {} cases.", measure.name, count);
  for (const auto& [variant, times] : among)
    if (times == count && alone.contains(variant)) return everywhere(answer, rankings, variant, among);
  if (answer.panels.size() == 1 && answer.across && !answer.across->numbers.empty())
    return fmt::format("By {}, the best is {}.", measure.name, best_along(answer, rankings));
  std::vector<std::pair<std::string, std::size_t>> wins(alone.begin(), alone.end());
  std::ranges::stable_sort(wins, [](const auto& a, const auto& b) { return a.second > b.second; });
  Names parts;
  for (const auto& [variant, times] : wins) parts.push_back(fmt::format("{} in {}", variant, times));
  if (parts.size() > most_listed) parts.resize(most_listed);
  if (parts.empty())
    return fmt::format("By {}, several variants are equal in each of {} cases.", measure.name, count);
  std::string text = fmt::format("By {}, the best of {} cases is {}", measure.name, count, listed(parts));
  if (tied > 0) text += fmt::format("; in {} several are equal", tied);
  const std::string gains = gains_of(answer, rankings, wins.front().first);
  return text + (gains.empty() ? "."
                               : fmt::format(". {} {}: {}.", measure.key == "cost" ? "Next to" : "Gain of",
                                             wins.front().first, gains));
}

// ---- More sentences ----

/// Whether one variant runs synchronous SGD.
bool is_only_bsp(const Study& study) {
  std::set<std::string> variants;
  for (const StudyResult* own : study.worked())
    if (own->experiment.sync.algorithm == "bsp") variants.insert(own->algorithm);
  return variants.size() == 1;
}

std::string baseline_point(const Answer& answer, const Study& study, const std::set<std::string>& baselines) {
  if (baselines.empty()) return "";
  const std::string reason = !study.baseline.empty() ? "the study's file names it (study.baseline)"
                             : is_only_bsp(study)    ? "it is synchronous SGD (bsp)"
                                                     : "it is the first variant of synchronous SGD (bsp)";
  const bool is_cost = answer.measures.front().key == "cost";
  return fmt::format("{} {}, because {}.", is_cost ? "Shares of cost are of that of" : "Speed-ups are over",
                     listed({baselines.begin(), baselines.end()}), reason);
}

/// Throughput counts samples, whatever a different exchange costs in accuracy.
std::string throughput_caveat(const Answer& answer, const std::vector<ColumnRanking>& rankings,
                              const Study& study) {
  const std::string& decides = answer.measures.front().key;
  if (decides != "throughput" && decides != "step_time_s") return "";
  std::map<std::string, Exchanges> exchanges;
  for (const StudyResult* own : study.worked()) exchanges[own->name] = own->exchanges();
  for (const auto& ranking : rankings)
    for (const auto* row : ranking.rows) {
      const auto of = [&](const AnswerRow* one) {
        return exchanges.at(one->cells[ranking.at]->configurations.front());
      };
      if (of(row).differ_from(of(ranking.rows.front())))
        return " This is no speed-up of training: variants exchange differently often, and accuracy was not "
               "simulated.";
    }
  return "";
}

/// A job that trains on fewer samples takes less time for that reason, too.
std::string samples_caveat(const Answer& answer, const std::vector<ColumnRanking>& rankings,
                           const Study& study) {
  const std::string& decides = answer.measures.front().key;
  if (decides != "makespan_s" && decides != "cost") return "";
  std::map<std::string, double> samples;
  for (const StudyResult* own : study.worked()) samples[own->name] = static_cast<double>(own->samples);
  double widest = 1.02;
  std::string text;
  for (const auto& ranking : rankings) {
    const auto of = [&](const AnswerRow* row) {
      return samples.at(row->cells[ranking.at]->configurations.front());
    };
    const auto [least, most] = std::ranges::minmax_element(ranking.rows, {}, of);
    if (of(*most) <= widest * of(*least)) continue;
    widest = of(*most) / of(*least);
    text = fmt::format(" Variants do not train on equally many samples: {} on {}, {} on {}.",
                       (*least)->variant, with_separators(std::llround(of(*least))), (*most)->variant,
                       with_separators(std::llround(of(*most))));
  }
  return text;
}

std::string equality_point(const std::vector<ColumnRanking>& rankings) {
  if (std::ranges::none_of(rankings, [](const ColumnRanking& one) { return one.best.size() > 1; })) return "";
  return "Equal: variants differ by less than 1 %, by less than twice the standard error of their difference "
         "over common seeds, or the intervals of their ensembles overlap.";
}

/// Variants of which fewer seeds are known than of others at the same place, such as after failures.
std::string fewer_seeds_point(const Answer& answer) {
  std::set<std::string> fewer;
  for (const auto& panel : answer.panels)
    for (std::size_t at = 0; at < panel.columns.size(); ++at) {
      const auto seeds = [&](const AnswerRow& row) {
        return row.cells[at] ? row.cells[at]->configurations.size() : 0;
      };
      const std::size_t most = std::ranges::max(panel.rows | std::views::transform(seeds));
      for (const auto& row : panel.rows)
        if (row.cells[at] && seeds(row) < most) fewer.insert(row.variant);
    }
  if (fewer.empty()) return "";
  return fmt::format("Not quite comparable: means of {} are over fewer seeds than those of other variants.",
                     listed({fewer.begin(), fewer.end()}));
}

void add_panel_points(const Answer& answer, const std::vector<ColumnRanking>& rankings, Names& points) {
  if (answer.panels.size() < 2 || answer.panels.size() > most_listed) return;
  for (const auto& panel : answer.panels) {
    std::vector<ColumnRanking> own;
    std::ranges::copy_if(rankings, std::back_inserter(own),
                         [&](const ColumnRanking& one) { return one.panel == &panel; });
    if (!own.empty()) points.push_back(fmt::format("{}: {}.", panel.title, best_along(answer, own)));
  }
}

/// Along workers, whose number one chooses: the best of all places. More workers always compute more
/// samples per second, in longer steps.
std::string best_of_all_point(const Answer& answer, const std::vector<ColumnRanking>& rankings) {
  const Measure& measure = answer.measures.front();
  const bool is_speed = measure.key == "throughput" || measure.key == "step_time_s";
  if (!answer.is_along_workers() || is_speed || rankings.size() < 2) return "";
  const auto mean_of = [](const ColumnRanking& one) { return first_of(*one.rows.front(), one.at).mean; };
  const auto [least, most] = std::ranges::minmax_element(rankings, {}, mean_of);
  const ColumnRanking& best = measure.more_is_better ? *most : *least;
  const std::size_t column = best.panel->columns[best.at];
  return fmt::format("Of all places, {} is {} at {}{}: {} {}.", best.rows.front()->variant,
                     measure.superlative, range_name(answer, column, column),
                     best.panel->title.empty() ? "" : " (" + best.panel->title + ")", measure.name,
                     estimate_text(measure, first_of(*best.rows.front(), best.at)));
}

/// What the study's file asks for and nobody knows.
std::string undecided_point(const Answer& answer, const Study& study) {
  if (study.decides.empty() || answer.measures.front().key == study.decides) return "";
  return fmt::format("Not by {}, as the study's file asks (study.decides): no simulation has it.",
                     study.decides);
}

/// `least`: the smallest number of workers that is known.
std::string knee_text(int knee, int least) {
  return knee == least ? fmt::format(" (more than {} do not pay)", knee)
                       : fmt::format(" (more pay up to {})", knee);
}

void add_scaling_points(const Answer& answer, Names& points) {
  if (answer.panels.size() > most_listed || !answer.is_along_workers()) return;
  for (const auto& panel : answer.panels) {
    Names ends;
    const int least = static_cast<int>(answer.across->numbers[panel.columns.front()]);
    for (const auto& row : panel.rows)
      if (row.efficiency.size() > 1 && !std::isnan(row.efficiency.back()))
        ends.push_back(fmt::format("{} {}{}", row.variant, percent(row.efficiency.back()),
                                   row.knee ? knee_text(*row.knee, least) : ""));
    if (ends.empty()) continue;
    points.push_back(fmt::format("{}Efficiency at {} workers (100 %: at {}): {}.",
                                 panel.title.empty() ? "" : panel.title + ": ",
                                 answer.column_name(panel.columns.back()), least, fmt::join(ends, ", ")));
  }
}

std::string share_range(const std::pair<double, double>& range) {
  const auto text = [](double share) { return fmt::format("{:.0f}", share * 100); };
  const std::string low = text(range.first), high = text(range.second);
  return low == high ? low + " %" : low + " to " + high + " %";
}

/// "computing (60 to 90 %), exchange (51 to 80 %)": what takes most of the time in the cells of a variant.
std::string bottleneck_point(const Answer& answer) {
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, std::pair<double, double>>>>>
      variants;
  for (const auto& panel : answer.panels)
    for (const auto& row : panel.rows)
      for (const auto& cell : row.cells) {
        if (!cell || cell->bottleneck.part.empty()) continue;
        auto variant = std::ranges::find(variants, row.variant, [](const auto& one) { return one.first; });
        if (variant == variants.end()) variant = variants.insert(variants.end(), {row.variant, {}});
        const auto& [part, share] = cell->bottleneck;
        auto known = std::ranges::find(variant->second, part, [](const auto& one) { return one.first; });
        if (known == variant->second.end())
          variant->second.push_back({part, {share, share}});
        else
          known->second = {std::min(known->second.first, share), std::max(known->second.second, share)};
      }
  if (variants.empty() || variants.size() > 2 * most_listed) return "";
  Names parts;
  for (const auto& [variant, ranges] : variants) {
    Names own;
    for (const auto& [part, range] : ranges) own.push_back(fmt::format("{} {}", part, share_range(range)));
    parts.push_back(fmt::format("{}: {}", variant, fmt::join(own, " or ")));
  }
  const bool is_disk = std::ranges::any_of(
      parts, [](const std::string& one) { return one.find("the store ") != std::string::npos; });
  return fmt::format("Bottlenecks (the longest part of the workers' time{}): {}.",
                     is_disk ? ", or the store where its disk reads for almost all of the time" : "",
                     fmt::join(parts, "; "));
}

void put_bottlenecks(Answer& answer) {
  for (auto& panel : answer.panels)
    for (auto& row : panel.rows) {
      std::vector<std::pair<std::size_t, std::string>> parts;
      for (std::size_t at = 0; at < row.cells.size(); ++at)
        if (row.cells[at] && !row.cells[at]->bottleneck.part.empty())
          parts.emplace_back(panel.columns[at], row.cells[at]->bottleneck.part);
      const bool is_same =
          std::ranges::all_of(parts, [&](const auto& one) { return one.second == parts[0].second; });
      if (parts.empty()) continue;
      row.bottlenecks = is_same ? parts.front().second : along(answer, parts);
      if (row.cells.size() == 1)
        row.bottlenecks += fmt::format(" {:.0f} %", 100 * row.cells.front()->bottleneck.share);
    }
}

/// Who does not reach the target, of one place of the grid; of several, at how many no variant does.
std::string unreached(const Answer& answer, const std::vector<ColumnRanking>& rankings) {
  if (answer.measures.front().key != "time_to_target_s") return "";
  std::size_t places = 0;
  for (const auto& panel : answer.panels) places += panel.columns.size();
  const std::size_t without = places - rankings.size();
  if (without > 0)
    return fmt::format(" In {} more {} no variant reaches it.", without, without == 1 ? "case" : "cases");
  if (places > 1 || rankings.front().unknown.empty()) return "";
  const Names& names = rankings.front().unknown;
  const bool has_seeds = std::ranges::any_of(rankings.front().panel->rows, [](const AnswerRow& row) {
    return row.cells.front() && row.cells.front()->configurations.size() > 1;
  });
  return fmt::format(" {} {} not reach it{}.", listed(names), names.size() == 1 ? "does" : "do",
                     has_seeds ? " with each seed" : "");
}

std::string missed_target(const Answer& answer, const Study& study) {
  if (answer.place_of("time_to_target_s")) return "";
  for (const StudyResult* own : study.worked())
    if (const auto& target = own->time_to_target; target && target->evaluations != 0)
      return fmt::format("No variant reaches accuracy {:.4g}. ", target->target);
  return "";
}

/// "1,147 s": in the unit that suits `reference`.
std::string in_unit(const Measure& measure, double value, double reference, int digits = 4) {
  if (measure.key == "last_accuracy") return fmt::format("{:.4f} ", value);
  if (measure.unit == Unit::dollars) {
    const bool in_cents = reference >= 1 && reference < 1000;
    return (in_cents ? fmt::format("{:.2f}", value) : significant(value, digits)) + " $";
  }
  // Times of 1,000 s and more have no larger unit.
  const bool is_long = measure.unit == Unit::seconds && reference >= 1000;
  if (is_long || measure.unit == Unit::samples_per_second)
    return significant(value, digits) + (is_long ? " s" : " samples/s");
  return with_unit(value, measure.unit, reference);
}

}  // namespace

std::string workers_text(const std::string& number) {
  return number + (number == "1" ? " worker" : " workers");
}

std::string with_deviation(const std::string& mean, const std::string& deviation) {
  const auto decimals_of = [](const std::string& text) {
    const auto point = text.find('.');
    return point == std::string::npos ? 0 : static_cast<int>(text.size() - point - 1);
  };
  const int decimals = decimals_of(mean);
  const bool is_finer = deviation.find('e') != std::string::npos || decimals_of(deviation) > decimals;
  std::string digits = deviation;
  std::erase(digits, ',');
  return mean + " ± " + (is_finer ? fmt::format("{:.{}f}", std::stod(digits), decimals) : deviation);
}

std::string unit_text(const Measure& measure, double reference) {
  const std::string text = in_unit(measure, reference, reference);
  return text.substr(text.rfind(' ') + 1);
}

std::string number_text(const Measure& measure, const Estimate& estimate, double reference) {
  if (std::isnan(estimate.mean)) return measure.key == "time_to_target_s" ? "not reached" : "-";
  const auto number = [&](double value, int digits) {
    const std::string text = in_unit(measure, value, reference, digits);
    return text.substr(0, text.rfind(' '));
  };
  const std::string mean = number(estimate.mean, 4);
  return std::isnan(estimate.deviation) ? mean : with_deviation(mean, number(estimate.deviation, 2));
}

std::string estimate_text(const Measure& measure, const Estimate& estimate) {
  const std::string number = number_text(measure, estimate, estimate.mean);
  const std::string unit = std::isnan(estimate.mean) ? "" : unit_text(measure, estimate.mean);
  if (unit == "$") return unit + number;
  return unit.empty() ? number : number + ' ' + unit;
}

std::string gain_text(const Measure& measure, double gain) {
  if (std::isnan(gain)) return "-";
  if (measure.key == "last_accuracy") return fmt::format("{:+.4f}", gain);
  if (measure.key == "cost") return percent(gain);
  return three_digits(gain) + "x";
}

void put_in_words(Answer& answer, const Study& study) {
  put_bottlenecks(answer);
  const auto rankings = rankings_of(answer);
  if (rankings.empty()) return;
  std::set<std::string> baselines;
  for (const auto& panel : answer.panels)
    if (!panel.baseline.empty()) baselines.insert(panel.baseline);
  answer.text =
      missed_target(answer, study) +
      (rankings.size() == 1 ? sentence_of(answer, rankings.front()) : sentence_of_several(answer, rankings)) +
      unreached(answer, rankings) + throughput_caveat(answer, rankings, study) +
      samples_caveat(answer, rankings, study);
  add_panel_points(answer, rankings, answer.points);
  add_scaling_points(answer, answer.points);
  for (auto point :
       {best_of_all_point(answer, rankings), undecided_point(answer, study), fewer_seeds_point(answer),
        equality_point(rankings), baseline_point(answer, study, baselines), bottleneck_point(answer)})
    if (!point.empty()) answer.points.push_back(std::move(point));
}

}  // namespace tandem::validation
