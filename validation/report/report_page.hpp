// The report of a validation for people: a table for the terminal, a Markdown page and an HTML page, all
// made from report.json alone.
#pragma once

#include <string>

#include "validation/report/report.hpp"

namespace tandem::validation {

/// For a terminal: step time and phases (of few configurations), errors over configurations, then the
/// verdict.
std::string summary_table(const Report& report);
std::string report_markdown(const Report& report);
/// One self-contained page.
std::string report_html(const Report& report);

/// Writes report.json, report.md and report.html. Errors: WorldError when a file cannot be written.
void write_report(const std::string& directory, const Report& report);

}  // namespace tandem::validation
