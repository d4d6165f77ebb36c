// Reads what tools of PyTorch write about a job. The content of a file shows its format. Traces of the
// profiler (Kineto's JSON) are read as a stream: memory grows with the events that are kept, not with the
// text.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workloads/trace/job_description.hpp"
#include "workloads/trace/trace.hpp"
#include "workloads/trace/trace_builder.hpp"

namespace tandem::trace {

struct ReadOptions {
  /// Parts of the names of kernels that communicate.
  std::vector<std::string> communication = known_communication();
  std::function<void(double share)> progress = [](double) {};
};

struct Inputs {
  std::vector<Trace> traces;                 ///< of the profiler
  std::vector<JobDescription> descriptions;  ///< of execution traces, Chakra traces, DDP's logging data
};

/// What a file has, or all files of a tar archive. Text that is not JSON is left out and reported.
/// Errors: ConfigError for a file that cannot be opened, has none of these formats, or is too deeply nested
/// or too large.
Inputs read_inputs(const std::string& path, const ReadOptions& options);

}  // namespace tandem::trace
