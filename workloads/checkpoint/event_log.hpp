// The events of a policy since its run began, one per line, in a file that only grows: for audit. A resumed
// job continues from the state of its policies in its checkpoint, and its log begins with that state.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace tandem {

class EventLog {
 public:
  /// `path`: of the file, which is replaced; empty: keeps nothing.
  explicit EventLog(std::string path) : path_(std::move(path)) {}
  bool keeps() const { return !path_.empty(); }
  void add(const std::string& event);
  /// Writes the events added since the last call. Errors: WorldError.
  void flush();
  /// The same; what cannot be written now is written with the next call.
  void flush_if_possible();

 private:
  std::string path_;
  std::string unwritten_;
  bool is_begun_ = false;
  std::uintmax_t size_ = 0;  ///< of the file
};

}  // namespace tandem
