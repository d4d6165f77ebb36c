// The figures of a report as a table for other programs. Pure.
#pragma once

#include <string>

#include "validation/report/report.hpp"

namespace tandem::validation {

/// figures.csv, a line per figure of each configuration that was compared: configuration, job (of several; of
/// figures of all jobs, and where the configuration is one job, empty), figure (key), unit, simulated,
/// measured (mean over repetitions), error, noise_floor. Figures of single ranks are left out. With cache
/// nodes also where samples came from, as "cold.CLASS.samples", "warm.CLASS.bytes" and "...blocked_s",
/// measured in the first run. Empty: not known, or none.
std::string figures_csv(const Report& report);

}  // namespace tandem::validation
