// Starts processes and watches them: the only file of the runtime that forks. It uses POSIX and Linux alone,
// because tandem-rank, which links it, has to build where Boost is not installed.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/units.hpp"
#include "runtime/process/descriptor.hpp"

namespace tandem {

/// How a process ended.
struct ExitStatus {
  int code = 0;    ///< exit code; 0 if a signal ended it
  int signal = 0;  ///< the signal that ended it; 0 if it exited
  bool succeeded() const { return code == 0 && signal == 0; }
  /// One number as a shell reports it: the exit code, or 128 + signal.
  int shell_code() const { return signal == 0 ? code : 128 + signal; }
  bool operator==(const ExitStatus&) const = default;
};

/// A program to start. The caller keeps the descriptors.
struct Program {
  std::vector<std::string> words;             ///< program, searched in PATH if it has no slash, and arguments
  std::vector<std::string> environment = {};  ///< "NAME=VALUE", added to this process's own variables
  std::optional<int> input = {};              ///< standard input; empty: /dev/null
  std::optional<int> output = {};             ///< standard output; empty: that of this process
  std::optional<int> errors = {};             ///< standard error; empty: that of this process
  /// In a process group of its own, a terminal's Ctrl-C does not reach the program directly, and kill()
  /// reaches the processes that the program started in the same group.
  bool own_group = false;
  /// Signal to the program when the thread that started it ends, for whatever reason; 0: none.
  int signal_on_parent_end = 0;
  /// Signals that the program blocks; empty: those that this thread blocks.
  std::optional<sigset_t> blocked_signals = {};
};

/// What a function that runs in a copy of this process has of its own. The caller keeps the descriptors.
struct FunctionSetting {
  std::optional<int> output = {};                ///< standard output and error; empty: those of this process
  bool own_group = false;                        ///< as in Program
  std::optional<sigset_t> blocked_signals = {};  ///< as in Program
};

/// The program does not exist.
class ProgramMissing : public WorldError {
 public:
  using WorldError::WorldError;
};

/// A child process. The destructor kills it if it has not ended, and collects its status: no zombie is left.
class Process {
 public:
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  pid_t id() const { return id_; }
  /// The status if it has ended. Does not block.
  std::optional<ExitStatus> poll();
  /// Blocks until it has ended.
  ExitStatus wait();
  /// Blocks until it has ended or `limit` has passed.
  std::optional<ExitStatus> wait_for(Seconds limit);
  /// Sends a signal to the process, unless it has ended.
  void signal(int number) const;
  /// Sends SIGKILL to the process, and to its group if it has its own, unless the process has ended. Does not
  /// wait.
  void kill() const;

 private:
  friend Process start_program(const Program& program);
  friend Process start_function(const std::function<int()>& function, const FunctionSetting& setting);
  Process(pid_t id, bool own_group) : id_(id), own_group_(own_group) {}
  void end();

  pid_t id_ = -1;
  bool own_group_ = false;
  std::optional<ExitStatus> status_;
};

/// Starts a program; returns when it runs. Errors: ProgramMissing, another WorldError when the system cannot
/// start a process.
Process start_program(const Program& program);

/// Runs `function` in a copy of this process, which then exits with the returned code and never runs
/// destructors or exit handlers. The copy is killed when the thread that started it ends. Pre: if this
/// process has other threads, `function` calls async-signal-safe functions only. Errors: WorldError when the
/// system cannot start a process.
Process start_function(const std::function<int()>& function, const FunctionSetting& setting = {});

}  // namespace tandem
