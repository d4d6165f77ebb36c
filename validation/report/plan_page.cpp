#include "validation/report/plan_page.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "validation/page/pieces.hpp"
#include "validation/report/page.hpp"

namespace tandem::validation {
namespace {

/// The rows of the configurations from `begin` on, at most so many.
Table table_of_rows(const PlanPage& plan, std::size_t begin, std::size_t most) {
  constexpr std::array<std::string_view, 3> in_words = {"machines", "way", "lost by"};
  Table table;
  for (const auto& name : plan.columns)
    table.columns.push_back({name, std::ranges::find(in_words, name) != in_words.end()});
  for (std::size_t i = begin; i < std::min(plan.rows.size(), begin + most); ++i) {
    auto& cells = table.rows.emplace_back().cells;
    for (const auto& text : plan.rows[i]) {
      const bool is_choice = i == 0 && plan.is_met && cells.size() == 1;
      cells.emplace_back(text, is_choice ? Cell::Mark::best : Cell::Mark::none);
    }
  }
  return without_empty_columns(std::move(table));
}

Table table_of_texts(const std::vector<Column>& columns, const std::vector<PlanPage::Row>& rows) {
  Table table{.columns = columns};
  for (const auto& row : rows) {
    auto& cells = table.rows.emplace_back().cells;
    for (const auto& text : row) cells.emplace_back(text);
  }
  return table;
}

void add_changes(const PlanPage& plan, Page& page) {
  if (plan.changes.empty()) return;
  page.add(Heading{2, "What would change the choice"},
           table_of_texts({{"What", true}, {"Now"}, {"Until"}, {"Then", true}}, plan.changes),
           Note{"Each by itself. A price counts for every configuration of its offer; the fates of machines "
                "are those "
                "of the choice."});
}

Page page_of_plan(const PlanPage& plan) {
  Page page{.title = plan.title, .kind = "Tandem plan"};
  const std::size_t all = plan.rows.size();
  constexpr std::size_t height = 440, height_of_row = 34;
  page.add(
      AnswerBox{plan.question, plan.answer, plan.points}, Heading{2, "Cost against time"},
      Charts{{{"front", "Cost and time of one run of the job", height}}},
      Note{"Points are medians, bars reach from the 5th to the 95th percentile of lives of the job, and "
           "numbers are those of the table. The dashed curve is the front of them: no other one is both "
           "faster and cheaper. Grey points are estimates of configurations that were not lived through."},
      Heading{2, "Why the others lost"}, table_of_rows(plan, 0, plan.shown),
      Note{"Times and costs: median, and 5th to 95th percentile. P: share of the lives that meet the goal, "
           "and its 95 % interval."},
      Charts{{{"uses", "What the mean cost pays for", 70 + height_of_row * std::min(plan.shown, all)}}},
      Note{"Useful: work that the job keeps. Wasted: work that was lost, and what is billed beyond a stay. "
           "Waiting: for other machines, loading, commits."});
  add_changes(plan, page);
  if (all > plan.shown)
    page.add(
        Details{"More configurations that were lived through", {{table_of_rows(plan, plan.shown, all)}}});
  if (!plan.left_out.empty())
    page.add(Details{"Offers that were left out (table.csv names them)",
                     {{table_of_texts({{"Offers"}, {"Reason", true}}, plan.left_out)}}});
  page.add(Heading{2, "Notes"}, Bullets{plan.notes}, Heading{2, "Reproduce"}, Code{plan.command});
  return page;
}

}  // namespace

std::string plan_html(const PlanPage& plan) {
  nlohmann::json drawn = plan.drawn;
  drawn["shown"] = plan.shown;
  drawn["is_met"] = plan.is_met;
  return to_html(page_of_plan(plan), std::move(drawn), {pieces::plan});
}

}  // namespace tandem::validation
