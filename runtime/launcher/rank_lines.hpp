// The lines by which a rank reports its failure, status and progress to the launcher. Standard library only.
#pragma once

#include <optional>
#include <string>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// Variable in the environment of every process of a job that `launch` has started. Without it no process
/// reads the lines of status and progress, and ranks print none.
inline constexpr const char* launch_variable = "TANDEM_LAUNCH";

struct RankFailure {
  Rank rank = -1;
  std::string host;
  std::string message;
};

/// "rank 3 on host lab2: disk full"; a line break in the message becomes the two characters \n.
std::string failure_line(const RankFailure& failure);
std::optional<RankFailure> parse_failure_line(const std::string& line);

/// "status: loading libtorch": the work of the ranks before their job begins.
std::string status_line(const std::string& text);
std::optional<std::string> parse_status_line(const std::string& line);

/// "progress 0.4200"; a fraction outside 0 to 1 becomes the nearer limit.
std::string progress_line(double fraction);
/// The same limits apply. Empty for a line of another form.
std::optional<double> parse_progress_line(const std::string& line);

}  // namespace tandem
