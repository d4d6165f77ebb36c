// A finished run in a few words, for the terminal.
#pragma once

#include <string>

#include "workloads/records/result_directory.hpp"

namespace tandem::cli {

/// "lab/asp simulated: 20 rounds, 2560 samples in 5 s (512 samples/s) ...", lines about where the time of
/// workers went, staleness, local steps and a target accuracy, and at last the directory.
/// `is_answered`: an answer follows, which says what a slow-down of kernels would change.
std::string results_line(const Results& results, bool is_answered = false);

/// Prints these lines for the result directory, or with --json {"directory", "summary": summary.json}.
void print_results(const std::string& directory, bool is_answered = false);

}  // namespace tandem::cli
