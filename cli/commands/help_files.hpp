// Man pages and shell completion, made from the commands' own options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tandem::cli {

/// The page of a command in the macros of man(7). `name`: with the commands above it, "tandem-study-merge".
std::string man_page(const CLI::App& command, const std::string& name);

/// Completion of commands, options and files for bash.
std::string bash_completion(const CLI::App& app);

/// The same for zsh.
std::string zsh_completion(const CLI::App& app);

/// Adds the command `help-files`, which no help lists. It writes all man pages and the completion for the
/// installation.
void add_help_files(CLI::App& app, int& exit_code);

}  // namespace tandem::cli
