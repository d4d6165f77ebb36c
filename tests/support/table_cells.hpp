// Lines of tables in text files: cells between vertical bars.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace tandem::testing {

/// Without spaces at both ends.
inline std::string stripped(const std::string& text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// "a | b": {"a", "b"}. What follows the last bar is a cell if it is not empty.
inline std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, '|');) cells.push_back(stripped(cell));
  return cells;
}

}  // namespace tandem::testing
