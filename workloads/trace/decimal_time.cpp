#include "workloads/trace/decimal_time.hpp"

#include <limits>
#include <string>

#include "policies/vocabulary/text_parts.hpp"

namespace tandem::trace {
namespace {

// A quarter of the largest time, so that the sum of three times fits, too; reached in the year 2043.
constexpr Nanoseconds largest = std::numeric_limits<Nanoseconds>::max() / 4;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The usual text, digits and at most three decimals. Nothing for any other.
std::optional<Nanoseconds> usual_time(std::string_view text) {
  constexpr std::size_t most_digits = 16, most_decimals = 3;
  std::uint64_t time = 0;
  std::size_t at = 0;
  for (; at < text.size() && is_digit(text[at]); ++at)
    time = time * 10 + static_cast<std::uint64_t>(text[at] - '0');
  if (at == 0 || at > most_digits) return std::nullopt;
  std::size_t decimals = 0;
  if (at < text.size() && text[at] == '.')
    for (++at; at < text.size() && is_digit(text[at]) && decimals < most_decimals; ++at, ++decimals)
      time = time * 10 + static_cast<std::uint64_t>(text[at] - '0');
  if (at != text.size()) return std::nullopt;
  for (; decimals < most_decimals; ++decimals) time *= 10;
  return time <= static_cast<std::uint64_t>(largest) ? std::optional(static_cast<Nanoseconds>(time))
                                                     : std::nullopt;
}

/// Digits before the point, with leading zeros for a negative `shift`, and those behind it.
struct Digits {
  std::string all;
  std::int64_t before_point = 0;
};

std::optional<Digits> digits_of(std::string_view text) {
  Digits digits;
  std::size_t at = 0;
  while (at < text.size() && is_digit(text[at])) digits.all += text[at++];
  digits.before_point = static_cast<std::int64_t>(at);
  if (at < text.size() && text[at] == '.')
    while (++at < text.size() && is_digit(text[at])) digits.all += text[at];
  if (digits.all.empty()) return std::nullopt;
  if (at == text.size()) return digits;
  if (text[at] != 'e' && text[at] != 'E') return std::nullopt;
  at += text[at + 1 < text.size() ? at + 1 : at] == '+' ? 2 : 1;
  const auto exponent = parse_number<int>(text.substr(at));
  if (!exponent) return std::nullopt;
  digits.before_point += *exponent;
  return digits;
}

}  // namespace

std::optional<Nanoseconds> nanoseconds_of(std::string_view microseconds) {
  if (microseconds.size() <= 20)
    if (const auto time = usual_time(microseconds)) return time;
  const bool is_negative = microseconds.starts_with('-');
  if (is_negative) microseconds.remove_prefix(1);
  const auto digits = digits_of(microseconds);
  if (!digits) return std::nullopt;
  const std::int64_t whole = digits->before_point + 3;  // digits of the nanoseconds
  const auto digit = [&](std::int64_t place) {
    return place >= 0 && place < static_cast<std::int64_t>(digits->all.size())
               ? digits->all[static_cast<std::size_t>(place)] - '0'
               : 0;
  };
  Nanoseconds time = 0;
  const auto last = static_cast<std::int64_t>(digits->all.size());
  for (std::int64_t place = 0; place < whole; ++place) {
    if (time == 0 && place >= last) return 0;
    if (time > largest / 10 - 1) return std::nullopt;
    time = time * 10 + digit(place);
  }
  if (whole >= 0 && digit(whole) >= 5) ++time;
  return is_negative ? -time : time;
}

std::optional<Nanoseconds> nanoseconds_of(std::int64_t microseconds) {
  if (microseconds > largest / 1000 || microseconds < -largest / 1000) return std::nullopt;
  return microseconds * 1000;
}

// A long double holds every nanosecond.
double as_double(Nanoseconds time) { return static_cast<double>(static_cast<long double>(time) / 1000.0L); }

}  // namespace tandem::trace
