#include "cli/fit/column_unit.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "policies/vocabulary/quantity_text.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem::cli {
namespace {

constexpr std::string_view between_words = " \t_/";

/// Of a word in lower case.
std::optional<ColumnUnit> unit_of_word(const std::string& word) {
  static const std::map<std::string, std::string> short_names = {
      {"sec", "s"},           {"secs", "s"},     {"second", "s"},    {"seconds", "s"},
      {"mins", "min"},        {"minute", "min"}, {"minutes", "min"}, {"hr", "h"},
      {"hour", "h"},          {"hours", "h"},    {"msec", "ms"},     {"millisecond", "ms"},
      {"milliseconds", "ms"}, {"µs", "us"},      {"usec", "us"},     {"microsecond", "us"},
      {"microseconds", "us"}, {"day", "d"},      {"days", "d"}};
  const auto known = short_names.find(word);
  const std::string& name = known == short_names.end() ? word : known->second;
  if (!has_time_unit("1" + name)) return std::nullopt;
  const auto time = parse_seconds("1" + name);
  return time ? std::optional(ColumnUnit{.name = name, .of_s = time->count()}) : std::nullopt;
}

/// "steps/s" or "s/step"; of several slashes the first one counts.
std::optional<ColumnUnit> unit_of_ratio(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const auto below = words_in(text.substr(slash), between_words),
             above = words_in(text.substr(0, slash), between_words);
  if (!below.empty())
    if (auto unit = unit_of_word(below.front())) {
      unit->is_rate = true;
      return unit;
    }
  return above.empty() ? std::nullopt : unit_of_word(above.back());
}

std::string with_slashes(std::string text) {
  for (const std::string_view per : {"_per_", " per "})
    for (std::size_t at = 0; (at = text.find(per)) != std::string::npos;) text.replace(at, per.size(), "/");
  return text;
}

/// In the brackets at the end; none: there are none.
std::optional<std::string> in_brackets(const std::string& name) {
  if (!name.ends_with(')') && !name.ends_with(']')) return std::nullopt;
  const std::size_t begin = name.find_last_of("([");
  if (begin == std::string::npos) return std::nullopt;
  return std::string(trimmed(std::string_view(name).substr(begin + 1, name.size() - begin - 2)));
}

}  // namespace

std::optional<ColumnUnit> unit_of_column(const std::string& column) {
  const std::string name = with_slashes(lower(column));
  const bool is_speed = name.find("speed") != std::string::npos;
  std::optional<ColumnUnit> unit;
  if (const auto inner = in_brackets(name)) {
    unit = inner->find('/') == std::string::npos ? unit_of_word(*inner) : unit_of_ratio(*inner);
    if (!unit) return std::nullopt;
  } else {
    unit = unit_of_ratio(name);
    const auto words = words_in(name, between_words);
    if (!unit && words.size() > 1) {
      if (words.back() == "min") return std::nullopt;
      unit = unit_of_word(words.back());
    }
    if (!unit) return ColumnUnit{.name = "", .is_rate = is_speed};
  }
  if (is_speed && !unit->is_rate) return std::nullopt;
  return unit;
}

bool is_of_steps(const std::string& column, const ColumnUnit& unit) {
  const auto words = words_in(lower(column), " \t_/()[]");
  const auto has = [&](const char* word) { return std::ranges::count(words, word) > 0; };
  for (const char* deviation : {"std", "stddev", "dev", "deviation", "var", "variance", "err", "error", "cv"})
    if (has(deviation)) return false;
  if (!has("step") && !has("steps")) return unit.is_rate && words.size() == 1;
  return unit.is_rate || !unit.name.empty() || has("time");
}

}  // namespace tandem::cli
