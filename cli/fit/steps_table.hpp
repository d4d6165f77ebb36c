// Tables of measured times with the features that explain them, for `tandem fit speed` and `checkpoint`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/fit/column_unit.hpp"
#include "policies/estimates/group_folds.hpp"

namespace tandem::cli {

struct StepsTableOptions {
  std::string file;
  std::string target;              ///< column of times or of rates: see unit_of_column()
  std::string group;               ///< column: what is predicted without having been seen
  std::string device;              ///< column; empty: all rows are of one device
  std::string features;            ///< names, separated by commas; empty: the usual ones that the table has
  std::vector<std::string> usual;  ///< columns, as `tandem show MODEL --json` names them
  bool are_of_steps = true;        ///< layers explain the times
};

/// The rows of one device.
struct DeviceReadings {
  std::string precision;                   ///< of the column `precision`; empty: not known
  double least_batch = 0, most_batch = 0;  ///< of the column `batch`; 0: not known
  std::vector<estimates::Reading> readings;
};

struct StepsTable {
  ColumnUnit unit;  ///< of the target
  std::vector<std::string> features;
  bool are_of_models = false;  ///< computed from the column `model`: the table has no columns of features
  bool has_layers = false;     ///< computed, too
  std::map<std::string, DeviceReadings> devices;  ///< by name; of a table without devices: ""
  std::vector<std::string> notes;                 ///< where features come from, and which were left out
};

/// Rows that a predictor is asked about.
struct AskedRow {
  std::string place;  ///< "FILE:LINE"
  std::string device;
  std::string precision;        ///< of the column `precision`; empty: not stated
  std::optional<double> batch;  ///< of the column `batch`; none: not stated
  estimates::FormInput input;
};

/// The column `run`, if there is one, tells runs of one group apart. Without columns of features they are
/// those of the models of the catalogue in the column `model`, for their usual images, with flops and bytes
/// times the column `batch` if there is one; the layers of these models are known, too, unless `features`
/// names some. Errors: ConfigError with file and line for missing columns; times that are not above 0;
/// features that are missing, not finite or the same in all rows;
/// units that disagree: of the target and its name, of the times of steps and a column of their rates, or of
/// one feature of a group; a device with fewer than three groups, with two precisions, or with several
/// batches where `batch` is not a feature.
StepsTable read_steps_table(const StepsTableOptions& options);

/// Rows with the features of the table; `device`: a column, or empty. Errors: ConfigError as above.
std::vector<AskedRow> read_asked_rows(const std::string& file, const StepsTable& of,
                                      const std::string& device);

}  // namespace tandem::cli
