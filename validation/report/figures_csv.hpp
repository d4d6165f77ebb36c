// The figures of a report as a table for other programs. Pure.
#pragma once

#include <string>

#include "validation/report/report.hpp"

namespace tandem::validation {

/// figures.csv, one line per figure of each configuration that was compared. Columns: configuration, job,
/// figure (key), unit, simulated, measured (mean over repetitions), error, noise_floor; empty: not known, or
/// none. The job is empty for a configuration with one job, and for figures of all jobs. Figures of single
/// ranks are left out. With cache nodes, lines such as "cold.CLASS.samples", "warm.CLASS.bytes" and
/// "...blocked_s" say where samples came from, measured in the first run.
std::string figures_csv(const Report& report);

}  // namespace tandem::validation
