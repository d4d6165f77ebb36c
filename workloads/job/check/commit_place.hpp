// Where commits can be (checkpoint.to), for jobs on several machines.
#pragma once

#include "workloads/experiment/experiment.hpp"

namespace tandem {

/// A folder for each host needs all hosts on one machine. Errors: ConfigError.
void expect_commits_for_machines(const Experiment& experiment);

}  // namespace tandem
