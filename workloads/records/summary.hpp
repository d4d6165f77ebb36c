// summary.json: the figures of metrics.hpp and statistics of steps, as one document.
#pragma once

#include <nlohmann/json.hpp>

#include "workloads/records/result_directory.hpp"

namespace tandem {

/// Whether the step enters the statistics of steps: it is not one of its worker's first `warmup_steps`.
bool counts(const RunInfo& info, const StepRecord& step);

/// The content of summary.json. README.md in this folder explains each key.
nlohmann::json summarise(const RunInfo& info, const Journal& journal, Seconds makespan);

}  // namespace tandem
