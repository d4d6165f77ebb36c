// Reads what DistributedDataParallel measures of itself without a profiler: the dictionary of
// model._get_ddp_logging_data(), as JSON. Only the fields that a job needs; addresses of hosts are left out.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "workloads/trace/job_description.hpp"

namespace tandem::trace {

/// Receives the members of the outermost object of a JSON text.
class DdpLogging {
 public:
  void text(const std::string& key, const std::string& value);
  void number(const std::string& key, std::int64_t value);

  /// Whether the text is such a dictionary.
  bool is_found() const { return texts_.contains(sizes) || texts_.contains(first_sizes); }
  JobDescription describe(const std::string& file) const;

 private:
  static constexpr const char* sizes = "rebuilt_bucket_sizes";  ///< from the second step on
  static constexpr const char* first_sizes = "bucket_sizes";

  std::int64_t number_of(const char* key) const;

  std::map<std::string, std::string> texts_;
  std::map<std::string, std::int64_t> numbers_;
};

}  // namespace tandem::trace
