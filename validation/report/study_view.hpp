// Reading a study's document: the tables that its text, Markdown and HTML forms show alike.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tandem::validation {

/// Cells as texts; "-" for what is not known, and no column of nothing else. The first column names the row.
struct StudyTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// One row a configuration; what failed is left out.
StudyTable configurations_table(const nlohmann::json& document);
/// Where each line bends; no rows when there are no lines.
StudyTable knees_table(const nlohmann::json& document);
/// What was published beside ours; no rows when nothing was.
StudyTable published_table(const nlohmann::json& document);

/// How the knee is defined, in a sentence.
std::string knee_definition(const nlohmann::json& document);
/// What the columns of shares mean, in a sentence.
std::string shares_definition();
/// Whether anything was evaluated with real mathematics.
bool has_accuracy(const nlohmann::json& document);

}  // namespace tandem::validation
