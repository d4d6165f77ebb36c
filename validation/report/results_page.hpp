// A page with all result directories below a folder: one table, and a comparison of two of them. Made from
// summary.json and run.json of each, and from all records where machines may depart.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "validation/report/members.hpp"
#include "validation/report/study.hpp"

namespace tandem::validation {

/// One result. None: not known.
struct ResultRow {
  std::string path{};  ///< relative to the folder
  std::string world{}, started{}, name{}, model{}, dataset{};
  std::string report{};  ///< path of the report of a folder above it; empty: none
  StudyResult figures{};
  std::optional<double> local_steps{}, staleness{};  ///< means
  std::optional<MembersOfResult> members{};          ///< none: no machine may depart
  std::optional<std::vector<DataEpoch>> data_epochs{};
  std::vector<LaunchRecord> generations{};
  std::optional<std::int64_t> departures{}, lost_samples{};
};

struct ResultsList {
  std::string folder{};
  std::vector<ResultRow> results{};    ///< by path
  std::vector<std::string> skipped{};  ///< others, with the reason why they are not shown
};
nlohmann::json to_json(const ResultsList& list);

/// All results in `folder` and below. Directories whose job has not ended, or that cannot be read, are
/// skipped, with the reason. Errors: ConfigError when the folder does not exist or has no result that can be
/// read.
ResultsList list_results(const std::string& folder);

/// For a terminal: one row per result.
std::string results_table(const ResultsList& list);
/// One self-contained page, to be written into the folder of the results: its links are relative.
std::string results_html(const ResultsList& list);

}  // namespace tandem::validation
