// Whether cache nodes can ask each other as an experiment says.
#pragma once

#include "workloads/job/experiment_check.hpp"

namespace tandem {

/// Errors: ConfigError naming data.cache, data.peers or data.copies.
void check_peers(const Experiment& experiment, const Locate& locate);

}  // namespace tandem
