// What jobs that share their cache nodes and stores (data.shared) must agree on.
#pragma once

#include <vector>

#include "workloads/job/check/experiment_file.hpp"

namespace tandem {

/// Errors: ConfigError naming a job, the key, its value in another job, and its value in this one; also for
/// cache policies and ways to other nodes that know the lists of one job only.
void check_sharing(const std::vector<LocatedJob>& jobs);

}  // namespace tandem
