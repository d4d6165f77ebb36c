#include "platforms/name_ranges.hpp"

#include <fmt/format.h>

#include "policies/vocabulary/numbered_name.hpp"

namespace tandem::platforms {
namespace {

bool follows(const std::string& name, const std::string& previous) {
  const auto parts = numbered(previous);
  return parts && parts->at(1) == name;
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
