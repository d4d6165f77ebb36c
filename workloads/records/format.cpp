#include "workloads/records/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "policies/vocabulary/money.hpp"

namespace tandem {
namespace {

struct Scale {
  double factor;
  const char* name;
};

/// The largest scale that the value reaches, else the smallest one.
template <std::size_t N>
Scale fitting(const std::array<Scale, N>& largest_first, double value) {
  for (const auto& scale : largest_first)
    if (std::abs(value) >= scale.factor) return scale;
  return value == 0 ? largest_first.front() : largest_first.back();
}

constexpr std::array<Scale, 4> time_scales = {{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}}};
constexpr std::array<Scale, 5> byte_scales = {
    {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};

}  // namespace

const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::seconds:
      return "s";
    case Unit::samples_per_second:
      return "samples/s";
    case Unit::bytes:
      return "bytes";
    case Unit::count:
      return "";
    case Unit::ratio:
      return "ratio";
    case Unit::dollars:
      return "USD";
  }
  return "";
}

Unit unit_of(const std::string& name) {
  for (const Unit unit : {Unit::seconds, Unit::samples_per_second, Unit::bytes, Unit::ratio, Unit::dollars})
    if (name == unit_name(unit)) return unit;
  return Unit::count;
}

std::string with_separators(std::int64_t value) {
  std::string digits = std::to_string(std::abs(value));
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return (value < 0 ? "-" : "") + digits;
}

std::string significant(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  const double magnitude = std::abs(value);
  if (magnitude == 0) return "0";
  if (magnitude < 1e-4 || magnitude >= 1e15) return fmt::format("{:.{}g}", value, digits);
  const int digits_before = static_cast<int>(std::floor(std::log10(magnitude))) + 1;
  if (digits_before >= digits) {
    const double step = std::pow(10.0, digits_before - digits);
    return with_separators(std::llround(std::round(value / step) * step));
  }
  // Rounding may gain a digit: 9.999 is 10.0.
  std::string text = fmt::format("{:.{}f}", value, digits - digits_before);
  if (std::abs(std::stod(text)) >= std::pow(10.0, digits_before))
    text = fmt::format("{:.{}f}", value, digits - digits_before - 1);
  // Digits before the point have separators too.
  const std::size_t point = text.find('.');
  if (magnitude < 999) return text;
  return with_separators(std::stoll(text.substr(0, point))) +
         (point == std::string::npos ? "" : text.substr(point));
}

std::string percent(double ratio) {
  if (!std::isfinite(ratio)) return "-";
  const double magnitude = std::abs(ratio) * 100;
  if (magnitude == 0) return "0 %";
  return fmt::format("{:.{}f} %", ratio * 100, magnitude >= 100 ? 0 : magnitude >= 10 ? 1 : 2);
}

std::string signed_percent(double ratio) { return (ratio > 0 ? "+" : "") + percent(ratio); }

std::string with_unit(double value, Unit unit, double reference) {
  if (!std::isfinite(value)) return "-";
  const auto scaled = [&](const Scale& scale) {
    return three_digits(value / scale.factor) + " " + scale.name;
  };
  switch (unit) {
    case Unit::seconds:
      return scaled(fitting(time_scales, reference));
    case Unit::bytes:
      return scaled(fitting(byte_scales, std::max(std::abs(reference), 1.0)));
    case Unit::samples_per_second:
      return significant(value, 4) + " samples/s";
    case Unit::count:
      return value == std::floor(value) ? with_separators(std::llround(value)) : three_digits(value);
    case Unit::ratio:
      return percent(value);
    case Unit::dollars:
      return dollars_text(Money(std::llround(value * 1e6)));
  }
  return "";
}

}  // namespace tandem
