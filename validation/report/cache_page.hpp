// The page on replays of a trace on cache policies: a table, and miss ratios over the capacity.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tandem::validation {

/// `document`: what `tandem cache --json` prints. For a terminal.
std::string cache_table(const nlohmann::json& document);
/// Writes report.json, report.md and report.html. Errors: WorldError when a file cannot be written.
void write_cache_report(const std::string& directory, const nlohmann::json& document);

}  // namespace tandem::validation
