// The part of the report's page about which algorithm is faster: rankings, and speed-ups over bsp.
#include <fmt/format.h>

#include <algorithm>

#include "validation/report/html.hpp"
#include "validation/report/report_sections.hpp"
#include "validation/report/view.hpp"

namespace tandem::validation::sections {
namespace {

using html::escaped;
using html::typeset;
using nlohmann::json;

std::string cell(const json& number) {
  return fmt::format("<td>{}</td>", typeset(three_digits(number_or_nan(number))));
}

/// Two cells, simulated and measured.
std::string cells(const json& worlds) { return cell(worlds.at("simulated")) + cell(worlds.at("measured")); }

/// Which of the columns that not every group has.
struct Columns {
  bool speed_up = false;
  bool target = false;
};

Columns columns_of(const json& group) {
  Columns columns;
  for (const auto& variant : group.at("variants")) {
    columns.speed_up = columns.speed_up || variant.at("baseline").is_string();
    columns.target = columns.target || variant.at("target").is_number();
  }
  return columns;
}

std::string target_cells(const json& variant) {
  std::string text;
  for (const char* world : {"simulated", "measured"}) {
    const json& time = variant.at("time_to_target").at(world);
    const bool missed = variant.at("target").is_number() && time.is_null();
    text += fmt::format("<td>{}</td>",
                        missed ? "not reached" : typeset(with_unit(number_or_nan(time), Unit::seconds)));
  }
  return text;
}

std::string head_of(const Columns& columns) {
  std::string text =
      "<tr><th>Algorithm</th><th>Simulated<br>(samples/s)</th><th>Place</th><th>Measured<br>(samples/s)</th>"
      "<th>Place</th>";
  const auto pair = [](const std::string& name) {
    return fmt::format("<th>{0},<br>simulated</th><th>{0},<br>measured</th>", name);
  };
  if (columns.speed_up) text += pair("Speed-up over bsp");
  if (columns.target) text += pair("Time to target accuracy");
  if (columns.target && columns.speed_up) text += pair("Speed-up to target");
  return text + "</tr>\n";
}

std::string group_table(const json& group) {
  const Columns columns = columns_of(group);
  std::string text = "<div class=\"scroll\"><table>\n" + head_of(columns);
  for (const auto& row : group.at("variants")) {
    const int simulated = row.at("simulated_place"), measured = row.at("measured_place");
    text +=
        fmt::format("<tr><td>{}</td>{}<td{}>{}</td>{}<td>{}</td>", escaped(row.at("name")),
                    cell(row.at("simulated_throughput")), simulated == measured ? "" : " class=\"beyond\"",
                    simulated, cell(row.at("measured_throughput")), measured);
    if (columns.speed_up) text += cells(row.at("speed_up"));
    if (columns.target) text += target_cells(row);
    if (columns.target && columns.speed_up) text += cells(row.at("target_speed_up"));
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

std::string groups_table(const json& groups) {
  std::string text =
      "<div class=\"scroll tall\"><table "
      "class=\"dense\">\n<thead><tr><th>Group</th><th>Configurations</th><th>Spearman</th>"
      "<th>Kendall</th><th class=\"words\">Simulator's favourite</th><th class=\"words\">Fastest "
      "measured</th><th>Its speed-up over "
      "bsp,<br>simulated</th><th>measured</th><th>Regret</th></tr></thead>\n";
  std::vector<const json*> by_regret;
  for (const auto& group : groups) by_regret.push_back(&group);
  std::stable_sort(by_regret.begin(), by_regret.end(), [](const json* a, const json* b) {
    return a->at("regret").get<double>() > b->at("regret").get<double>();
  });
  for (const json* by : by_regret) {
    const json& group = *by;
    const auto& variants = group.at("variants");
    const auto favourite =
        std::min_element(variants.begin(), variants.end(), [](const auto& a, const auto& b) {
          return a.at("simulated_place").template get<int>() < b.at("simulated_place").template get<int>();
        });
    text += fmt::format(
        "<tr><td>{}</td><td>{}</td>{}{}<td class=\"words\">{}</td><td "
        "class=\"words\">{}</td>{}<td{}>{}</td></tr>\n",
        escaped(group.at("name")), variants.size(), cell(group.at("spearman")), cell(group.at("kendall")),
        escaped(favourite->at("name")), escaped(variants.front().at("name")),
        cells(variants.front().at("speed_up")), group.at("same_best").get<bool>() ? "" : " class=\"beyond\"",
        typeset(percent(group.at("regret"))));
  }
  return text + "</table></div>\n";
}

/// Speed-ups of one group stand in its table.
std::string speed_up_note(const json& set) {
  if (set.at("groups").size() > 1) return speed_up_text(set);
  const Columns columns = columns_of(set.at("groups").front());
  if (!columns.speed_up) return speed_up_text(set);
  return columns.target ? "Time to the target accuracy leaves out what evaluating took." : "";
}

}  // namespace

std::string ranking(const json& document) {
  const json& set = document.at("sets").front();
  const auto& groups = set.at("groups");
  if (groups.empty()) return "";
  std::string text =
      fmt::format("<h2>Ranking by throughput</h2>\n<p class=\"lead\">{}</p>\n", escaped(ranking_text(set)));
  if (const auto note = speed_up_note(set); !note.empty())
    text += fmt::format("<p class=\"lead\">{}</p>\n", escaped(note));
  if (groups.size() == 1)
    return text + group_table(groups.front()) +
           fmt::format(
               "<div class=\"charts single\"><div class=\"chart\"><div style=\"height:{}px\"><canvas "
               "id=\"throughput\"></canvas></div></div></div>\n",
               70 + 42 * groups.front().at("variants").size());
  text += groups_table(groups);
  constexpr std::size_t most_tables = 24;
  if (groups.size() > most_tables) return text;
  text += "<details><summary>Every place in every group</summary>\n";
  for (const auto& group : groups)
    text += fmt::format("<h3>{}</h3>{}\n", escaped(group.at("name")), group_table(group));
  return text + "</details>\n";
}

}  // namespace tandem::validation::sections
