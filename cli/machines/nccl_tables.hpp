// `tandem calibrate --from-nccl-tests`: all-reduce times of other programs in a calibration profile.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tandem::cli {

struct NcclTableOptions {
  std::vector<std::string> tables;
  std::optional<int> ranks;  ///< of all tables; none: the number in each table
  std::string into;          ///< a calibration profile; empty: a new one with the tables alone
};

/// Replaces all-reduces of the profile `into` by those of the tables for the same number of ranks, and
/// writes the profile to `out`, which may be the same file. Prints the all-reduces. Errors: ConfigError.
void write_nccl_tables(const NcclTableOptions& options, const std::string& out);

}  // namespace tandem::cli
