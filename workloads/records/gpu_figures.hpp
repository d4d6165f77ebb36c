// Figures from the records of GPUs: clocks, power, memory, and whether a GPU was throttled. Pure.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "workloads/records/result_directory.hpp"

namespace tandem {

/// A reason why the clock of a GPU is not higher.
struct GpuLimit {
  const char* word;     ///< in GpuRecord::limits, where spaces separate words
  const char* meaning;  ///< in messages
  bool throttles;       ///< the GPU computes, and more slowly than its settings allow
};
inline constexpr std::array<GpuLimit, 7> gpu_limits = {{
    {"idle", "nothing to compute", false},
    {"settings", "clocks that were set", false},
    {"unknown", "not known", false},
    {"power", "power limit", true},
    {"thermal", "temperature", true},
    {"brake", "power supply", true},
    {"hardware", "protection of the hardware", true},
}};

/// `gpus` of summary.json: for each rank with samples, the figures over the samples at which its GPU was not
/// idle (over all of them if it was always idle).
std::vector<GpuSummary> gpu_figures(const RunInfo& info, const Journal& journal);

/// One sentence for each rank whose GPU was throttled at a sample: how often, why, and at which clocks.
std::vector<std::string> throttled_gpus(const RunInfo& info, const Journal& journal);

}  // namespace tandem
