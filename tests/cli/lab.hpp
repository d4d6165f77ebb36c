// Edited copies of the mixed lab, and settings that make machines depart.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "policies/vocabulary/stream_text.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return rest_of(file);
}

/// Every match of a regular expression is replaced; $& is the match, $1 its first group.
struct Edit {
  std::string pattern;
  std::string text;
};
/// Elements of the hosts whose names match; $1 is the name.
inline Edit in_hosts(const std::string& names, const std::string& elements) {
  return {"<host id=\"(" + names + ")\"[^>]*>", "$&" + elements};
}
inline Edit property_of(const std::string& hosts, const std::string& name, const std::string& value) {
  return in_hosts(hosts, "<prop id=\"" + name + "\" value=\"" + value + "\"/>");
}
inline Edit disks_of(const std::string& hosts, const std::string& read = "100MBps",
                     const std::string& write = "100MBps") {
  return in_hosts(hosts, "<disk id=\"disk-$1\" read_bw=\"" + read + "\" write_bw=\"" + write + "\"/>");
}

/// Writes an edited copy of the mixed lab into the folder of `line`, and returns its path.
inline std::string edited_lab(const CommandLine& line, const std::vector<Edit>& edits,
                              const std::string& name = "lab.xml") {
  std::string text = text_of(testing::source_folder() + "/platforms/mixed_lab.xml");
  for (const auto& [pattern, replacement] : edits) {
    const std::string edited = std::regex_replace(text, std::regex(pattern), replacement);
    EXPECT_NE(edited, text) << pattern << " has no match";
    text = edited;
  }
  return line.write(name, text);
}

/// How long the machines of each slot live, one after the other: "6.5,1e9;1e9".
inline std::string lifetimes(const std::string& times) {
  return "--set transience.lifetime=fixed --set 'transience.options.times=" + times + "' ";
}
/// Machines that depart and come: "20 remove a; 30 add a".
inline std::string trace(const std::string& events) {
  return "--set transience.lifetime=trace --set 'transience.options.events=" + events + "' ";
}
/// The nodes a to d are in four slots when the job starts.
inline std::string trace_of_four(const std::string& events) {
  return trace("0 add a; 0 add b; 0 add c; 0 add d; " + events);
}
/// Times of machines are 100 times those of the job.
inline const std::string hundredfold = "--set transience.start=10 --set transience.time_scale=100 ";

}  // namespace tandem::testing
