#include "workloads/experiment/own_field.hpp"

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "policies/vocabulary/quantity_text.hpp"

namespace tandem {
namespace {

using Json = nlohmann::json;

constexpr int most_loaders = 1024;

std::string percent_text(double percent) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, percent).ptr) + '%';
}

/// "12.5%". None: another text.
std::optional<double> parse_percent(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  double percent = 0.0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  const bool is_number = error == std::errc() && rest == text.data() + text.size();
  return is_number && percent >= 0.0 && percent <= 100.0 ? std::optional(percent) : std::nullopt;
}

bool set_background(Experiment::Data& data, const Json& value) {
  if (value.is_number_integer()) {
    if (value < 1 || value > most_loaders) return false;
    data.background = BackgroundReads::idle;
    data.loaders = value.get<int>();
    return true;
  }
  const auto word =
      value.is_string() ? parse_choice<BackgroundReads>(value.get<std::string>()) : std::nullopt;
  if (word) data.background = *word;
  data.loaders = 0;
  return word.has_value();
}

bool set_capacity(Experiment::Data& data, const Json& value) {
  std::optional<Bytes> size;
  data.cache_percent = 0.0;
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    if (const auto percent = parse_percent(text)) {
      data.cache_percent = *percent;
      size = Bytes(0);
    } else {
      size = parse_bytes(text);
    }
  } else if (value.is_number_unsigned() ? value <= std::numeric_limits<std::int64_t>::max()
                                        : value.is_number_integer()) {
    size = Bytes(value.get<std::int64_t>());
  }
  if (!size || *size < Bytes(0)) return false;
  data.cache_capacity = *size;
  return true;
}

}  // namespace

OwnField background_field(Experiment::Data& data) {
  const auto get = [&data] { return data.loaders > 0 ? Json(data.loaders) : Json(to_text(data.background)); };
  std::string type;
  for (const auto& choice : choice_names<BackgroundReads>) type += std::string(choice.name) + " | ";
  return {.address = &data.background,
          .type = type + "integer >= 1 and <= " + std::to_string(most_loaders),
          .get = get,
          .written = get,
          .set = [&data](const Json& value) { return set_background(data, value); }};
}

OwnField capacity_field(Experiment::Data& data) {
  const auto value = [&data](const Json& size) {
    return data.cache_percent > 0.0 ? Json(percent_text(data.cache_percent)) : size;
  };
  return {.address = &data.cache_capacity,
          .type = "size >= 0 (like 4MiB) | 0% to 100% of the training samples' bytes",
          .get = [&data, value] { return value(data.cache_capacity.count()); },
          .written = [&data, value] { return value(to_text(data.cache_capacity)); },
          .set = [&data](const Json& given) { return set_capacity(data, given); }};
}

}  // namespace tandem
