#include "policies/vocabulary/numbered_name.hpp"

#include <algorithm>

namespace tandem {

std::string NumberedName::at(long offset) const {
  const std::string number = std::to_string(std::stol(digits) + offset);
  return before + std::string(digits.size() - std::min(digits.size(), number.size()), '0') + number + after;
}

std::optional<NumberedName> numbered(const std::string& name) {
  constexpr std::size_t most_digits = 9;
  constexpr const char* digits = "0123456789";
  const std::size_t last = name.find_last_of(digits);
  if (last == std::string::npos) return std::nullopt;
  const std::size_t end = last + 1;
  const std::size_t before = name.find_last_not_of(digits, last);
  const std::size_t first =
      std::max(before == std::string::npos ? 0 : before + 1, end - std::min(end, most_digits));
  return NumberedName{name.substr(0, first), name.substr(first, end - first), name.substr(end)};
}

}  // namespace tandem
