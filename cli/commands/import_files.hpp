// The files that `tandem import --out` writes: an experiment of the traced step, and a platform of one
// device.
#pragma once

#include <string>
#include <vector>

#include "workloads/trace/traced_job.hpp"

namespace tandem::cli {

/// The device of the catalogue that a GPU's name contains: "Tesla V100-SXM2-32GB" is v100; empty: none.
std::string catalogue_device(const std::string& gpu);

struct ImportedJob {
  std::string name;    ///< of the experiment
  std::string source;  ///< the trace, a file
  std::string gpu;     ///< as the trace names it, printable
  std::string device;  ///< of the catalogue
  std::string model;   ///< of the catalogue, where the trace has no buckets; else empty
  trace::TracedJob step;
  std::vector<std::string> failed_checks = {};  ///< why figures are less certain
  bool has_step_time = false;  ///< the step's time without the profiler is known: one number, not two bounds
};

/// With comments that say what is measured and what is assumed. `platform_file` as seen from it.
std::string imported_experiment_text(const ImportedJob& job, const std::string& platform_file);
/// A SimGrid platform file with one such device.
std::string imported_platform_text(const ImportedJob& job);

}  // namespace tandem::cli
