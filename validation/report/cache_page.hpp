// Replays of a trace on cache policies: their document, and the page with a table and miss ratios over the
// capacity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tandem::validation {

/// A policy with a capacity on the trace, or on its samples.
struct CacheReplay {
  std::string policy;
  std::map<std::string, std::string> options = {};
  std::int64_t capacity_bytes = 0;
  std::int64_t requests = 0;  ///< that are counted
  std::int64_t hits = 0;
  double miss_ratio = 0.0;
  double byte_miss_ratio = 0.0;
  std::optional<double> miss_ratio_error = {};  ///< none: the whole trace was replayed
  std::optional<double> byte_miss_ratio_error = {};
  std::int64_t evicted = 0;
  std::int64_t filling_requests = 0;  ///< until there was no room for an object
  std::int64_t largest_used_bytes = 0;
  double requests_per_s = 0.0;  ///< of the replay, on this machine
};

struct CacheReplays {
  std::string trace;
  std::size_t requests = 0;
  std::int64_t objects = 0;
  std::int64_t working_set_bytes = 0;
  std::int64_t skipped_requests = 0;
  bool ignores_sizes = false;  ///< each object counts as one byte
  std::string admission;
  std::size_t warm_up_requests = 0;
  double sample_rate = 1.0;  ///< below 1: `samples` disjoint samples of the objects were replayed
  std::size_t samples = 0;
  bool has_one_size = false;
  std::string bound_name;
  std::vector<CacheReplay> results = {};
};

/// What `tandem cache --json` prints.
nlohmann::json cache_document(const CacheReplays& replays);
/// For a terminal.
std::string cache_table(const CacheReplays& replays);
/// Writes report.json, report.md and report.html. Errors: WorldError when a file cannot be written.
void write_cache_report(const std::string& directory, const CacheReplays& replays);

}  // namespace tandem::validation
