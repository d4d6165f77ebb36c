#include "platforms/simgrid_child.hpp"

#include <array>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <regex>
#include <simgrid/s4u/Engine.hpp>
#include <sstream>

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

}  // namespace

void check_is_platform_xml(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) throw ConfigError(path + ": expected a platform file, found no such file");
  if (fs::is_directory(status)) throw ConfigError(path + ": expected a platform file, found a directory");
  boost::property_tree::ptree tree;
  try {
    boost::property_tree::read_xml(path, tree);
  } catch (const boost::property_tree::xml_parser_error& bad) {
    const std::string place = bad.line() > 0 ? path + ":" + std::to_string(bad.line()) : path;
    throw ConfigError(place + ": expected well-formed XML, found: " + bad.message());
  }
  if (tree.find("platform") != tree.not_found()) return;
  const std::string found = tree.empty() ? "no element at all" : "<" + tree.front().first + ">";
  throw ConfigError(path + ": expected a SimGrid platform file with the root <platform>, found " + found);
}

ChildResult ask_simgrid(const std::string& path, const std::function<void()>& on_creation,
                        const std::function<void(simgrid::s4u::Engine&, const Emit&)>& question) {
  TANDEM_CHECK(!simgrid::s4u::Engine::has_instance(), "this process already has a SimGrid engine");
  return run_in_child([&](const Emit& emit) {
    std::string name = "tandem";
    std::string log = kLogFormat;
    std::array<char*, 3> arguments{name.data(), log.data(), nullptr};
    int count = 2;
    int status = 0;
    // Never destroyed: its destructor would run the end of a simulation that did not take place.
    auto* engine = new simgrid::s4u::Engine(&count, arguments.data());
    try {
      on_creation();
      engine->load_platform(path);
      engine->seal_platform();
      question(*engine, emit);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "ERROR|%s\n", error.what());
      status = 1;
    }
    std::fflush(stderr);
    std::_Exit(status);
  });
}

std::string simgrid_message(const ChildResult& result) {
  static const std::regex priority("^(TRACE|DEBUG|VERBOSE|INFO|WARNING|ERROR|CRITICAL)\\|(.*)$");
  static const std::regex uncaught("^Uncaught exception [^ ]+?( by [^ ]+)?: ");
  std::istringstream lines(result.errors);
  std::string message;
  std::string plain;
  bool inside = false;
  int taken = 0;
  for (std::string line; std::getline(lines, line);) {
    std::smatch parts;
    const bool logged = std::regex_match(line, parts, priority);
    if (logged) {
      if (!message.empty()) break;
      inside = parts[1] == "ERROR" || parts[1] == "CRITICAL";
      line = std::regex_replace(parts[2].str(), uncaught, "");
    }
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
