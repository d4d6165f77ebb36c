#include "cli/shared/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/shared/exit_codes.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/process/descriptor.hpp"

namespace tandem::cli {
namespace {

constexpr std::array commands_with_json = {
    "simulate", "run",    "compare",     "evaluate",  "validate",  "study",     "show",
    "report",   "view",   "list",        "check",     "calibrate", "discover",  "clean",
    "init",     "cache",  "merge",       "lifetimes", "pack",      "import",    "predict",
    "network",  "server", "collectives", "plan",      "speed",     "checkpoint"};
// Escape sequences of a terminal.
constexpr const char* red = "\033[31m";
constexpr const char* yellow = "\033[33m";
constexpr const char* plain = "\033[0m";

struct State {
  OutputOptions options;
  Descriptor documents;  ///< the original standard output, with --json
  bool colour = false;
};

State& state() {
  static State one;
  return one;
}

/// See https://no-color.org.
bool may_colour() {
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return isatty(STDERR_FILENO) == 1 && !dumb && (refused == nullptr || *refused == '\0');
}

void redirect_output(int target) {
  std::fflush(stdout);
  if (target < 0 || dup2(target, STDOUT_FILENO) < 0) throw WorldError("cannot redirect the standard output");
}

void print_below_name(const char* colour, const std::string& word, const std::string& text) {
  const bool coloured = state().colour;
  fmt::print(stderr, "{}tandem: {}{}{}\n", coloured ? colour : "", word, coloured ? plain : "", text);
}

void add_to(CLI::App& command, OutputOptions& options) {
  for (auto* each : command.get_subcommands({})) add_to(*each, options);
  if (command.get_require_subcommand_min() > 0) return;  // it does nothing itself
  command.add_flag("--quiet,-q", options.quiet, "Print errors only")->group("Output");
  const auto& all = commands_with_json;
  if (std::find(all.begin(), all.end(), command.get_name()) != all.end())
    command
        .add_flag("--json", options.json,
                  "Print the result as one JSON object on standard output, everything else on standard error")
        ->group("Output");
}

}  // namespace

void add_output_options(CLI::App& app, OutputOptions& options) {
  for (auto* command : app.get_subcommands({})) add_to(*command, options);
}

void begin_output(const OutputOptions& options) {
  state().options = options;
  state().colour = may_colour();
  if (options.json) {
    state().documents = Descriptor(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    redirect_output(STDERR_FILENO);
  }
  if (options.quiet) {
    const Descriptor nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    redirect_output(nowhere.number());
  }
}

int exit_code_of(const std::function<int()>& action) {
  try {
    return action();
  } catch (const ConfigError& error) {
    print_error(error.what());
    return exit_bad_input;
  } catch (const std::bad_alloc&) {
    print_error("not enough memory");
  } catch (const std::exception& error) {
    print_error(error.what());
  }
  return exit_environment_error;
}

bool wants_json() { return state().options.json; }

void print_document(const nlohmann::json& document) {
  if (!wants_json()) return;
  // Values that no JSON number can have, and bytes that are not UTF-8, must not end the command.
  write_all(state().documents.number(),
            document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
}

bool shows_progress() { return !state().options.quiet; }

void print_note(const std::string& text) {
  if (!state().options.quiet) fmt::print(stderr, "tandem: {}\n", text);
}

void print_warning(const std::string& text) {
  if (!state().options.quiet) print_below_name(yellow, "warning: ", text);
}

void print_error(const std::string& text) { print_below_name(red, "", text); }

void print_line(const std::string& line) {
  if (!state().options.quiet) fmt::print(stderr, "{}\n", line);
}

}  // namespace tandem::cli
