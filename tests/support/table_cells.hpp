// Lines of tables in text files: cells between vertical bars.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "policies/vocabulary/text_parts.hpp"

namespace tandem::testing {

/// "a | b": {"a", "b"}. What follows the last bar is a cell if it is not empty.
inline std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, '|');) cells.emplace_back(trimmed(cell));
  return cells;
}

}  // namespace tandem::testing
