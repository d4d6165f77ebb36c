// What `tandem plan` prints and writes of its result.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/plan_lattice.hpp"
#include "policies/money/ledger.hpp"
#include "policies/planning/choice.hpp"

namespace tandem::cli {

/// A configuration that was lived through, with fresh lives for these figures.
struct LivedConfiguration {
  std::size_t number = 0;  ///< among the configurations of the lattice
  planning::Figures figures{};
  // Means of the lives, in dollars.
  double workers_cost = 0.0;
  money::Uses<double> uses{};
  double departures = 0.0;  ///< mean
  int chosen_in = 0;        ///< of the resamples
};

/// What would change the choice.
struct Sensitivity {
  std::optional<double> dearer{};   ///< factor on the price of the chosen machines; none: none known
  std::optional<std::size_t> then;  ///< the configuration that is chosen then; none: no one
  // Up to which the chosen one meets the goal, and costs no more than one whose machines stay:
  std::optional<double> slower;   ///< factor on rounds
  std::optional<double> shorter;  ///< factor on the lives of machines
};

struct PlanResult {
  std::string name;
  planning::Goal goal;
  std::string goal_text;                    ///< as it was given; empty: none
  std::vector<LivedConfiguration> lived{};  ///< the chosen one first, then those that meet the goal by cost
  bool is_met = false;
  Sensitivity sensitivity{};
  int draws = 0, fresh = 0, resamples = 0;
  double priced_s = 0.0;  ///< real time
  std::size_t offers = 0;
  std::string folder{};
};

std::string plan_text(const Lattice& lattice, const PlanResult& result);
nlohmann::json plan_document(const Lattice& lattice, const PlanResult& result);
/// One row per configuration, and one per offer without.
std::string plan_csv(const Lattice& lattice, const PlanResult& result);

}  // namespace tandem::cli
