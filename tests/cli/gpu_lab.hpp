// The mixed lab with GPUs, for jobs of tests on emulated and on real ones.
#pragma once

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The path of a platform file in the folder of `line` in which each worker's host has GPU 0 of its machine,
/// and with `servers_too` the server's host as well.
inline std::string gpu_lab(const CommandLine& line, bool servers_too) {
  const std::string host = servers_too ? "(<host id=\"[^>]*>)" : "(<host id=\"node[^>]*>)";
  return line.write("lab.xml",
                    std::regex_replace(text_of(testing::source_folder() + "/platforms/mixed_lab.xml"),
                                       std::regex(host), "$1<prop id=\"tandem:gpu\" value=\"0\"/>"));
}

}  // namespace tandem::testing
