// The page on measured lifetimes of machines: survival curves with the fitted models, and tables.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tandem::validation {

/// `document`: the part of `tandem fit lifetimes --json` about lifetimes. In addition, each model has
/// `points`: pairs of an age in seconds and the share that is alive.
std::string lifetimes_html(const nlohmann::json& document);
/// Writes report.json, report.md and report.html. Errors: WorldError when a file cannot be written.
void write_lifetimes_report(const std::string& directory, const nlohmann::json& document);

}  // namespace tandem::validation
