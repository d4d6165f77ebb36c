#include "policies/vocabulary/quantity_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

#include "policies/vocabulary/text_parts.hpp"

namespace tandem {
namespace {

// Worth 10^exponent * factor of the base unit; one of them is 1.
struct Unit {
  std::string_view name;
  int exponent = 0;
  double factor = 1;
};

constexpr std::array<Unit, 10> size_units = {{{""},
                                              {"B"},
                                              {"kB", 3},
                                              {"MB", 6},
                                              {"GB", 9},
                                              {"TB", 12},
                                              {"KiB", 0, 0x1p10},
                                              {"MiB", 0, 0x1p20},
                                              {"GiB", 0, 0x1p30},
                                              {"TiB", 0, 0x1p40}}};
constexpr std::array<Unit, 8> time_units = {
    {{""}, {"ns", -9}, {"us", -6}, {"ms", -3}, {"s"}, {"min", 0, 60}, {"h", 0, 3600}, {"d", 0, 86400}}};
constexpr std::array<Unit, 14> rate_units = {{{""},
                                              {"Bps"},
                                              {"kBps", 3},
                                              {"MBps", 6},
                                              {"GBps", 9},
                                              {"TBps", 12},
                                              {"KiBps", 0, 0x1p10},
                                              {"MiBps", 0, 0x1p20},
                                              {"GiBps", 0, 0x1p30},
                                              {"bps", 0, 0.125},
                                              {"kbps", 3, 0.125},
                                              {"Mbps", 6, 0.125},
                                              {"Gbps", 9, 0.125},
                                              {"Tbps", 12, 0.125}}};
constexpr std::array<Unit, 6> work_units = {
    {{""}, {"flop"}, {"kflop", 3}, {"Mflop", 6}, {"Gflop", 9}, {"Tflop", 12}}};

// Number and unit of a text, one space between them at most.
struct Parts {
  std::string_view number;
  const Unit* unit;
};

std::optional<Parts> split(std::string_view text, std::span<const Unit> units) {
  double any = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), any);
  if (error != std::errc() || !std::isfinite(any)) return std::nullopt;
  const auto number = text.substr(0, static_cast<std::size_t>(rest - text.data()));
  auto name = text.substr(number.size());
  if (name.starts_with(' ')) name.remove_prefix(1);
  for (const auto& unit : units)
    if (unit.name == name) return Parts{number, &unit};
  return std::nullopt;
}

// "4.1" and 10^9 are read as "4.1e9", which is rounded once; a product would be rounded twice.
std::optional<double> scaled(const Parts& parts) {
  const auto mark = std::min(parts.number.find_first_of("eE"), parts.number.size());
  int exponent = parts.unit->exponent;
  if (mark < parts.number.size()) {
    auto written = parts.number.substr(mark + 1);
    if (written.starts_with('+')) written.remove_prefix(1);
    exponent += parse_number<int>(written).value_or(0);
  }
  const std::string text = std::string(parts.number.substr(0, mark)) + 'e' + std::to_string(exponent);
  const auto value = parse_number<double>(text);
  if (!value || !std::isfinite(*value * parts.unit->factor)) return std::nullopt;
  return *value * parts.unit->factor;
}

std::optional<double> parse(std::string_view text, std::span<const Unit> units) {
  const auto parts = split(text, units);
  return parts ? scaled(*parts) : std::nullopt;
}

/// " ns us ms s", each after a space.
std::string names_of(std::span<const Unit> units) {
  std::string names;
  for (const auto& unit : units)
    if (!unit.name.empty()) names.append(" ").append(unit.name);
  return names;
}

std::int64_t bytes_of(const Unit& unit) {
  auto bytes = static_cast<std::int64_t>(unit.factor);
  for (int power = 0; power < unit.exponent; ++power) bytes *= 10;
  return bytes;
}

}  // namespace

std::string shortest_text(double number) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
}

std::optional<Bytes> parse_bytes(const std::string& text) {
  const auto parts = split(text, size_units);
  if (!parts) return std::nullopt;
  // Whole numbers stay integers all the way: a double would lose digits above 2^53.
  if (const auto whole = parse_number<std::int64_t>(parts->number)) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(*whole, bytes_of(*parts->unit), &bytes)) return std::nullopt;
    return Bytes(bytes);
  }
  const auto value = scaled(*parts);
  if (!value || std::abs(*value) >= 0x1p63 || *value != std::round(*value)) return std::nullopt;
  return Bytes(static_cast<std::int64_t>(*value));
}

std::optional<Seconds> parse_seconds(const std::string& text) {
  const auto value = parse(text, time_units);
  return value ? std::optional(Seconds(*value)) : std::nullopt;
}

std::optional<BytesPerSecond> parse_rate(const std::string& text) {
  const auto value = parse(text, rate_units);
  return value ? std::optional(BytesPerSecond(*value)) : std::nullopt;
}

std::optional<Flops> parse_flops(const std::string& text) {
  const auto value = parse(text, work_units);
  return value ? std::optional(Flops(*value)) : std::nullopt;
}

bool has_time_unit(const std::string& text) {
  const auto parts = split(text, time_units);
  return parts && !parts->unit->name.empty();
}

std::string time_examples(const std::string& example) {
  return "like " + example + ";" + names_of(time_units);
}

std::string rate_examples() { return "like 1.2GBps or 10Gbps;" + names_of(rate_units); }

// A unit is always written, so that a size never looks like a count.
std::string to_text(Bytes size) {
  std::string best = std::to_string(size.count()) + "B";
  if (size.count() == 0) return best;
  for (const auto& unit : size_units) {
    const std::int64_t factor = bytes_of(unit);
    if (factor == 1 || size.count() % factor != 0) continue;
    std::string text = std::to_string(size.count() / factor).append(unit.name);
    if (text.size() < best.size()) best = std::move(text);
  }
  return best;
}

std::string to_text(Seconds duration) { return shortest_text(duration.count()) + "s"; }

std::string to_text(Flops work) {
  std::string best = shortest_text(work.count()) + "flop";
  for (const auto& unit : work_units) {
    if (unit.exponent == 0) continue;
    std::string text = shortest_text(work.count() / std::pow(10.0, unit.exponent)).append(unit.name);
    if (text.size() < best.size() && parse_flops(text) == work) best = std::move(text);
  }
  return best;
}

}  // namespace tandem
