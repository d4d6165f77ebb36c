// The page of `tandem predict` on how the speed of a job grows with its number of workers.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tandem::validation {

/// What is on the page. Texts are as they are shown; speeds are in samples per second, of all workers.
struct ScalingPage {
  struct Point {
    int workers = 0;
    double speed = 0.0;
    double slowest = 0.0;  ///< the closed form allows speeds between these two
    double fastest = 0.0;
    // What the job would reach if nothing else limited it; none: no limit.
    std::optional<double> by_workers = {};
    std::optional<double> by_servers = {};
    std::optional<double> by_network = {};
    std::string binds = {};  ///< the lowest limit
  };
  std::string title;
  std::vector<Point> points = {};        ///< by the number of workers; at least one
  std::vector<std::string> advice = {};  ///< below the answer
  std::vector<std::string> notes = {};
  std::string command;
};

/// knee_of() with half of a proportional gain. Pre: points by the number of workers.
std::optional<int> last_that_pays(const std::vector<ScalingPage::Point>& points);

/// One self-contained page.
std::string scaling_html(const ScalingPage& scaling);
/// Writes report.json (the points), report.md and report.html. Errors: WorldError when a file cannot be
/// written.
void write_scaling_report(const std::string& directory, const ScalingPage& scaling);

}  // namespace tandem::validation
