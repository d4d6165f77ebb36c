// The events of a policy since its job began, one a line, in a file that only grows: what a fresh policy
// needs to go on with the job.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tandem {

class EventLog {
 public:
  /// `path`: of the file; empty: keeps nothing. What is there already is replaced.
  explicit EventLog(std::string path) : path_(std::move(path)) {}
  bool keeps() const { return !path_.empty(); }
  void add(const std::string& event);
  /// Writes what is not written yet, and returns the file's length in bytes. Errors: WorldError.
  std::int64_t flush();
  /// The events in the first `bytes` bytes of a log's file.
  /// Errors: ConfigError naming the file when it cannot be read, or has fewer or half an event.
  static std::vector<std::string> read(const std::string& path, std::int64_t bytes);
  /// StartOffsets with those of another log's file, and returns them. Errors: as `read`.
  std::vector<std::string> take_over(const std::string& path, std::int64_t bytes);

 private:
  std::string path_;
  std::string unwritten_;
  std::int64_t written_ = 0;
};

}  // namespace tandem
