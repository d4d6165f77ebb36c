// study.csv: the figures of a study as a table for other programs.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "validation/report/answer.hpp"
#include "validation/report/view.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

/// A column, and the place of its figure in a configuration.
constexpr std::pair<const char*, const char*> csv_figures[] = {
    {"workers", "/workers"},
    {"throughput", "/throughput"},
    {"step_time_s", "/step_time_s"},
    {"makespan_s", "/makespan_s"},
    {"samples", "/samples"},
    {"time_to_target_s", "/time_to_target_s"},
    {"best_accuracy", "/best_accuracy"},
    {"speed_up", "/speed_up"},
    {"target_speed_up", "/target_speed_up"},
    {"computing", "/shares/computing"},
    {"data", "/shares/data"},
    {"exchange", "/shares/exchange"},
    {"communicating", "/exchange_shares/communicating"},
    {"waiting", "/exchange_shares/waiting"},
    {"query", "/shares/query"},
    {"other", "/shares/other"},
    {"sent_per_sample", "/bytes_per_sample/sent"},
    {"received_per_sample", "/bytes_per_sample/received"}};

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string inside;
  for (const char c : text) inside += c == '"' ? std::string("\"\"") : std::string(1, c);
  return '"' + inside + '"';
}

/// Of each configuration that worked: "best", "equal" or "behind", and the bottleneck.
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

std::string study_csv(const json& document, const Answer& answer) {
  const auto keys = grid_keys(document);
  const auto conclusions = conclusions_of(answer);
  std::string text = "configuration,variant";
  for (const auto& key : keys) text += ',' + key;
  for (const auto& [name, place] : csv_figures) text += std::string(",") + name;
  text += ",place,bottleneck,failure\n";
  for (const json& own : document.at("configurations")) {
    const std::string name = own.at("name");
    text += quoted(name) + ',' + quoted(own.at("algorithm"));
    for (const auto& key : keys) text += ',' + quoted(coordinate(own, key));
    for (const auto& [column, place] : csv_figures) {
      const json value = own.value(json::json_pointer(place), json());
      text += ',' + (value.is_number() ? fmt::format("{:.12g}", value.get<double>()) : "");
    }
    const auto known = conclusions.find(name);
    const auto& [place, bottleneck] =
        known == conclusions.end() ? std::pair<std::string, std::string>{} : known->second;
    text += ',' + place + ',' + bottleneck + ',' + quoted(own.at("failure")) + '\n';
  }
  return text;
}

}  // namespace tandem::validation
