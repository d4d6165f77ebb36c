#include "platforms/name_ranges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace tandem::platforms {
namespace {

struct Numbered {
  std::string before;
  std::string digits;
  std::string after;
};

/// Splits at the last number of a name, of up to nine digits.
std::optional<Numbered> numbered(const std::string& name) {
  constexpr std::size_t most_digits = 9;
  constexpr const char* digits = "0123456789";
  const std::size_t last = name.find_last_of(digits);
  if (last == std::string::npos) return std::nullopt;
  const std::size_t end = last + 1;
  const std::size_t before = name.find_last_not_of(digits, last);
  const std::size_t first =
      std::max(before == std::string::npos ? 0 : before + 1, end - std::min(end, most_digits));
  return Numbered{name.substr(0, first), name.substr(first, end - first), name.substr(end)};
}

bool follows(const std::string& name, const std::string& previous) {
  const auto a = numbered(previous);
  const auto b = numbered(name);
  return a && b && a->before == b->before && a->after == b->after &&
         std::stol(b->digits) == std::stol(a->digits) + 1;
}

}  // namespace

std::string name_ranges(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  std::size_t parts = 0;
  for (std::size_t first = 0; first < names.size(); ++parts) {
    if (parts == most) return text + fmt::format(" and {} more", names.size() - first);
    std::size_t last = first;
    while (last + 1 < names.size() && follows(names[last + 1], names[last])) ++last;
    if (!text.empty()) text += ", ";
    text += names[first];
    if (last > first) text += (last == first + 1 ? ", " : "..") + names[last];
    first = last + 1;
  }
  return text;
}

}  // namespace tandem::platforms
