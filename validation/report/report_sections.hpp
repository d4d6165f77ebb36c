// Parts of the report's page: each makes HTML of the document, charts being empty canvases that the page's
// script fills.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tandem::validation::sections {

/// What failed and what must be known to judge the figures.
std::string caveats(const nlohmann::json& document);
/// Errors over configurations, a table a set.
std::string errors(const nlohmann::json& document);
std::string phases_and_hosts(const nlohmann::json& document);
std::string ranking(const nlohmann::json& document);
/// The part that shows one chosen configuration.
std::string explorer(const nlohmann::json& document);
/// A table with a row a configuration, and all figures of those with details.
std::string configurations(const nlohmann::json& document);
std::string environment(const nlohmann::json& document);

}  // namespace tandem::validation::sections
