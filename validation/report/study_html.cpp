// A study as one self-contained page. Tables are written here; charts are drawn by the page's script from the
// embedded data.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "validation/page/pieces.hpp"
#include "validation/report/html.hpp"
#include "validation/report/study.hpp"
#include "validation/report/study_view.hpp"

namespace tandem::validation {
namespace {

using html::escaped;
using html::typeset;
using nlohmann::json;

std::vector<const json*> those_that_worked(const json& document) {
  std::vector<const json*> worked;
  for (const auto& own : document.at("configurations"))
    if (own.at("failure") == "") worked.push_back(&own);
  return worked;
}

/// Text columns, which `words` names, to the left.
std::string table_html(const StudyTable& table, const std::set<std::string>& words = {}) {
  std::string text = "<div class=\"scroll\"><table class=\"dense\">\n<thead><tr>";
  const auto of_words = [&](std::size_t column) {
    return words.contains(table.columns[column]) ? " class=\"words name\"" : "";
  };
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    text += fmt::format("<th{}>{}</th>", of_words(i), escaped(table.columns[i]));
  text += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    text += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_figure = i > 0 && !words.contains(table.columns[i]);
      text += fmt::format("<td{}>{}</td>", of_words(i), is_figure ? typeset(row[i]) : escaped(row[i]));
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string chart(const std::string& id, const std::string& title, int height) {
  return fmt::format(
      "<div class=\"chart\"><h3>{}</h3><div id=\"{}-legend\" class=\"legend\"></div>"
      "<div style=\"height:{}px\"><canvas id=\"{}\"></canvas></div></div>\n",
      title, id, height, id);
}

/// A bar chart with a row each.
int height_of(std::size_t rows) { return 60 + 22 * static_cast<int>(std::max<std::size_t>(rows, 2)); }

std::string head(const json& document) {
  std::string text =
      fmt::format("<h1><small>Tandem study, simulated</small>{}</h1>\n", escaped(document.at("title")));
  if (const std::string about = document.at("about"); !about.empty())
    text += "<p>" + escaped(about) + "</p>\n";
  for (const auto& own : document.at("configurations"))
    if (const std::string failure = own.at("failure"); !failure.empty())
      text += fmt::format("<h3>{}: failed</h3><pre class=\"failed\">{}</pre>\n", escaped(own.at("name")),
                          escaped(failure));
  return text;
}

std::string published(const json& document) {
  const StudyTable table = published_table(document);
  if (table.rows.empty()) return "";
  const auto& rows = document.at("published");
  const auto gains = std::count_if(rows.begin(), rows.end(), [](const json& row) {
    return row.at("figure").get<std::string>().ends_with("speed_up") && row.at("ours").is_number();
  });
  std::string text = "<h2>Beside what was published</h2>\n";
  if (gains > 0)
    text +=
        "<div class=\"legend\"><span><i class=\"measured-box\"></i>published</span><span><i "
        "class=\"simulated-box\"></i>ours, simulated</span></div><div class=\"charts single\">\n" +
        chart("published", "Speed-ups", height_of(2 * static_cast<std::size_t>(gains))) + "</div>\n";
  return text + table_html(table, {"what", "Source"});
}

std::string notes(const json& document) {
  if (document.at("notes").empty()) return "";
  std::string text = "<h2>To judge the figures</h2>\n<ul>\n";
  for (const auto& note : document.at("notes")) text += "<li>" + escaped(note) + "</li>\n";
  return text + "</ul>\n";
}

std::string throughput(const json& document) {
  const std::size_t count = those_that_worked(document).size();
  if (document.at("lines").empty())
    return "<h2>Throughput</h2>\n<div class=\"charts single\">\n" +
           chart("throughput", "Samples a second, by configuration", height_of(count)) + "</div>\n";
  return "<h2>Where more workers stop to pay</h2>\n<p class=\"lead\">" + escaped(knee_definition(document)) +
         "</p>\n<div class=\"charts\">\n" +
         chart("line-throughput", "Throughput against workers; the knee is the large point", 380) +
         chart("line-efficiency", "Efficiency against workers", 380) + "</div>\n" +
         table_html(knees_table(document));
}

std::string accuracy(const json& document) {
  if (!has_accuracy(document)) return "";
  return "<h2>Accuracy</h2>\n<div id=\"accuracy-legend\" class=\"legend\"></div>\n<div class=\"charts\">\n"
         "<div class=\"chart\"><h3>Over simulated time</h3><div style=\"height:340px\"><canvas "
         "id=\"accuracy\"></canvas></div></div>\n<div class=\"chart\"><h3>Over samples</h3><div "
         "style=\"height:340px\"><canvas id=\"accuracy-samples\"></canvas></div></div>\n</div>\n";
}

std::string configurations(const json& document) {
  return "<h2>Configurations</h2>\n<p class=\"lead\">" + escaped(shares_definition()) +
         "</p>\n<div class=\"charts single\">\n" +
         chart("shares", "Where workers' time went", height_of(those_that_worked(document).size())) +
         "</div>\n" + table_html(configurations_table(document));
}

std::string environment(const json& document) {
  std::string text = "<h2>To repeat it</h2>\n<pre>";
  for (const auto& command : document.at("commands")) text += escaped(command) + "\n";
  text += "</pre>\n";
  std::set<std::string> told;
  for (const auto* own : those_that_worked(document)) {
    const json& of_run = own->at("environment");
    const std::filesystem::path platform(own->at("experiment").at("platform").get<std::string>());
    told.insert(fmt::format("{}: physics {}; versions {}", platform.filename().string(),
                            of_run.at("physics").dump(), of_run.at("versions").dump()));
  }
  text += "<ul class=\"remarks\">\n";
  for (const auto& line : told) text += "<li>" + escaped(line) + "</li>\n";
  return text + "</ul>\n";
}

/// What the script needs.
json page_data(const json& document) {
  json drawn = json::array();
  for (const auto* own : those_that_worked(document)) {
    json entry = json::object();
    for (const char* key : {"name", "workers", "throughput", "shares", "exchange_shares", "curve"})
      entry[key] = own->at(key);
    entry["target"] = own->at("experiment").at("target_accuracy");
    drawn.push_back(std::move(entry));
  }
  return {{"configurations", std::move(drawn)},
          {"lines", document.at("lines")},
          {"published", document.at("published")}};
}

std::string body(const json& document) {
  if (those_that_worked(document).empty()) return head(document) + notes(document);
  return head(document) + published(document) + notes(document) + throughput(document) + accuracy(document) +
         configurations(document) + environment(document);
}

}  // namespace

std::string study_html(const json& document) {
  const std::string title = document.at("title").get<std::string>() + ": a study";
  return html::fill(pieces::page, {{"title", escaped(title)},
                                   {"style", std::string(pieces::style)},
                                   {"body", body(document)},
                                   {"data", html::json_in_script(page_data(document))},
                                   {"chart_library", std::string(pieces::chart_library)},
                                   {"base", std::string(pieces::base)},
                                   {"scripts", html::script(pieces::study)}});
}

}  // namespace tandem::validation
