// Where the numbers of an answer come from, in words: measured, fitted, given or assumed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/shared/job_options.hpp"
#include "workloads/experiment/experiment.hpp"

namespace tandem::cli {

/// "101.8 ms".
std::string ms_text(double seconds);
/// "94 %".
std::string share_text(double share);

/// One line for each origin. `physics`: of the results of the job, or of several of its kind.
std::string origins_text(const JobOptions& job, const Experiment& experiment,
                         const std::vector<nlohmann::json>& physics);

}  // namespace tandem::cli
