// All-reduce times from the tables that nccl-tests (all_reduce_perf) prints.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workloads/cost/profile.hpp"

namespace tandem {

/// The all-reduces of a table, by size: the times in place, as jobs sum, or out of place without those.
/// `ranks`: empty: as many as the lines "# Rank ..." name. Further concurrent all-reduces take as long as the
/// first, because the table has them alone. Errors: ConfigError with file and line, also when the bandwidths
/// are not those of all-reduces among that many ranks: busbw = algbw * 2 (n - 1) / n.
std::vector<Profile::AllReduceEntry> read_nccl_table(const std::string& path, std::optional<int> ranks = {});

}  // namespace tandem
