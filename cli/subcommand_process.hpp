// Runs the `tandem` command from within itself: SimGrid allows one simulation per process.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace tandem::cli {

/// A signal that asks this program to end, thrown once everything that it started has ended, so that what
/// owns a cluster removes it. Not a std::exception: a failed configuration is reported, an interrupt is not.
struct Interrupted {
  int signal;
};

/// `tandem WORDS`, with its output in the file `log`.
struct Subcommand {
  std::vector<std::string> words;
  std::string log;
};

/// Runs the command. Errors: ConfigError when it ended with exit code 2, WorldError when it failed otherwise;
/// both contain its output.
void run_subcommand(const Subcommand& command);

/// Runs all commands in their order, up to `parallel_jobs` (at least 1) concurrently. Calls `ended` with the
/// index of each command that ended and its error, null on success, and `waiting` every few milliseconds. A
/// command that fails stops no other. SIGINT, SIGTERM and SIGHUP are passed on to the commands. Errors:
/// Interrupted when one of these signals arrived, after the commands have ended.
void run_subcommands(
    const std::vector<Subcommand>& commands, int parallel_jobs,
    const std::function<void(std::size_t, std::exception_ptr)>& ended,
    const std::function<void()>& waiting = [] {});

}  // namespace tandem::cli
