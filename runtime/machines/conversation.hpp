// Sends questions to a program, which may run on another machine, and reads its answers. Each is one line.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "runtime/process/descriptor.hpp"
#include "runtime/process/process.hpp"

namespace tandem::machines {

/// Not thread-safe. The program ends when the thread that made the conversation ends.
class Conversation {
 public:
  /// Starts the program. `limit`: for all questions together. Errors: WorldError.
  Conversation(const std::vector<std::string>& words, Seconds limit);
  /// Closes the input of the program, so that it ends; kills it if it still runs after a moment.
  ~Conversation();
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  /// The answer. Empty if the program has ended, or after the time-out.
  std::optional<std::string> ask(const std::string& question);
  /// Sets the time for all questions that follow.
  void allow(Seconds limit);
  /// Ends the program. Returns its last line on standard error, as the reason why it did not answer.
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
