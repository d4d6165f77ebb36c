// Questions to a program, perhaps on another machine, and its answers: one line each.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "runtime/process/descriptor.hpp"
#include "runtime/process/process.hpp"

namespace tandem::machines {

/// Not thread-safe. The program ends with the thread that made the conversation.
class Conversation {
 public:
  /// Starts the program. `limit`: for all questions together. Errors: WorldError.
  Conversation(const std::vector<std::string>& words, Seconds limit);
  /// The program ends at the end of its input, or is killed after a moment.
  ~Conversation();
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  /// Empty when the program has ended, or the time is over.
  std::optional<std::string> ask(const std::string& question);
  /// From now on, the next questions have this time.
  void allow(Seconds limit);
  /// Ends the program. Why it did not answer: what it printed last on standard error.
  std::string reason();

 private:
  bool receive();

  std::chrono::steady_clock::time_point end_;
  Pipe errors_;
  Descriptor ours_;
  std::optional<Process> program_;
  std::string received_;
};

}  // namespace tandem::machines
