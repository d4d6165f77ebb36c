// Script tests: a text file of lines `command words -> expected answer`, run against one pure object. `#`
// starts a comment; a line without `->` expects an empty answer.
#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <cstdint>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/options.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem::testing {

using Words = std::vector<std::string>;

inline Words words_of(const std::string& text) { return words_in(text); }

inline std::string joined(const Words& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// The parts of a word NAME=VALUE.
inline std::pair<std::string, std::string> name_and_value(const std::string& word) {
  const auto equals = word.find('=');
  return {word.substr(0, equals), word.substr(equals + 1)};
}
/// true, false, an integer, a number or else a text.
inline OptionValue option_value(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  const char* const end = text.data() + text.size();
  std::int64_t integer = 0;
  if (std::from_chars(text.data(), end, integer).ptr == end) return integer;
  double number = 0.0;
  if (std::from_chars(text.data(), end, number).ptr == end) return number;
  return text;
}

/// Passes each line's words to `answer` and reports every unexpected answer at its line of the script.
inline void run_script(const std::string& path, const std::function<std::string(const Words&)>& answer) {
  std::ifstream file(path);
  ASSERT_TRUE(file) << "no script " << path;
  int number = 0;
  int commands = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    line = line.substr(0, line.find('#'));
    const auto arrow = line.find("->");
    const Words command = words_of(line.substr(0, arrow));
    if (command.empty()) continue;
    ++commands;
    const Words expected = arrow == std::string::npos ? Words{} : words_of(line.substr(arrow + 2));
    const std::string found = answer(command);
    if (words_of(found) != expected) ADD_FAILURE_AT(path.c_str(), number) << line << "\nanswered: " << found;
  }
  EXPECT_GT(commands, 0) << path << " contains no command";
}

/// Runs `folder`/`policy`.script against a `Player`, which is made with the name of the policy and has
/// `std::string answer(const Words&)`.
template <class Player>
void play_script(const std::string& folder, const std::string& policy) {
  Player player(policy);
  run_script(folder + "/" + policy + ".script", [&](const Words& words) { return player.answer(words); });
}

}  // namespace tandem::testing
