// Tables of measured step times, whose rows are jobs: an experiment with a few other keys each.
#pragma once

#include <string>
#include <vector>

#include "cli/shared/job_options.hpp"

namespace tandem::cli {

struct TimedRow {
  std::string place;  ///< "FILE:LINE"
  std::string name;   ///< the cells that make the job: "workers 4, model vgg16"
  double step_s;      ///< of each worker
  LoadedJob loaded;
};

/// The rows of a CSV file. Columns in any order: `step_time` (seconds, or with a unit) or `steps_per_second`
/// (of all workers together); any of `workers`, `model`, `batch`; and any keys of an experiment
/// (`placement.workers`). Each row's cells replace those keys of the experiment; empty ones do not. Other
/// columns are ignored. Errors: ConfigError with the place: no rows, times or jobs that cannot be, two rows
/// of the same job.
std::vector<TimedRow> read_timed_rows(const std::string& path, const JobOptions& experiment,
                                      PlatformCache& platforms);

}  // namespace tandem::cli
