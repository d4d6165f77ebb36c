// A finished run in a few words, for the terminal.
#pragma once

#include <string>

#include "workloads/records/result_directory.hpp"

namespace tandem::cli {

/// "lab/asp simulated: 512 samples/s, step 124 ms, ... \n  results/lab/asp/simulated\n".
std::string results_line(const Results& results);

}  // namespace tandem::cli
