// The page of a plan: cost against time of the configurations, why each lost, and what would change the
// choice.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/commands/plan_text.hpp"

namespace tandem::cli {

/// What validation::plan_html draws.
nlohmann::json plan_page_document(const planning::Lattice& lattice, const PlanResult& result);

}  // namespace tandem::cli
