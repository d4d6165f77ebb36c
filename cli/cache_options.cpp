#include "cli/cache_options.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/output.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/keys.hpp"

namespace tandem::cli {

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) parts.push_back(word);
  if (parts.empty()) parts.emplace_back();
  return parts;
}

std::vector<std::int64_t> sizes_of(const std::string& text, double working_set, std::int64_t smallest) {
  std::vector<std::int64_t> sizes;
  if (text == "auto") {
    for (const double share : {.001, .003, .01, .03, .1, .2, .4, .8})
      if (share * working_set >= static_cast<double>(smallest))
        sizes.push_back(static_cast<std::int64_t>(share * working_set));
    if (!sizes.empty()) return sizes;
    throw ConfigError(
        fmt::format("cache: sizes auto: expected a working set of several objects, found one of {} bytes "
                    "with objects of {} bytes",
                    working_set, smallest));
  }
  for (const auto& part : parts_of(text)) {
    double number = 0;
    const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    const std::string unit(rest, part.data() + part.size());
    constexpr std::string_view letters = "kmgt";
    const auto power =
        unit.empty() ? std::string_view::npos : letters.find(static_cast<char>(std::tolower(unit[0])));
    const bool is_unit = unit.size() == 1 || (unit.size() == 2 && std::tolower(unit[1]) == 'b');
    const bool is_share = part.find('.') != std::string::npos;
    if (error == std::errc() && (unit.empty() || (power != std::string_view::npos && is_unit && !is_share)))
      number *= is_share       ? working_set
                : unit.empty() ? 1.0
                               : std::pow(1024.0, static_cast<double>(power + 1));
    else
      number = 0;
    if (number < 1 || number >= 0x1p62)
      throw ConfigError(
          "cache: expected sizes of at least one byte such as 1000, 100k, 2GB (powers of 1024), 0.1 (share "
          "of the "
          "working set) or auto, found '" +
          part + "'");
    sizes.push_back(static_cast<std::int64_t>(number));
  }
  return sizes;
}

void note_small_sizes(const std::vector<std::int64_t>& sizes, std::int64_t smallest) {
  for (const std::int64_t size : sizes)
    if (size < smallest)
      print_note(fmt::format(
          "a capacity of {} bytes holds no object, because the smallest has {}: every request misses", size,
          smallest));
}

std::string owner_of(const std::string& setting) {
  const auto dot = setting.find('.'), equals = setting.find('=');
  if (dot == std::string::npos || equals == std::string::npos || dot > equals)
    throw ConfigError("cache: --option: expected POLICY.OPTION=VALUE, found '" + setting + "'");
  return setting.substr(0, dot);
}

std::map<std::string, OptionValue> options_given(const std::vector<std::string>& settings,
                                                 const std::string& owner) {
  std::map<std::string, OptionValue> given;
  for (const auto& setting : settings) {
    if (owner_of(setting) != owner) continue;
    const auto dot = setting.find('.'), equals = setting.find('=');
    // Numbers and true are JSON, other texts are not.
    const std::string text = setting.substr(equals + 1);
    const nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
    given[setting.substr(dot + 1, equals - dot - 1)] =
        value.is_primitive() && !value.is_null() ? option_from_json(value) : OptionValue(text);
  }
  return given;
}

}  // namespace tandem::cli
