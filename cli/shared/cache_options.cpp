#include "cli/shared/cache_options.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/shared/output.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "policies/vocabulary/text_parts.hpp"
#include "workloads/experiment/keys.hpp"

namespace tandem::cli {

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts = split(text, ',');
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
    const auto share = parse_number<double>(part);
    const bool is_share = share && part.find('.') != std::string::npos && *share * working_set < 0x1p62;
    const auto size = is_share ? Bytes(static_cast<std::int64_t>(*share * working_set))
                               : parse_bytes(part).value_or(Bytes(0));
    if (size < Bytes(1))
      throw ConfigError(
          "cache: expected sizes of at least one byte such as 1000, 100kB, 2GB (powers of 1000), 2GiB, 0.1 "
          "(share of the working set) or auto, found '" +
          part + "'");
    sizes.push_back(size.count());
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
