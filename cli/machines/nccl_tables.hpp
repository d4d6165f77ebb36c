// `tandem calibrate --from-nccl-tests`: all-reduce times of other programs in a calibration profile.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tandem::cli {

struct NcclTableOptions {
  std::vector<std::string> tables;
  std::optional<int> ranks;  ///< of all tables; none: as the tables say
  std::string into;          ///< a calibration profile; empty: a new one that has the tables alone
};

/// Writes the profile `into` with the all-reduces of the tables, instead of its own for as many ranks, to
/// `out`, which may be the same file. Prints them. Errors: ConfigError.
void write_nccl_tables(const NcclTableOptions& options, const std::string& out);

}  // namespace tandem::cli
