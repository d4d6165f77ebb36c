// What a job has cost: the stays of its machines, as they were recorded, with what their providers bill. The
// same for simulations and measurements. Pure.
#pragma once

#include <optional>
#include <string>

#include "policies/money/ledger.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem {

/// One entry for each stay of a machine that has a price. A worker's machine is useful during the steps that
/// the job has kept, any other one while a worker does such a step.
money::Ledger ledger_of(const RunInfo& info, const Journal& journal, Seconds makespan);

/// None: no machine of the job has a price.
std::optional<CostSummary> cost_of(const RunInfo& info, const money::Ledger& ledger);

/// One row for each entry. Amounts in dollars.
std::string cost_csv(const money::Ledger& ledger);

}  // namespace tandem
