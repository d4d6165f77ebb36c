// A study for the terminal and as Markdown.
#include <fmt/format.h>

#include <algorithm>

#include "validation/report/report.hpp"
#include "validation/report/study.hpp"
#include "validation/report/study_view.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

/// Of UTF-8 text.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// Names to the left, figures to the right.
std::string plain(const StudyTable& table) {
  std::vector<std::size_t> widths;
  for (const auto& column : table.columns) widths.push_back(width_of(column));
  for (const auto& row : table.rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  std::string text;
  const auto add = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string gap(widths[i] - width_of(cells[i]), ' ');
      text += i == 0 ? cells[i] + gap : "  " + gap + cells[i];
    }
    text += '\n';
  };
  add(table.columns);
  for (const auto& row : table.rows) add(row);
  return text;
}

std::string in_markdown(const StudyTable& table) {
  std::string text = "|", rule = "|";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    text += " " + table.columns[i] + " |";
    rule += i == 0 ? " --- |" : " ---: |";
  }
  text += "\n" + rule + "\n";
  for (const auto& row : table.rows) {
    text += "|";
    for (const auto& cell : row) text += " " + cell + " |";
    text += '\n';
  }
  return text;
}

/// A terminal is too narrow for all columns.
StudyTable main_columns(StudyTable table) {
  const std::vector<std::string> kept = {"Configuration", "Workers",   "Throughput", "Speed-up",
                                         "Step time",     "Computing", "Exchange",   "Time to target"};
  for (std::size_t i = table.columns.size(); i-- > 0;) {
    if (std::find(kept.begin(), kept.end(), table.columns[i]) != kept.end()) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    table.columns.erase(table.columns.begin() + at);
    for (auto& row : table.rows) row.erase(row.begin() + at);
  }
  return table;
}

/// What was published, without its source.
StudyTable published_briefly(StudyTable table) {
  table.columns.pop_back();
  for (auto& row : table.rows) row.pop_back();
  return table;
}

}  // namespace

std::string study_table(const json& document) {
  std::string text = plain(main_columns(configurations_table(document)));
  if (const auto knees = knees_table(document); !knees.rows.empty()) text += "\n" + plain(knees);
  if (const auto published = published_table(document); !published.rows.empty())
    text += "\n" + plain(published_briefly(published));
  for (const auto& own : document.at("configurations"))
    if (const std::string failure = own.at("failure"); !failure.empty())
      text += fmt::format("\n{}: failed: {}\n", own.at("name").get<std::string>(), failure);
  return text;
}

std::string study_markdown(const json& document) {
  std::string page = fmt::format("# {}: a study\n\n", document.at("title").get<std::string>());
  if (const std::string about = document.at("about"); !about.empty()) page += about + "\n\n";
  for (const auto& own : document.at("configurations"))
    if (const std::string failure = own.at("failure"); !failure.empty())
      page += fmt::format("**{}: failed**\n\n```\n{}\n```\n\n", own.at("name").get<std::string>(), failure);
  if (const auto published = published_table(document); !published.rows.empty())
    page += "## Beside what was published\n\n" + in_markdown(published) + "\n";
  if (!document.at("notes").empty()) page += "## To judge the figures\n\n";
  for (const auto& note : document.at("notes")) page += "- " + note.get<std::string>() + "\n";
  if (!document.at("notes").empty()) page += "\n";
  if (const auto knees = knees_table(document); !knees.rows.empty())
    page += "## Where more workers stop to pay\n\n" + knee_definition(document) + "\n\n" +
            in_markdown(knees) + "\n";
  page +=
      "## Configurations\n\n" + shares_definition() + "\n\n" + in_markdown(configurations_table(document));
  page += "\n## Commands\n\n```\n";
  for (const auto& command : document.at("commands")) page += command.get<std::string>() + "\n";
  return page + "```\n";
}

void write_study(const std::string& directory, const json& document) {
  write_report_files(directory, document, study_markdown(document), study_html(document));
}

}  // namespace tandem::validation
