// The page of a plan: cost against time of the configurations, why each lost, and what would change the
// choice.
#pragma once

#include "cli/commands/plan_text.hpp"
#include "validation/report/plan_page.hpp"

namespace tandem::cli {

validation::PlanPage page_of(const planning::Lattice& lattice, const PlanResult& result);

}  // namespace tandem::cli
