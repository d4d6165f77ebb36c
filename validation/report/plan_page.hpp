// The page of a plan that `tandem plan` made.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tandem::validation {

/// What is on the page. Texts are as they are shown.
struct PlanPage {
  using Row = std::vector<std::string>;
  std::string title;
  std::string question;
  std::string answer;
  std::vector<std::string> points = {};
  bool is_met = false;  ///< the goal, by the first of `rows`
  Row columns = {};
  std::vector<Row> rows = {};      ///< the configurations that were lived through, the chosen one first
  std::size_t shown = 0;           ///< of `rows`; the others are folded
  std::vector<Row> changes = {};   ///< of the choice: what, now, until, then
  std::vector<Row> left_out = {};  ///< numbers of offers with the reason
  std::vector<std::string> notes = {};
  std::string command;
  /// What the script draws, in addition to `shown` and `is_met`: `results`, `estimates`, `goal` and `ways`.
  nlohmann::json drawn = {};
};

/// One self-contained page.
std::string plan_html(const PlanPage& plan);

}  // namespace tandem::validation
