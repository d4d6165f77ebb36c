#include "policies/vocabulary/numbered_name.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

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

namespace {

/// Numbers and texts in turn.
std::vector<std::pair<double, std::string>> parts_of(const std::string& name) {
  std::vector<std::pair<double, std::string>> parts;
  constexpr const char* digits = "0123456789";
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t number_end = std::min(name.find_first_not_of(digits, at), name.size());
    const std::size_t text_end = std::min(name.find_first_of(digits, number_end), name.size());
    parts.emplace_back(number_end > at ? std::stod(name.substr(at, number_end - at)) : HUGE_VAL,
                       name.substr(number_end, text_end - number_end));
    at = text_end;
  }
  return parts;
}

}  // namespace

bool precedes_naturally(const std::string& one, const std::string& other) {
  return parts_of(one) < parts_of(other);
}

}  // namespace tandem
