#include "runtime/machines/name_lists.hpp"

#include <fmt/format.h>

#include <optional>
#include <sstream>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/numbered_name.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem::machines {
namespace {

constexpr std::size_t most_names = 100'000;
constexpr int most_number = 999'999'999;

/// Expands one list.
class NameList {
 public:
  NameList(const std::string& list, const std::string& what) : list_(list), what_(what) {
    for (const std::string& part : parts()) expand(part);
  }
  std::vector<std::string> take() { return std::move(names_); }

 private:
  [[noreturn]] void fail() const {
    throw ConfigError(
        fmt::format("{}: expected up to {} names such as n[1-3,07],m, found '{}'", what_, most_names, list_));
  }

  /// At the commas outside brackets.
  std::vector<std::string> parts() const {
    std::vector<std::string> parts(1);
    int depth = 0;
    for (const char letter : list_) {
      depth += letter == '[' ? 1 : letter == ']' ? -1 : 0;
      if (letter == ',' && depth == 0)
        parts.emplace_back();
      else
        parts.back() += letter;
    }
    return parts;
  }

  void expand(const std::string& part) {
    const auto open = part.find('[');
    if (open == std::string::npos) {
      if (part.empty() || names_.size() == most_names) fail();
      names_.push_back(part);
      return;
    }
    const auto close = part.find(']', open);
    if (close == std::string::npos || close == open + 1) fail();
    const std::string before = part.substr(0, open), after = part.substr(close + 1);
    std::istringstream ranges(part.substr(open + 1, close - open - 1));
    for (std::string range; std::getline(ranges, range, ',');) {
      const auto dash = range.find('-');
      const std::string first = range.substr(0, dash);
      const int low = number(first), high = dash == std::string::npos ? low : number(range.substr(dash + 1));
      if (high < low) fail();
      for (int i = low; i <= high; ++i) expand(fmt::format("{}{:0{}}{}", before, i, first.size(), after));
    }
  }

  int number(const std::string& text) const {
    const auto value = parse_number<int>(text, 0, most_number);
    if (!value) fail();
    return *value;
  }

  const std::string& list_;
  const std::string& what_;
  std::vector<std::string> names_;
};

}  // namespace

std::vector<std::string> names_in(const std::string& list, const std::string& what) {
  return NameList(list, what).take();
}

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t first = 0, next = 1; first < names.size(); first = next++) {
    const auto name = numbered(names[first]);
    const auto at = [&](std::size_t i) { return name->at(static_cast<long>(i - first)); };
    while (name && next < names.size() && names[next] == at(next)) ++next;
    if (!list.empty()) list += ',';
    if (next == first + 1) {
      list += names[first];
      continue;
    }
    const auto last = std::stol(name->digits) + static_cast<long>(next - first) - 1;
    list +=
        fmt::format("{}[{}-{:0{}}]{}", name->before, name->digits, last, name->digits.size(), name->after);
  }
  return list;
}

}  // namespace tandem::machines
