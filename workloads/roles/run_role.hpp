// Starts the role of a rank. The same function in both worlds.
#pragma once

#include "workloads/context.hpp"
#include "workloads/job/job.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

/// Runs the rank's role to its end.
void run_role(const Job& job, Context& context, Journal& journal);

}  // namespace tandem
