// Printing: results on standard output, everything else on standard error. The process has one state, set by
// tandem_main before a command begins.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tandem::cli {

struct OutputOptions {
  bool json = false;   ///< one JSON object on standard output, everything else on standard error
  bool quiet = false;  ///< errors only, and the JSON object
};

/// Adds --quiet to all commands below `app`, and --json to those that print results.
void add_output_options(CLI::App& app, OutputOptions& options);

/// Applies the options to this process. With --json, text written to standard output after this call, also
/// by child processes, goes to standard error; with --quiet it goes nowhere.
void begin_output(const OutputOptions& options);

/// Runs the action and prints its error, if any. Returns the exit code: its own, or the one of the error.
int exit_code_of(const std::function<int()>& action);

/// Whether the results are printed as JSON.
bool wants_json();
/// Prints the JSON object if --json is given. Errors: WorldError when it cannot be written.
void print_document(const nlohmann::json& document);

/// Whether progress may be shown.
bool shows_progress();
/// "tandem: TEXT" on standard error; nothing with --quiet.
void print_note(const std::string& text);
/// The same after "warning: ", in colour on a terminal.
void print_warning(const std::string& text);
/// "tandem: TEXT" on standard error, in colour on a terminal.
void print_error(const std::string& text);
/// A line of a program that was started, on standard error; nothing with --quiet.
void print_line(const std::string& line);

}  // namespace tandem::cli
