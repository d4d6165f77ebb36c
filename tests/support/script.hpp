// Script tests: a text file of lines `command words -> expected answer`, run against one pure object. `#`
// starts a comment; a line without `->` expects an empty answer.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace tandem::testing {

using Words = std::vector<std::string>;

inline Words words_of(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
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

}  // namespace tandem::testing
