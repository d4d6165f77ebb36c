// Runs the `tandem` command from within itself: SimGrid allows one simulation a process.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace tandem::cli {

/// `tandem WORDS`, its output going to the file `log`.
struct SelfCommand {
  std::vector<std::string> words;
  std::string log;
};

/// Runs the command. Errors: ConfigError when it refused its input, WorldError when it failed otherwise, both
/// with what it said.
void run_self(const SelfCommand& command);

/// Runs all commands, up to `at_once` at a time (at least 1, at most 64), begun in their order. `ended` is
/// called with the index of each that ended and its error, null when it did its work; `waiting` now and then
/// meanwhile. One that fails stops no other.
void run_subcommands(
    const std::vector<SelfCommand>& commands, int at_once,
    const std::function<void(std::size_t, std::exception_ptr)>& ended,
    const std::function<void()>& waiting = [] {});

}  // namespace tandem::cli
