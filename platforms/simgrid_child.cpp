#include "platforms/simgrid_child.hpp"

#include <sys/mman.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <simgrid/s4u/Engine.hpp>
#include <sstream>
#include <stdexcept>

#include "platforms/simgrid_version.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::platforms {
namespace {

// Lines of a message that are shown.
constexpr int kMostLines = 12;
// Each line of SimGrid's log starts with its priority; a line without one continues the line before.
constexpr const char* kLogFormat = "--log=root.fmt:%p|%m%n";

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

/// Where a message ends and SimGrid's help for its own developers begins.
bool ends_message(const std::string& line) {
  return starts_with(line, "Backtrace") || starts_with(line, "Current backtrace") ||
         starts_with(line, "Existing config keys") || starts_with(line, "  ->") ||
         starts_with(line, "Exiting now");
}

/// "ERROR" of "ERROR|text"; empty for a line that has none. Not a regular expression, whose recursion a long
/// line could overflow.
std::string priority_of(const std::string& line) {
  for (const char* priority : {"TRACE", "DEBUG", "VERBOSE", "INFO", "WARNING", "ERROR", "CRITICAL", "LINE"})
    if (starts_with(line, (std::string(priority) + '|').c_str())) return priority;
  return "";
}

/// Without "Uncaught exception TYPE by HOST: ".
std::string without_exception(const std::string& line) {
  const auto end = line.find(": ");
  return starts_with(line, "Uncaught exception ") && end != std::string::npos ? line.substr(end + 2) : line;
}

/// Names in a file can have any length.
std::string shortened(const std::string& line) {
  constexpr std::size_t longest = 400;
  return line.size() <= longest ? line : line.substr(0, longest) + "...";
}

/// For parser_line.
void print_parser_line() {
  const std::string line = "LINE|" + std::to_string(simgrid_version::parsed_line()) + '\n';
  std::fputs(line.c_str(), stderr);
}

/// SimGrid's failed checks abort.
void print_line_and_abort(int signal) {
  print_parser_line();
  std::fflush(stderr);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// The path of a file in memory, which this process alone has.
std::string in_memory(const std::string& text) {
  const std::string path = "/proc/self/fd/" + std::to_string(memfd_create("platform", 0));
  std::ofstream file(path);
  if (!(file << text << std::flush)) throw std::runtime_error("cannot keep a platform in memory");
  return path;
}

}  // namespace

ChildResult ask_simgrid(const std::string& path, const std::function<void()>& on_creation,
                        const std::function<void(simgrid::s4u::Engine&, const Emit&)>& question,
                        const std::string& shorter) {
  TANDEM_CHECK(!simgrid::s4u::Engine::has_instance(), "this process already has a SimGrid engine");
  ChildResult answer = run_in_child([&](const Emit& emit) {
    std::string name = "tandem";
    std::string log = kLogFormat;
    std::array<char*, 3> arguments{name.data(), log.data(), nullptr};
    int count = 2;
    int status = 0;
    // Never destroyed: its destructor would run the end of a simulation that did not take place.
    auto* engine = new simgrid::s4u::Engine(&count, arguments.data());
    bool is_parsing = true;
    try {
      on_creation();
      std::signal(SIGABRT, print_line_and_abort);
      engine->load_platform(shorter.empty() ? path : in_memory(shorter));
      engine->seal_platform();
      is_parsing = false;
      std::signal(SIGABRT, SIG_DFL);
      question(*engine, emit);
    } catch (const std::bad_alloc&) {
      std::fprintf(stderr, "ERROR|%s\n", over_memory_limit().c_str());
      status = 1;
    } catch (const std::exception& error) {
      if (is_parsing) print_parser_line();
      std::fprintf(stderr, "ERROR|%s\n", error.what());
      status = 1;
    }
    std::fflush(stderr);
    std::_Exit(status);
  });
  // The whole file has the lines and the names of its own.
  const bool is_refused = !answer.succeeded && answer.output.empty();
  return is_refused && !shorter.empty() ? ask_simgrid(path, on_creation, question) : std::move(answer);
}

int parser_line(const ChildResult& result) {
  std::istringstream lines(result.errors);
  for (std::string line; std::getline(lines, line);)
    if (starts_with(line, "LINE|")) return std::stoi(line.substr(5));
  return 0;
}

std::string simgrid_message(const ChildResult& result) {
  if (const std::string limit = over_time_limit(result); !limit.empty()) return limit;
  std::istringstream lines(result.errors);
  std::string message;
  std::string plain;
  bool inside = false;
  int taken = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string priority = priority_of(line);
    const bool logged = !priority.empty();
    if (logged) {
      if (!message.empty()) break;
      inside = priority == "ERROR" || priority == "CRITICAL";
      line = without_exception(line.substr(priority.size() + 1));
    }
    line = shortened(line);
    if (ends_message(line)) {
      if (!message.empty()) break;
      inside = false;
    } else if (inside && !line.empty() && ++taken <= kMostLines) {
      message += (message.empty() ? "" : "\n  ") + line;
    } else if (!logged && !line.empty()) {
      plain = line;
    }
  }
  if (!message.empty()) return message;
  if (!plain.empty()) return plain;
  return result.signal != 0 ? std::string("SimGrid crashed (") + strsignal(result.signal) + ")"
                            : std::string("SimGrid failed without an error message");
}

}  // namespace tandem::platforms
