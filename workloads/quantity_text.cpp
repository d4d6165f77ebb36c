#include "workloads/quantity_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace tandem {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 10> size_units = {{{"", 1},
                                              {"B", 1},
                                              {"kB", 1e3},
                                              {"MB", 1e6},
                                              {"GB", 1e9},
                                              {"TB", 1e12},
                                              {"KiB", 0x1p10},
                                              {"MiB", 0x1p20},
                                              {"GiB", 0x1p30},
                                              {"TiB", 0x1p40}}};
constexpr std::array<Unit, 7> time_units = {
    {{"", 1}, {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}}};
constexpr std::array<Unit, 6> work_units = {
    {{"", 1}, {"flop", 1}, {"kflop", 1e3}, {"Mflop", 1e6}, {"Gflop", 1e9}, {"Tflop", 1e12}}};

struct Number {
  double value;
  std::string_view unit;
  std::string_view digits;
};

std::optional<Number> split(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number.value);
  if (error != std::errc() || !std::isfinite(number.value)) return std::nullopt;
  number.digits = text.substr(0, static_cast<std::size_t>(rest - text.data()));
  number.unit = text.substr(number.digits.size());
  if (number.unit.starts_with(' ')) number.unit.remove_prefix(1);
  return number;
}

std::optional<double> factor_of(std::string_view unit, std::span<const Unit> units) {
  for (const auto& known : units)
    if (known.name == unit) return known.factor;
  return std::nullopt;
}

std::optional<double> parse(std::string_view text, std::span<const Unit> units) {
  const auto number = split(text);
  if (!number) return std::nullopt;
  const auto factor = factor_of(number->unit, units);
  if (!factor) return std::nullopt;
  // A division by the exact inverse rounds once where a product with an inexact factor would round twice.
  const double value = *factor < 1 ? number->value / std::round(1 / *factor) : number->value * *factor;
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::string shortest(double number) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
}

}  // namespace

std::optional<Bytes> parse_bytes(const std::string& text) {
  const auto number = split(text);
  if (!number) return std::nullopt;
  const auto factor = factor_of(number->unit, size_units);
  if (!factor) return std::nullopt;

  // Whole numbers stay integers all the way: a double would lose digits above 2^53.
  std::int64_t whole = 0;
  std::int64_t bytes = 0;
  const char* const end = number->digits.data() + number->digits.size();
  const auto [rest, error] = std::from_chars(number->digits.data(), end, whole);
  if (error == std::errc() && rest == end) {
    if (__builtin_mul_overflow(whole, static_cast<std::int64_t>(*factor), &bytes)) return std::nullopt;
    return Bytes(bytes);
  }
  const double value = std::round(number->value * *factor);
  if (std::abs(value) >= 0x1p63 || std::abs(value - number->value * *factor) > 1e-6) return std::nullopt;
  return Bytes(static_cast<std::int64_t>(value));
}

std::optional<Seconds> parse_seconds(const std::string& text) {
  const auto value = parse(text, time_units);
  return value ? std::optional(Seconds(*value)) : std::nullopt;
}

std::optional<Flops> parse_flops(const std::string& text) {
  const auto value = parse(text, work_units);
  return value ? std::optional(Flops(*value)) : std::nullopt;
}

std::string to_text(Bytes size) {
  std::string best = std::to_string(size.count());
  if (size.count() == 0) return best;
  for (const auto& unit : size_units) {
    const auto factor = static_cast<std::int64_t>(unit.factor);
    if (factor == 1 || size.count() % factor != 0) continue;
    std::string text = std::to_string(size.count() / factor).append(unit.name);
    if (text.size() < best.size()) best = std::move(text);
  }
  return best;
}

std::string to_text(Seconds duration) { return shortest(duration.count()) + "s"; }
std::string to_text(Flops work) { return shortest(work.count()); }

}  // namespace tandem
