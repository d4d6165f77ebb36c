// Runs the `tandem` command from within itself: SimGrid allows one simulation a process.
#pragma once

#include <string>
#include <vector>

namespace tandem::cli {

/// Runs `tandem WORDS`, its output going to the file `log`. Errors: ConfigError when it refused its input,
/// WorldError when it failed otherwise, both with what it said.
void run_self(const std::vector<std::string>& words, const std::string& log);

}  // namespace tandem::cli
