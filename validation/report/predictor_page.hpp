// The page of a predictor of times that `tandem fit speed` or `tandem fit checkpoint` made.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tandem::validation {

/// What is on the page. Texts are as they are shown; times are in seconds.
struct PredictorPage {
  using Row = std::vector<std::string>;
  /// What the rows of a group with equal features took, and what a fit without the group says.
  struct Point {
    std::string device;
    std::string group;
    double measured_s = 0.0;
    double predicted_s = 0.0;
    double lower_s = 0.0;
    double upper_s = 0.0;
  };
  std::string title;
  std::string answer;
  std::vector<std::string> warnings = {};
  double confidence = 0.0;         ///< of the intervals, if there are groups enough
  std::vector<Point> points = {};  ///< of all devices
  std::vector<Row> devices = {};   ///< in the order of predictor_columns()
  std::vector<Row> forms = {};     ///< in the order of form_columns()
  std::vector<std::string> notes = {};
  std::string command;
};

const std::vector<std::string>& predictor_columns();
const std::vector<std::string>& form_columns();

/// One self-contained page.
std::string predictor_html(const PredictorPage& predictor);
/// Writes report.json (`document`), report.md and report.html. Errors: WorldError when a file cannot be
/// written.
void write_predictor_report(const std::string& directory, const PredictorPage& predictor,
                            const nlohmann::json& document);

}  // namespace tandem::validation
