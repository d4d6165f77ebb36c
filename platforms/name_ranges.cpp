#include "platforms/name_ranges.hpp"

#include <fmt/format.h>

#include <optional>
#include <regex>

namespace tandem::platforms {
namespace {

struct Numbered {
  std::string before;
  std::string digits;
  std::string after;
};

/// Splits at the last number of a name.
std::optional<Numbered> numbered(const std::string& name) {
  static const std::regex last_number("^(.*?)([0-9]{1,9})([^0-9]*)$");
  std::smatch parts;
  if (!std::regex_match(name, parts, last_number)) return std::nullopt;
  return Numbered{parts[1], parts[2], parts[3]};
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
