// The page of a job that `tandem import` read from a trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tandem::validation {

/// What is on the page. Texts are as they are shown.
struct TracedPage {
  struct Bucket {
    std::int64_t elements = 0;
    std::int64_t bytes = 0;
    std::string ready;
    std::string launched;  ///< "-": the job is not launch-bound
  };
  struct Check {
    std::string subject;
    std::string figure;
    std::string verdict;  ///< empty: the figure is only shown
  };
  std::string title;
  std::string question;
  std::string answer;
  std::vector<std::string> points = {};
  std::vector<Bucket> buckets = {};
  bool are_ready_times_assumed = false;
  std::vector<Check> checks = {};
  int step = 0;              ///< that is drawn by streams of the GPU
  bool has_streams = false;  ///< false: that part of the page is left out
  std::size_t streams_left_out = 0;
  int workers = 0;              ///< of the chart by bandwidth
  bool is_as_profiled = false;  ///< the chart by workers is of the slower bound of a launch-bound job
  /// What the script draws: `timeline` and `results`.
  nlohmann::json drawn = {};
};

/// One self-contained page.
std::string traced_job_html(const TracedPage& traced);

}  // namespace tandem::validation
