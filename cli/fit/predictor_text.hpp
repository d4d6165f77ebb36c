// Predictors of times, as printed, as files and as pages.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/fit/steps_table.hpp"
#include "policies/estimates/group_folds.hpp"
#include "validation/report/predictor_page.hpp"

namespace tandem::cli {

/// The forms with their errors, what was chosen, floors, and how far the intervals reach.
std::string evaluation_text(const DeviceReadings& rows, const estimates::Evaluation& found,
                            double confidence);

/// What the errors say against using the predictor: leaks, unknown floors, intervals that cannot be computed.
std::vector<std::string> evaluation_warnings(const estimates::Evaluation& found, double confidence);

/// The predictor of a device: what it knows (precision, batch, ranges of features), the forms, the chosen one
/// with its coefficients, and the fits without a group that its intervals need.
nlohmann::json predictor_document(const std::vector<std::string>& features, const DeviceReadings& rows,
                                  const estimates::Evaluation& found);

/// Adds the points of a device, its row and those of its forms. `device`: empty if the table has none.
void add_device(validation::PredictorPage& page, const std::string& device, const DeviceReadings& rows,
                const estimates::Evaluation& found);

}  // namespace tandem::cli
