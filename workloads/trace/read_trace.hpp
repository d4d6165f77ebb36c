// Reads traces of PyTorch's profiler (Kineto's JSON) as a stream: memory grows with the events that are kept,
// not with the text.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workloads/trace/trace.hpp"
#include "workloads/trace/trace_builder.hpp"

namespace tandem::trace {

struct ReadOptions {
  /// Parts of the names of kernels that communicate.
  std::vector<std::string> communication = known_communication();
  std::function<void(double share)> progress = [](double) {};
};

/// The trace of a file, or all traces of a tar archive. Text that is not JSON is left out and reported.
/// Errors: ConfigError for a file that cannot be opened, is not a trace, or is too deeply nested or too
/// large.
std::vector<Trace> read_traces(const std::string& path, const ReadOptions& options);

}  // namespace tandem::trace
