#include "validation/report/plan_page.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "validation/page/pieces.hpp"
#include "validation/report/page.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

using Texts = std::vector<std::string>;

/// The rows of the configurations from `begin` on, at most so many.
Table table_of_rows(const json& document, std::size_t begin, std::size_t most) {
  constexpr std::array<std::string_view, 3> in_words = {"machines", "way", "lost by"};
  Table table;
  for (const auto& name : document.at("columns").get<Texts>())
    table.columns.push_back({name, std::ranges::find(in_words, name) != in_words.end()});
  const auto& rows = document.at("table");
  for (std::size_t i = begin; i < std::min(rows.size(), begin + most); ++i) {
    auto& cells = table.rows.emplace_back().cells;
    for (const auto& text : rows[i].get<Texts>()) {
      const bool is_choice = i == 0 && document.at("is_met") && cells.size() == 1;
      cells.emplace_back(text, is_choice ? Cell::Mark::best : Cell::Mark::none);
    }
  }
  return without_empty_columns(std::move(table));
}

Table table_of_texts(const std::vector<Column>& columns, const json& rows) {
  Table table{.columns = columns};
  for (const auto& row : rows) {
    auto& cells = table.rows.emplace_back().cells;
    for (const auto& text : row.get<Texts>()) cells.emplace_back(text);
  }
  return table;
}

void add_changes(const json& document, Page& page) {
  if (document.at("changes").empty()) return;
  page.add(Heading{2, "What would change the choice"},
           table_of_texts({{"What", true}, {"Now"}, {"Until"}, {"Then", true}}, document.at("changes")),
           Note{"Each by itself. A price counts for every configuration of its offer; the fates of machines "
                "are those "
                "of the choice."});
}

Page page_of_plan(const json& document) {
  Page page{.title = document.at("title"), .kind = "Tandem plan"};
  const std::size_t shown = document.at("shown"), all = document.at("table").size();
  constexpr std::size_t height = 440, height_of_row = 34;
  page.add(
      AnswerBox{document.at("question"), document.at("answer"), document.at("points").get<Texts>()},
      Heading{2, "Cost against time"}, Charts{{{"front", "Cost and time of one run of the job", height}}},
      Note{"Points are medians, bars reach from the 5th to the 95th percentile of lives of the job, and "
           "numbers are those of the table. The dashed curve is the front of them: no other one is both "
           "faster and cheaper. Grey points are estimates of configurations that were not lived through."},
      Heading{2, "Why the others lost"}, table_of_rows(document, 0, shown),
      Note{"Times and costs: median, and 5th to 95th percentile. P: share of the lives that meet the goal, "
           "and its 95 % interval."},
      Charts{{{"uses", "What the mean cost pays for", 70 + height_of_row * std::min(shown, all)}}},
      Note{"Useful: work that the job keeps. Wasted: work that was lost, and what is billed beyond a stay. "
           "Waiting: for other machines, loading, commits."});
  add_changes(document, page);
  if (all > shown)
    page.add(Details{"More configurations that were lived through", {{table_of_rows(document, shown, all)}}});
  if (!document.at("left_out").empty())
    page.add(Details{"Offers that were left out (table.csv names them)",
                     {{table_of_texts({{"Offers"}, {"Reason", true}}, document.at("left_out"))}}});
  Texts notes = document.at("work").get<Texts>();
  for (const auto& text : document.at("assumptions").get<Texts>()) notes.push_back(text);
  page.add(Heading{2, "Notes"}, Bullets{std::move(notes)}, Heading{2, "Reproduce"},
           Code{document.at("command")});
  return page;
}

}  // namespace

std::string plan_html(const json& document) {
  return to_html(page_of_plan(document), document, {pieces::plan});
}

}  // namespace tandem::validation
