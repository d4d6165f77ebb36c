// Builds a Trace from the events of a file: keeps those that the analysis needs, and links each event of a
// GPU to its launch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/trace/event.hpp"
#include "workloads/trace/trace.hpp"

namespace tandem::trace {

/// Parts of the names of kernels that communicate, in lower case.
std::vector<std::string> known_communication();

class TraceBuilder {
 public:
  /// Kernels whose names contain one of `communication` communicate. `name`: of the file.
  TraceBuilder(std::string name, std::vector<std::string> communication);

  /// Errors: ConfigError when a trace has too many events or names to be held in memory.
  void add(const Event& event);
  Metadata& metadata() { return trace_.metadata; }
  ReadingReport& report() { return trace_.report; }
  /// The builder is empty afterwards.
  Trace finish();

 private:
  void add_device(const Event& event, Span span);
  void add_launch(const Event& event, Span span);
  void add_host(const Event& event, Span span);
  std::uint32_t add_collective(const Event& event);
  TextId thread_of(const Event& event);
  bool communicates(TextId name);
  void link();
  void check_size() const;

  std::vector<std::string> communication_;
  std::vector<signed char> communicates_;  ///< by name: -1: not known yet
  std::string thread_;                     ///< scratch
  Trace trace_;
};

}  // namespace tandem::trace
