// Names with numbers: node-07.lab is "node-", "07" and ".lab".
#pragma once

#include <optional>
#include <string>

namespace tandem {

struct NumberedName {
  std::string before;
  std::string digits;  ///< one to nine of them
  std::string after;

  /// The name whose number is larger by `offset` >= 0; at least as many digits: node-07.lab at 3 is
  /// node-10.lab.
  std::string at(long offset) const;
};

/// None: the name has no number. Of a number of more than nine digits, the last nine.
std::optional<NumberedName> numbered(const std::string& name);

/// Numbers by their value: every-2 before every-10.
bool precedes_naturally(const std::string& one, const std::string& other);

}  // namespace tandem
