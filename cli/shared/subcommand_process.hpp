// Runs the `tandem` command, or parts of it, in processes of their own: SimGrid allows one simulation per
// process.
#pragma once

#include <signal.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "runtime/process/process.hpp"

namespace tandem::cli {

/// A signal that asks this program to end. Thrown after every process that it started has ended, so that the
/// owner of a cluster removes it. Not a std::exception: a failed configuration is reported, an interrupt is
/// not.
struct Interrupted {
  int signal;
};

/// Processes to run concurrently.
struct ProcessQueue {
  std::size_t count = 0;
  /// Starts a process, in a group of its own and with this mask of blocked signals. Errors: WorldError.
  std::function<Process(std::size_t index, const sigset_t& blocked_signals)> start;
  /// Called when the process has ended, or when it could not be started: then `error` is the reason.
  std::function<void(std::size_t index, const ExitStatus& status, std::exception_ptr error)> ended;
  std::function<void()> waiting = [] {};  ///< called about ten times per second
};

/// Runs all processes in their order, up to `parallel` (at least 1) concurrently. SIGINT, SIGTERM and SIGHUP
/// are passed on to them. Errors: Interrupted when one of these signals arrived, after the processes have
/// ended.
void run_processes(const ProcessQueue& queue, int parallel);

/// The error of a process with the output in the file `log`; null when it succeeded: ConfigError when it
/// ended with exit code 2, otherwise WorldError. Both contain the output. `what`: the work of the process,
/// for the message.
std::exception_ptr error_of(const std::string& what, const std::string& log, const ExitStatus& status);

/// The exit code of `body`, which runs in a copy of this process, and whose errors are printed.
int run_in_copy(const std::function<void()>& body);

/// Runs `body` in a copy of this process. `log`: a file that has its output meanwhile. `what`: as in
/// error_of. Errors: those of the body, with the output; Interrupted.
void run_apart(const std::function<void()>& body, const std::string& what, const std::string& log);

/// `tandem WORDS`, with its output in the file `log`.
struct Subcommand {
  std::vector<std::string> words;
  std::string log;
};

/// Runs the commands, up to `parallel` (at least 1) concurrently. `progress`: gets the part of them that is
/// done, by their logs. Errors: as error_of, of the first one that failed, and Interrupted.
void run_subcommands(const std::vector<Subcommand>& commands, int parallel,
                     const std::function<void(double)>& progress = {});

}  // namespace tandem::cli
