// Reports of how samples reached the workers of jobs with cache nodes: data and tables. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validation/report/page.hpp"
#include "validation/report/report.hpp"

namespace tandem::validation {

/// Limit of the epochs that a page draws; summary.json has all.
inline constexpr std::size_t most_epochs = 60;

/// The epochs that charts show of one run.
std::vector<DataEpoch> data_epochs(const DataFigures& data);

/// None for jobs without cache nodes.
std::optional<DataParts> data_of_result(const Summary& summary);
std::optional<Worlds<DataParts>> data_of_worlds(const Summary& simulated, const Summary& measured);

/// One row per configuration and part (cold, warm); empty: no configuration has cache nodes.
Table data_table(const Report& report);
/// One sentence for each reason why Belady's bound is not known.
std::vector<std::string> missing_optima(const Report& report);
/// One row per class and part, of a configuration.
Table classes_table(const Worlds<DataParts>& data);
/// The same of a single result.
Table classes_of_result(const DataParts& data);

/// A configuration of a study.
struct DataOfStudy {
  std::string name{};
  DataParts data{};
};
/// One row per configuration and part, with the share of the requests by class; empty: no configuration has
/// cache nodes.
Table classes_of_study(const std::vector<DataOfStudy>& configurations);

/// A section with data_table(); nothing without cache nodes.
void add_data(const Report& report, Page& page);

}  // namespace tandem::validation
