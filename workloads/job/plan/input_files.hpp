// The files that the ranks of a job read, each on its own machine.
#pragma once

#include <string>
#include <vector>

#include "workloads/job/plan/job.hpp"

namespace tandem {

/// Absolute paths: of the data set, recorded losses, the model's file and the model to start from.
std::vector<std::string> input_files(const Job& job);

}  // namespace tandem
