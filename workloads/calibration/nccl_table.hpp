// All-reduce times from the tables that nccl-tests (all_reduce_perf) prints.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workloads/cost/profile.hpp"

namespace tandem {

/// The all-reduces of a table, by size: the times in place, as in jobs, or out of place if there are no
/// others. `ranks`: empty: the number of lines "# Rank ...". The table has each all-reduce alone, so
/// concurrent ones get the same time. Errors: ConfigError with file and line, also when the bandwidths are
/// not those of all-reduces among that many ranks: busbw = algbw * 2 (n - 1) / n.
std::vector<Profile::AllReduceEntry> read_nccl_table(const std::string& path, std::optional<int> ranks = {});

}  // namespace tandem
