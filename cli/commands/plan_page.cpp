#include "cli/commands/plan_page.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/shared/job_options.hpp"
#include "workloads/records/format.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;
using planning::Configuration;
using planning::Lattice;

/// Estimates are thousands: no point needs more digits.
double rounded(double value) { return std::stod(fmt::format("{:.4e}", value)); }

/// All configurations, as numbers: the offer and the way in these lists, machines, seconds, dollars.
json estimates_of(const Lattice& lattice) {
  std::map<const platforms::Offer*, std::size_t> numbers;
  json offers = json::array(), points = json::array();
  for (const Configuration& of : lattice.configurations()) {
    if (!of.ends) continue;
    const auto [known, is_new] = numbers.emplace(of.offer, offers.size());
    if (is_new) offers.push_back(of.offer->name());
    points.push_back({known->second, of.way, of.machines, rounded(of.expected.time.count()),
                      rounded(of.expected.cost.dollars())});
  }
  return {{"offers", std::move(offers)}, {"points", std::move(points)}};
}

/// What would change the choice, a row each: what, now, until, then.
std::vector<validation::PlanPage::Row> changes_of(const Lattice& lattice, const PlanResult& result) {
  const planning::Sensitivity& found = result.sensitivity;
  const Configuration& of = lattice.configurations()[result.lived.front().number];
  constexpr const char* missed = "the goal is missed, or machines that stay cost less";
  std::vector<validation::PlanPage::Row> rows;
  if (found.dearer) {
    const double price = of.offer->per_hour.dollars();
    std::string then = "the budget is exceeded";
    if (found.then) {
      const Configuration& next = lattice.configurations()[*found.then];
      then = machines_text(next) + ", " + way_text(lattice, next);
    }
    rows.push_back(
        {"price of a machine", fmt::format("${}/h", three_digits(price)),
         fmt::format("${}/h ({})", three_digits(price * *found.dearer), signed_percent(*found.dearer - 1.0)),
         then});
  }
  if (found.slower)
    rows.push_back(
        {"duration of a round", with_unit(of.round.count(), Unit::seconds),
         fmt::format("{} ({})", with_unit(of.round.count() * *found.slower, Unit::seconds, of.round.count()),
                     signed_percent(*found.slower - 1.0)),
         missed});
  if (found.shorter)
    rows.push_back({"lives of machines", "as assumed", signed_percent(*found.shorter - 1.0), missed});
  return rows;
}

std::string question_of(const Lattice& lattice, const PlanResult& result) {
  const std::string work = work_text(lattice, result);
  if (result.goal_text.empty()) return fmt::format("Which machines train {} at the least cost?", work);
  return fmt::format("Which machines train {} within {} at the least cost? Confidence: {:g}.", work,
                     result.goal_text, result.goal.confidence);
}

}  // namespace

validation::PlanPage page_of(const Lattice& lattice, const PlanResult& result) {
  const auto rows = plan_rows(lattice, result, result.lived.size());
  const auto& best = rows[1];
  validation::PlanPage page{
      .title = result.name,
      .question = question_of(lattice, result),
      .answer = fmt::format("{}{}, {}: {} h and ${}, median and 90 % of the lives",
                            result.is_met ? "" : "None; the nearest: ", best[1], best[2], best[4], best[5]),
      .points = plan_facts(lattice, result),
      .is_met = result.is_met,
      .columns = rows.front(),
      .rows = {rows.begin() + 1, rows.end()},
      .shown = planning::fine_rows,
      .changes = changes_of(lattice, result),
      .notes = plan_work(lattice, result),
      .command = command_line()};
  for (const auto& [why, count] : reasons_of_excluded(lattice))
    page.left_out.push_back({std::to_string(count), why});
  for (auto& text : plan_assumptions(lattice, result)) page.notes.push_back(std::move(text));
  json ways = json::array(), goal = json::object();
  for (std::size_t way = 0; way < lattice.ways().size(); ++way)
    ways.push_back(way_text(lattice, {.way = way}));
  if (result.goal.deadline) goal["deadline_s"] = result.goal.deadline->count();
  if (result.goal.budget) goal["budget"] = result.goal.budget->dollars();
  page.drawn = {{"ways", std::move(ways)},
                {"goal", std::move(goal)},
                {"estimates", estimates_of(lattice)},
                {"results", plan_document(lattice, result).at("rows")}};
  return page;
}

}  // namespace tandem::cli
