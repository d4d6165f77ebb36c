// The platforms of a report's jobs as drawings.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tandem::cli {

/// For each platform file that the report's jobs name and that still exists, a drawing
/// (validation/report/platform_drawing.hpp) of the hosts with a rank, of 128 at most: some with other ranks
/// than workers, the slowest ones, and those with the slowest connections come first, others are at equal
/// distances in the list. `report`: the document of a validation or a study. Files that cannot be loaded, or
/// that lack a host, are left out.
nlohmann::json drawings_of(const nlohmann::json& report);

/// The same of one file, of all hosts, without roles. Errors: ConfigError.
nlohmann::json drawing_of(const std::string& path);

}  // namespace tandem::cli
