// The events of a policy since its job began, one per line, in a file that only grows: a new policy that
// replays them is in the state of the old one.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tandem {

class EventLog {
 public:
  /// `path`: of the file, which is replaced; empty: keeps nothing.
  explicit EventLog(std::string path) : path_(std::move(path)) {}
  bool keeps() const { return !path_.empty(); }
  void add(const std::string& event);
  /// Writes the events added since the last call, and returns the file's length in bytes. Errors: WorldError.
  std::int64_t flush();
  /// The events in the first `bytes` bytes of a log's file.
  /// Errors: ConfigError naming the file when it cannot be read, is shorter, or ends within an event.
  static std::vector<std::string> read(const std::string& path, std::int64_t bytes);
  /// Adds the events of another log's file, and returns them. Errors: as `read`.
  std::vector<std::string> copy_from(const std::string& path, std::int64_t bytes);

 private:
  std::string path_;
  std::string unwritten_;
  std::int64_t written_ = 0;
};

}  // namespace tandem
