// Where commits can be (checkpoint.to), for jobs on several machines.
#pragma once

#include "workloads/experiment/experiment.hpp"

namespace tandem {

/// Only one machine has a folder for each host. Errors: ConfigError.
void expect_commits_for_machines(const Experiment& experiment);

}  // namespace tandem
