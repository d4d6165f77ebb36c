// The unit of time in the name of a column.
#pragma once

#include <optional>
#include <string>

namespace tandem::cli {

struct ColumnUnit {
  std::string name;      ///< "ms"; empty: the name states none
  double of_s = 1.0;     ///< seconds
  bool is_rate = false;  ///< values are per unit, such as steps per second
};

/// "Step Time (ms)", "step_ms", "ms/step" and "Speed (steps/min)" state a unit. Values are rates per second
/// where the name only has "speed". None: brackets at the end hold no unit of time; a speed has a unit of
/// times; or the name ends in "_min", which may be the least one or minutes.
std::optional<ColumnUnit> unit_of_column(const std::string& column);

/// The values count steps, not other things, and are no deviations of those: "speed", "Steps/sec",
/// "step_time". `unit`: the column's.
bool is_of_steps(const std::string& column, const ColumnUnit& unit);

}  // namespace tandem::cli
