#include "cli/commands/plan_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/records/csv.hpp"
#include "workloads/records/format.hpp"

namespace tandem::cli {
namespace {

using planning::Configuration;
using planning::Excluded;
using planning::Lattice;
using planning::LivedConfiguration;
using planning::Sensitivity;
using planning::Way;

constexpr std::size_t most_rows = planning::fine_rows;
constexpr double hour_s = 3600.0;

/// "4.81 (4.52 to 5.61)"; one number where nothing varies.
std::string band_text(const planning::Band& band, double unit) {
  const auto text = [&](double value) {
    return std::isfinite(value) ? three_digits(value / unit) : std::string("never");
  };
  const std::string middle = text(band.median), low = text(band.low), high = text(band.high);
  return low == high ? middle : fmt::format("{} ({} to {})", middle, low, high);
}

std::string chance_text(const planning::Figures& figures) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", figures.within, figures.within_interval.low,
                     figures.within_interval.high);
}

std::string seconds_text(double seconds) { return with_unit(seconds, Unit::seconds); }
std::string dollars(double amount) { return dollars_text(Money(std::llround(amount * 1e6))); }

/// Why it is not the chosen one.
std::string lost_by(const LivedConfiguration& lived, const LivedConfiguration& chosen,
                    const PlanResult& result, const Configuration& of) {
  if (&lived == &chosen) return result.is_met ? "chosen" : "nearest";
  std::string text;
  if (!lived.figures.meets_goal) {
    const auto& goal = result.goal;
    const bool late = goal.deadline && lived.figures.time_s.median > goal.deadline->count();
    const bool dear = goal.budget && lived.figures.cost.median > goal.budget->dollars();
    text = late && dear ? "too slow, too dear"
           : late       ? "too slow"
           : dear       ? "too dear"
                        : fmt::format("P < {:g}", goal.confidence);
  } else {
    const double more = lived.figures.mean_cost - chosen.figures.mean_cost;
    text = signed_percent(more / chosen.figures.mean_cost) + " mean cost";
    const double error = std::hypot(lived.figures.cost_error, chosen.figures.cost_error);
    if (more <= planning::errors_of_interval * error) text += ", within its error";
  }
  return text + "; " + of.binds + " binds";
}

std::string commits_text(const Configuration& of) {
  return of.interval > 0 && of.interval < of.rounds
             ? seconds_text(of.round.count() * static_cast<double>(of.interval))
             : "-";
}

/// Cells padded to the width of their column; the last column is not.
std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto& row : rows) {
    text += "  ";
    for (std::size_t i = 0; i < row.size(); ++i)
      text += i + 1 == row.size() ? row[i] + '\n' : fmt::format("{:<{}}  ", row[i], widths[i]);
  }
  return text;
}

std::string costs_text(const LivedConfiguration& chosen, const std::string& what) {
  const double others = chosen.figures.mean_cost - chosen.workers_cost;
  std::string interval;
  if (chosen.figures.cost_error > 0.0)
    interval = fmt::format(
        " (95 % interval: ± {})",
        percent(planning::errors_of_interval * chosen.figures.cost_error / chosen.figures.mean_cost));
  return fmt::format(
      "{} costs {} in the mean{}: workers {}, other machines {}; useful {}, wasted {}, idle {}, waiting {}; "
      "{} "
      "departures",
      what, dollars(chosen.figures.mean_cost), interval, dollars(chosen.workers_cost), dollars(others),
      dollars(chosen.uses.useful), dollars(chosen.uses.wasted), dollars(chosen.uses.idle),
      dollars(chosen.uses.waiting), three_digits(chosen.departures));
}

std::string sensitivity_text(const Lattice& lattice, const PlanResult& result, const Configuration& of) {
  const Sensitivity& found = result.sensitivity;
  std::string text;
  if (found.dearer)
    text += fmt::format("its price is above ${}/h ({})",
                        three_digits(of.offer->per_hour.dollars() * *found.dearer),
                        signed_percent(*found.dearer - 1.0));
  if (found.dearer && found.then)
    text += fmt::format(", then {}, {}", machines_text(lattice.configurations()[*found.then]),
                        way_text(lattice, lattice.configurations()[*found.then]));
  const auto more = [&](const std::string& reason) { text += (text.empty() ? "" : "; or ") + reason; };
  if (found.slower) more("rounds take " + percent(*found.slower - 1.0) + " longer");
  if (found.shorter) more("machines live " + percent(1.0 - *found.shorter) + " shorter");
  if (text.empty()) return "";
  return "Stays the choice until " + text;
}

/// How good the duration of a round is.
std::string closed_form_text(const Configuration& of) {
  std::string range;
  if (of.fastest < of.slowest)
    range = fmt::format(", {} in the range {} to {}", seconds_text(of.round.count()),
                        seconds_text(of.fastest.count()), seconds_text(of.slowest.count()));
  return fmt::format("Closed form of a round: {} ({}){}", to_text(of.certainty), of.origin, range);
}

/// " (a step on t4 takes 57 ms, or 54 ms to 60 ms with 90 %: ...)"; empty: it is not fitted.
std::string step_text(const LivedConfiguration& lived, const Configuration& of) {
  if (!lived.step) return "";
  return fmt::format(" (a step on {} takes {}, or {} to {} with {}: each life draws one factor on it)",
                     of.offer->device, seconds_text(lived.step->value.count()),
                     seconds_text(lived.step->lower.count()), seconds_text(lived.step->upper.count()),
                     percent(lived.step->confidence));
}

/// When machines are there, and what of that is not planned.
std::string arrival_text(const Lattice& lattice, const Configuration& of) {
  const Experiment& experiment = lattice.ways()[of.way].loaded.experiment;
  std::string text =
      "machines can be had when asked for, the first ones at once and without paying their boot";
  if (of.offer->is_spot)
    text += fmt::format(", each later one after {}",
                        seconds_text(of.offer->startup.value_or(experiment.transience.start).count()));
  if (of.offer->obtainable.value_or(1.0) < 1.0)
    text += fmt::format("; that {} can be had {} of the time (obtainable) delays nothing", of.offer->instance,
                        percent(*of.offer->obtainable));
  return text;
}

std::string assumptions_text(const Lattice& lattice, const LivedConfiguration& chosen) {
  const Configuration& of = lattice.configurations()[chosen.number];
  const Experiment& experiment = lattice.ways()[of.way].loaded.experiment;
  std::string life = "machines stay";
  if (of.offer->is_spot) life = "machines live as transience.lifetime " + experiment.transience.lifetime;
  return fmt::format("Assumed: {}; {}; prices of {}; computing times of {}; without disks, egress, tax", life,
                     arrival_text(lattice, of), of.offer->date,
                     experiment.workload.has_measured_times()
                         ? "workload.measured_step on " + experiment.workload.measured_on +
                               ", scaled to other devices by the device catalogue"
                     : experiment.physics.predictor.empty()
                         ? std::string("the device catalogue")
                         : "physics.predictor " + experiment.physics.predictor + step_text(chosen, of));
}

/// What servers compute with; empty: no server.
std::string cores_text(const Lattice& lattice, const Configuration& of) {
  const Experiment& experiment = lattice.ways()[of.way].loaded.experiment;
  std::string hosts;
  for (const auto& [host, port] : lattice.kept().hosts) {
    if (experiment.sync.over != sync::Route::server ||
        std::ranges::find(experiment.placement.servers, host.name) == experiment.placement.servers.end())
      continue;
    hosts += fmt::format("{}'{}' {}", hosts.empty() ? "" : ", ", host.name, host.cores);
  }
  if (hosts.empty()) return "";
  return "Cores of servers, as the platform or half of the vCPUs of an offer say: " + hosts +
         (of.unused_cores.empty() ? "" : "; " + of.unused_cores);
}

/// Of rows that depend on chance.
std::string fresh_text(const PlanResult& result) {
  int least = planning::most_draws, most = 1;
  for (const LivedConfiguration& lived : result.lived) {
    most = std::max(most, lived.lives);
    if (lived.lives > 1) least = std::min(least, lived.lives);
  }
  return least >= most ? std::to_string(most) : fmt::format("{} to {}", least, most);
}

std::string unpriced_text(const Lattice& lattice) {
  std::string hosts;
  for (const auto& kept : lattice.kept().hosts)
    if (!kept.host.properties.contains("price_per_hour"))
      hosts += (hosts.empty() ? "" : ", ") + kept.host.name;
  return hosts.empty() ? "" : "Without a price, and so not in the cost: " + hosts + " (price_per_hour)";
}

/// Of a job whose rounds have fewer samples after departures; empty: its rounds have all of them.
std::string samples_text(const LivedConfiguration& chosen, const Configuration& of) {
  if (of.more_rounds == 0) return "";
  return fmt::format(
      "It does {} rounds, {} more than without departures, because a round has fewer samples while a machine "
      "is "
      "missing: {} of the samples are trained in the mean",
      with_separators(of.rounds), with_separators(of.more_rounds),
      percent(chosen.samples / static_cast<double>(of.samples)));
}

/// That no way meets the goal, and what the nearest one costs.
std::string nearest_text(const PlanResult& result) {
  const planning::Figures& nearest = result.lived.front().figures;
  std::string text = fmt::format(
      "No way meets {} with confidence {:g}. The nearest costs {} and takes {} in the mean", result.goal_text,
      result.goal.confidence, dollars(nearest.mean_cost), seconds_text(nearest.mean_time_s));
  double cheapest = nearest.mean_cost;
  for (const auto& lived : result.lived) cheapest = std::min(cheapest, lived.figures.mean_cost);
  if (result.goal.budget && result.goal.budget->dollars() < cheapest)
    text +=
        fmt::format("; the budget buys {} of the samples", percent(result.goal.budget->dollars() / cheapest));
  return text;
}

std::string lines_of(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += sentence + '\n';
  return text;
}

}  // namespace

std::string machines_text(const Configuration& of) {
  return fmt::format("{} x {}", of.machines, of.offer->name());
}

std::string way_text(const Lattice& lattice, const Configuration& of) {
  const Way& way = lattice.ways()[of.way];
  return way.name.empty() ? way.loaded.experiment.sync.algorithm : way.name;
}

std::string work_text(const Lattice& lattice, const PlanResult& result) {
  if (!result.target) return with_separators(lattice.samples()) + " samples";
  return fmt::format("until accuracy {:g} (samples as in {} trained jobs)", *result.target, result.curves);
}

std::vector<std::vector<std::string>> plan_rows(const Lattice& lattice, const PlanResult& result,
                                                std::size_t most) {
  std::vector<std::vector<std::string>> rows = {
      {"#", "machines", "way", "commits", "time h (5 to 95 %)", "cost $ (5 to 95 %)"}};
  if (!result.goal_text.empty()) rows.front().push_back("P(" + result.goal_text + ")");
  rows.front().push_back("lost by");
  for (std::size_t i = 0; i < std::min(most, result.lived.size()); ++i) {
    const LivedConfiguration& lived = result.lived[i];
    const Configuration& of = lattice.configurations()[lived.number];
    auto& row = rows.emplace_back(std::vector<std::string>{
        std::to_string(i + 1), machines_text(of), way_text(lattice, of), commits_text(of),
        band_text(lived.figures.time_s, hour_s), band_text(lived.figures.cost, 1.0)});
    if (!result.goal_text.empty()) row.push_back(chance_text(lived.figures));
    row.push_back(lost_by(lived, result.lived.front(), result, of));
  }
  return rows;
}

std::map<std::string, int> reasons_of_excluded(const Lattice& lattice) {
  std::map<std::string, int> reasons;
  for (const Excluded& excluded : lattice.excluded())
    ++reasons[excluded.why.starts_with("no better than") ? "no better than another one, and no cheaper"
                                                         : excluded.why];
  return reasons;
}

std::vector<std::string> plan_work(const Lattice& lattice, const PlanResult& result) {
  return {fmt::format("{}: {}, {} per worker and step; {}", result.name, work_text(lattice, result),
                      lattice.ways().front().loaded.experiment.workload.batch,
                      result.target ? "departures are assumed to change no accuracy"
                                    : "more workers do fewer rounds, and what that does to accuracy is not "
                                      "planned"),
          fmt::format("{} configurations of {} offers priced in closed form in {}; {} of them lived through "
                      "{} times with common fates; figures: {} fresh lives",
                      with_separators(static_cast<std::int64_t>(lattice.configurations().size())),
                      with_separators(static_cast<std::int64_t>(result.offers)),
                      seconds_text(result.priced_s), result.lived.size(), result.draws, fresh_text(result))};
}

std::vector<std::string> plan_facts(const Lattice& lattice, const PlanResult& result) {
  const LivedConfiguration& chosen = result.lived.front();
  const Configuration& of = lattice.configurations()[chosen.number];
  std::vector<std::string> facts;
  if (!result.is_met) facts.push_back(nearest_text(result));
  facts.push_back(costs_text(chosen, result.is_met ? "The chosen one" : "The nearest one"));
  if (std::string text = samples_text(chosen, of); !text.empty()) facts.push_back(std::move(text));
  facts.push_back(fmt::format(
      "Binds: {}{}", of.binds,
      of.next.empty() ? "" : fmt::format("; next: {}, at {} of its limit", of.next, percent(of.next_share))));
  if (std::string text = sensitivity_text(lattice, result, of); !text.empty())
    facts.push_back(std::move(text));
  if (result.resamples > 0)
    facts.push_back(fmt::format("Chosen in {} of {} resamples of the same fates{}", chosen.chosen_in,
                                result.resamples,
                                chosen.step ? " and factors on step times, which say nothing of prices"
                                            : ", which say nothing of prices and step times"));
  if (of.machines == lattice.most_machines(*of.offer))
    facts.push_back(fmt::format("More machines than {} were not tried (--max-machines)", of.machines));
  return facts;
}

std::vector<std::string> plan_assumptions(const Lattice& lattice, const PlanResult& result) {
  std::vector<std::string> all;
  if (std::ranges::any_of(result.lived, [](const auto& lived) { return lived.cut > 0; }))
    all.push_back(fmt::format("Lives that took {:g} times as long as without departures were cut off: never",
                              planning::most_times));
  const LivedConfiguration& chosen = result.lived.front();
  const Configuration& of = lattice.configurations()[chosen.number];
  all.push_back(assumptions_text(lattice, chosen));
  all.push_back(closed_form_text(of));
  if (std::string text = cores_text(lattice, of); !text.empty()) all.push_back(std::move(text));
  if (std::string text = unpriced_text(lattice); !text.empty()) all.push_back(std::move(text));
  return all;
}

std::string plan_text(const Lattice& lattice, const PlanResult& result) {
  std::string text =
      lines_of(plan_work(lattice, result)) + '\n' + table_text(plan_rows(lattice, result, most_rows)) + '\n';
  for (const auto& [why, count] : reasons_of_excluded(lattice))
    text += fmt::format("  left out, {}: {}\n", count, why);
  text += lines_of(plan_facts(lattice, result)) + lines_of(plan_assumptions(lattice, result));
  return text + fmt::format(
                    "Wrote {0}/experiment.yaml, {0}/platform.xml, {0}/suite.yaml, {0}/table.csv, "
                    "{0}/front.html. Next: "
                    "tandem simulate {0}/experiment.yaml\n",
                    result.folder);
}

nlohmann::json plan_document(const Lattice& lattice, const PlanResult& result) {
  nlohmann::json rows = nlohmann::json::array();
  for (const LivedConfiguration& lived : result.lived) {
    const Configuration& of = lattice.configurations()[lived.number];
    const planning::Figures& figures = lived.figures;
    const auto band = [](const planning::Band& values) {
      return nlohmann::json{{"median", values.median}, {"low", values.low}, {"high", values.high}};
    };
    rows.push_back({{"offer", of.offer->name()},
                    {"machines", of.machines},
                    {"way", way_text(lattice, of)},
                    {"samples", of.samples},
                    {"mean_samples", lived.samples},
                    {"rounds", of.rounds},
                    {"round_s", of.round.count()},
                    {"commit_every", of.interval},
                    {"round_range_s", {of.fastest.count(), of.slowest.count()}},
                    {"closed_form", to_text(of.certainty)},
                    {"because", of.origin},
                    {"binds", of.binds},
                    {"unused_cores", of.unused_cores},
                    {"lives", lived.lives},
                    {"time_s", band(figures.time_s)},
                    {"cost", band(figures.cost)},
                    {"mean_time_s", figures.mean_time_s},
                    {"mean_cost", figures.mean_cost},
                    {"mean_cost_error", figures.cost_error},
                    {"workers_cost", lived.workers_cost},
                    {"uses",
                     {{"useful", lived.uses.useful},
                      {"wasted", lived.uses.wasted},
                      {"idle", lived.uses.idle},
                      {"waiting", lived.uses.waiting}}},
                    {"departures", lived.departures},
                    {"within", figures.within},
                    {"within_interval", {figures.within_interval.low, figures.within_interval.high}},
                    {"meets_goal", figures.meets_goal},
                    {"chosen_in", lived.chosen_in},
                    {"lost_by", lost_by(lived, result.lived.front(), result, of)}});
  }
  const Sensitivity& found = result.sensitivity;
  const auto known = [](const auto& value) { return value ? nlohmann::json(*value) : nlohmann::json(); };
  return {{"is_met", result.is_met},
          {"samples", result.target ? nlohmann::json() : nlohmann::json(lattice.samples())},
          {"target_accuracy", known(result.target)},
          {"configurations", lattice.configurations().size()},
          {"draws", result.draws},
          {"resamples", result.resamples},
          {"rows", rows},
          {"price_break_even", known(found.dearer)},
          {"rounds_break_even", known(found.slower)},
          {"lives_break_even", known(found.shorter)},
          {"folder", result.folder}};
}

std::string plan_csv(const Lattice& lattice, const PlanResult& result) {
  csv::Writer writer;
  for (const char* column : {"offer", "machines", "way", "rounds", "round_s", "commit_every", "expected_s",
                             "expected_cost", "lives", "samples", "median_s", "low_s", "high_s",
                             "median_cost", "low_cost", "high_cost", "within", "lost_by"})
    writer.field(column);
  writer.end_row();
  std::map<std::size_t, const LivedConfiguration*> lived;
  for (const auto& each : result.lived) lived[each.number] = &each;
  for (std::size_t i = 0; i < lattice.configurations().size(); ++i) {
    const Configuration& of = lattice.configurations()[i];
    writer.field(of.offer->name());
    writer.field(of.machines);
    writer.field(way_text(lattice, of));
    writer.field(of.rounds);
    writer.field(of.round);
    writer.field(of.interval);
    writer.field(of.expected.time);
    writer.field(to_text(of.expected.cost));
    const auto found = lived.find(i);
    writer.field(found == lived.end() ? 0 : found->second->lives);
    if (found == lived.end()) {
      for (int column = 0; column < 8; ++column) writer.field("");
      writer.field("the estimate: slower or dearer than others");
    } else {
      const planning::Figures& figures = found->second->figures;
      writer.field(found->second->samples);
      for (const planning::Band* band : {&figures.time_s, &figures.cost})
        for (const double value : {band->median, band->low, band->high}) writer.field(value);
      writer.field(figures.within);
      writer.field(lost_by(*found->second, result.lived.front(), result, of));
    }
    writer.end_row();
  }
  for (const Excluded& excluded : lattice.excluded()) {
    writer.field(excluded.what);
    for (int column = 0; column < 16; ++column) writer.field("");
    writer.field(excluded.why);
    writer.end_row();
  }
  return writer.text();
}

}  // namespace tandem::cli
