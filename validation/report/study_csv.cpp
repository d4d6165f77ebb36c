// study.csv: the figures of a study as a table for other programs.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "validation/report/answer.hpp"
#include "validation/report/study.hpp"

namespace tandem::validation {
namespace {

/// The columns of figures, in their order. None: not known.
std::vector<std::pair<const char*, std::optional<double>>> figures_of(const StudyResult& own) {
  const auto of = [](const auto& part, auto member) {
    return part ? std::optional((*part).*member) : std::nullopt;
  };
  std::vector<std::pair<const char*, std::optional<double>>> figures = {
      {"workers", static_cast<double>(own.workers)},
      {"throughput", own.throughput},
      {"step_time_s", own.step_time_s},
      {"makespan_s", own.makespan_s},
      {"samples", static_cast<double>(own.samples)},
      {"time_to_target_s", own.time_to_target_s},
      {"best_accuracy", own.best_accuracy},
      {"best_top5_accuracy", own.best_top5_accuracy},
      {"speed_up", own.speed_up},
      {"target_speed_up", own.target_speed_up},
      {"computing", of(own.shares, &TimeShares::computing)},
      {"data", of(own.shares, &TimeShares::data)},
      {"exchange", of(own.shares, &TimeShares::exchange)},
      {"communicating", of(own.exchange_shares, &ExchangeShares::communicating)},
      {"waiting", of(own.exchange_shares, &ExchangeShares::waiting)},
      {"commits", of(own.shares, &TimeShares::commits)},
      {"query", of(own.shares, &TimeShares::query)},
      {"other", of(own.shares, &TimeShares::other)},
      {"sent_per_sample", own.bytes_per_sample.sent},
      {"received_per_sample", own.bytes_per_sample.received},
      {"cost", own.cost ? std::optional(own.cost->total.dollars()) : std::nullopt}};
  if (own.failed())
    for (auto& [column, value] : figures) value.reset();
  return figures;
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string inside;
  for (const char c : text) inside += c == '"' ? std::string("\"\"") : std::string(1, c);
  return '"' + inside + '"';
}

/// The conclusion on each configuration that worked: "best", "equal" or "behind", and the bottleneck.
std::map<std::string, std::pair<std::string, std::string>> conclusions_of(const Answer& answer) {
  std::map<std::string, std::pair<std::string, std::string>> all;
  for (const auto& panel : answer.panels)
    for (const auto& row : panel.rows)
      for (const auto& cell : row.cells)
        for (const auto& name : cell ? cell->configurations : std::vector<std::string>{}) {
          const Estimate& first = cell->estimates.front();
          all[name] = {std::isnan(first.mean) ? "" : place_text(first.place), cell->bottleneck.part};
        }
  return all;
}

}  // namespace

std::string study_csv(const Study& study, const Answer& answer) {
  const auto keys = grid_keys(study);
  const auto conclusions = conclusions_of(answer);
  std::string text = "configuration,variant";
  for (const auto& key : keys) text += ',' + key;
  for (const auto& [name, value] : figures_of({})) text += std::string(",") + name;
  text += ",place,bottleneck,failure\n";
  for (const StudyResult& own : study.configurations) {
    text += quoted(own.name) + ',' + quoted(own.algorithm);
    for (const auto& key : keys) text += ',' + quoted(coordinate(own, key));
    for (const auto& [column, value] : figures_of(own))
      text += ',' + (value && !std::isnan(*value) ? fmt::format("{:.12g}", *value) : "");
    const auto known = conclusions.find(own.name);
    const auto& [place, bottleneck] =
        known == conclusions.end() ? std::pair<std::string, std::string>{} : known->second;
    text += ',' + place + ',' + bottleneck + ',' + quoted(own.failure) + '\n';
  }
  return text;
}

}  // namespace tandem::validation
