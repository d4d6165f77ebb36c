// The steps of both worlds over time as generated SVG. Reads the report's document only.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tandem::validation {

/// Colour of each phase, as HTML.
std::string phase_legend(const nlohmann::json& phases);
/// `timeline` as in report.json; two rows a rank, simulated above measured, and an axis of time.
std::string timeline(const nlohmann::json& timeline, const nlohmann::json& phases);

}  // namespace tandem::validation
