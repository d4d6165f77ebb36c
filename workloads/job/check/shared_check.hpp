// What jobs that share their cache nodes and stores (data.shared) must agree on.
#pragma once

#include <vector>

#include "workloads/job/check/experiment_file.hpp"

namespace tandem {

/// Errors: ConfigError naming a job, the key, what it should be as another job has it, and what it is; also
/// for cache policies and ways to other nodes that know the lists of one job only.
void check_sharing(const std::vector<LocatedJob>& jobs);

}  // namespace tandem
