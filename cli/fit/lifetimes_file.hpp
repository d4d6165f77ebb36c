// Reads a table of lifetimes (CSV with a header): how long machines that may be taken away lived, and why
// they ended.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "platforms/csv_table.hpp"
#include "policies/lifetimes/estimate/correlation.hpp"
#include "policies/lifetimes/estimate/survival.hpp"

namespace tandem::cli {

struct LifetimesFile {
  std::string path;
  std::vector<lifetimes::Observation> observations;  ///< seconds
  std::vector<bool> failed;         ///< by observation: the machine died, and the provider did not revoke it
  std::vector<std::size_t> groups;  ///< of machines that may die together; empty without the column `group`
  /// Seconds since 1970 (UTC); empty unless every row has `started` or `ended`.
  std::vector<lifetimes::Presence> times;
  bool is_on_clock = false;  ///< `times` are; those of events may count from any time instead

  /// Columns that divide the machines, and their texts by observation.
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> texts;
};

/// Numbers for texts, in the order of their first appearance.
class Numbering {
 public:
  std::size_t of(const std::string& text);

 private:
  std::map<std::string, std::size_t> numbers_;
};

/// Columns in any order: `cause` (revoked, failed, stopped, limit or alive), `duration` (seconds, or with a
/// unit) or `started` and `ended` (ISO 8601, UTC); optional: `observed_from` (an age), `alive_at` (the last
/// age at which a machine that departed was seen, if it departed at an unknown age up to `duration`),
/// `weight`, `group`. All other columns are texts that divide the machines. Deaths are those revoked or
/// failed. Errors: ConfigError naming file and line.
LifetimesFile read_lifetimes(CsvTable table);

}  // namespace tandem::cli
