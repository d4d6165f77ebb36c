// `tandem fit collectives`: the links and the schedule behind measured all-reduces.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::cli {

struct CollectivesFitOptions {
  std::vector<std::string> tables;
  std::optional<int> ranks;  ///< of tables of nccl-tests that do not say
  Bytes least{0};            ///< smaller all-reduces are left out
  double confidence = 0.95;
};

/// Reads tables that nccl-tests prints, and CSV files (name *.csv) with the columns ranks, bytes and time
/// (seconds, or with a unit). Prints the schedule of the catalogue with the least errors, what its messages
/// cost, and each row's error. Errors: ConfigError with file and line.
void fit_collectives(const CollectivesFitOptions& options);

}  // namespace tandem::cli
