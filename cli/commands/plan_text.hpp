// What `tandem plan` prints and writes of its result.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "policies/planning/choice.hpp"
#include "workloads/planning/lattice.hpp"
#include "workloads/planning/lives.hpp"

namespace tandem::cli {

struct PlanResult {
  std::string name;
  planning::Goal goal;
  std::string goal_text;           ///< as it was given; empty: none
  std::optional<double> target{};  ///< accuracy until which is trained; none: the samples of the experiment
  std::size_t curves = 0;          ///< that say how many samples that takes
  std::vector<planning::LivedConfiguration>
      lived{};  ///< the chosen one first, then those that meet the goal by cost
  bool is_met = false;
  planning::Sensitivity sensitivity{};
  int draws = 0, resamples = 0;
  double priced_s = 0.0;  ///< real time
  std::size_t offers = 0;
  std::string folder{};
};

/// "16 x azure/westus3/Standard_NC4as_T4_v3/spot", and the name of its way to exchange.
std::string machines_text(const planning::Configuration& of);
std::string way_text(const planning::Lattice& lattice, const planning::Configuration& of);

/// "2,562,334 samples", or "until accuracy 0.9 (samples as in 5 trained jobs)": how much is trained.
std::string work_text(const planning::Lattice& lattice, const PlanResult& result);

/// The table of those that were lived through, at most so many. The first row has the names of the columns,
/// and the last column says why a configuration lost.
std::vector<std::vector<std::string>> plan_rows(const planning::Lattice& lattice, const PlanResult& result,
                                                std::size_t most);
/// Why offers were left out, with their numbers.
std::map<std::string, int> reasons_of_excluded(const planning::Lattice& lattice);

// Sentences: what was planned and searched; what the choice costs, what limits it and what would change it;
// on what the figures rest.
std::vector<std::string> plan_work(const planning::Lattice& lattice, const PlanResult& result);
std::vector<std::string> plan_facts(const planning::Lattice& lattice, const PlanResult& result);
std::vector<std::string> plan_assumptions(const planning::Lattice& lattice, const PlanResult& result);

std::string plan_text(const planning::Lattice& lattice, const PlanResult& result);
nlohmann::json plan_document(const planning::Lattice& lattice, const PlanResult& result);
/// One row per configuration, and one per offer without.
std::string plan_csv(const planning::Lattice& lattice, const PlanResult& result);

}  // namespace tandem::cli
