// Numbers that were fitted to a table, in words and as a document.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "policies/estimates/positive_fit.hpp"

namespace tandem::cli {

/// A row of the table, for people.
struct FittedRow {
  std::string name;
  std::string place;
  double measured_s;
};

/// The rows with their errors, the numbers, and how the search went. Pre: a row for each predicted time.
std::string estimates_text(const estimates::PositiveFit& fit, const std::vector<FittedRow>& rows);
nlohmann::json estimates_document(const estimates::PositiveFit& fit, const std::vector<FittedRow>& rows);
/// "the table does not determine X and Y", and which rows are far off.
std::vector<std::string> estimates_warnings(const estimates::PositiveFit& fit,
                                            const std::vector<FittedRow>& rows);

}  // namespace tandem::cli
