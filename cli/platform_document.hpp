// The platforms of a report's jobs as documents: hosts, links and routes, for its drawings.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tandem::cli {

/// For each platform file that the report's jobs name and that still exists, what platform_drawing() reads
/// (validation/report/platform_drawing.hpp), of the hosts with a rank. `report`: the document of a validation
/// or a study. Files that cannot be loaded, or that lack a host, are left out.
nlohmann::json platforms_of(const nlohmann::json& report);

/// The same of one file, without roles: its first hosts. Errors: ConfigError.
nlohmann::json platform_document(const std::string& path);

}  // namespace tandem::cli
