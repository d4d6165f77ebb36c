// `tandem fit speed` and `tandem fit checkpoint`: predictors of times from tables of networks that were
// measured.
#pragma once

#include <string>

#include "cli/fit/steps_table.hpp"

namespace tandem::cli {

struct PredictorFitOptions {
  std::string subject;  ///< "speed" or "checkpoint", for the file
  StepsTableOptions table;
  std::string asked;   ///< table of rows whose times are asked for; empty: none
  std::string out;     ///< file of the predictor; empty: none
  std::string report;  ///< folder of the page; empty: none
  double confidence = 0.9;
};

/// Prints the forms with their errors for each device, and the times that are asked for; writes the page. A
/// row with a device or precision that is not in the table, or a batch or feature outside what was seen, gets
/// none, and says why. Errors: ConfigError with file and line, WorldError.
void fit_predictor(const PredictorFitOptions& options);

}  // namespace tandem::cli
