// A finished run in a few words, for the terminal.
#pragma once

#include <optional>
#include <string>

#include "validation/compare/bills.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {

/// "lab/asp simulated: 20 rounds, 2560 samples in 5 s (512 samples/s) ...", lines about where the time of
/// workers went, staleness, local steps and a target accuracy, and at last the directory.
/// `is_answered`: an answer follows, which says what a slow-down of kernels would change. `forecast`: of the
/// plan that wrote the job; it follows the cost.
std::string results_line(const Results& results, bool is_answered = false,
                         const std::optional<validation::Forecast>& forecast = std::nullopt);

/// Prints these lines for the result directory, or with --json {"directory", "summary": summary.json}, and
/// with a forecast also "forecast".
void print_results(const std::string& directory, bool is_answered = false,
                   const std::optional<validation::Forecast>& forecast = std::nullopt);

}  // namespace tandem::cli
