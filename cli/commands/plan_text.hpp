// What `tandem plan` prints and writes of its result.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "policies/planning/choice.hpp"
#include "workloads/planning/lattice.hpp"
#include "workloads/planning/lives.hpp"

namespace tandem::cli {

struct PlanResult {
  std::string name;
  planning::Goal goal;
  std::string goal_text;  ///< as it was given; empty: none
  std::vector<planning::LivedConfiguration>
      lived{};  ///< the chosen one first, then those that meet the goal by cost
  bool is_met = false;
  planning::Sensitivity sensitivity{};
  int draws = 0, resamples = 0;
  double priced_s = 0.0;  ///< real time
  std::size_t offers = 0;
  std::string folder{};
};

std::string plan_text(const planning::Lattice& lattice, const PlanResult& result);
nlohmann::json plan_document(const planning::Lattice& lattice, const PlanResult& result);
/// One row per configuration, and one per offer without.
std::string plan_csv(const planning::Lattice& lattice, const PlanResult& result);

}  // namespace tandem::cli
