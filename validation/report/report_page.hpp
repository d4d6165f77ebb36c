// The report of a validation for people: a table for the terminal, a Markdown page and an HTML page, all made
// from nothing but the report's document.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tandem::validation {

/// For a terminal: step time and phases (of few configurations), errors over configurations, then the
/// verdict.
std::string summary_table(const nlohmann::json& document);
std::string report_markdown(const nlohmann::json& document);
/// One self-contained page.
std::string report_html(const nlohmann::json& document);

/// Writes report.json, report.md and report.html. Errors: WorldError when a file cannot be written.
void write_report(const std::string& directory, const nlohmann::json& document);

}  // namespace tandem::validation
