#include "policies/vocabulary/money.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tandem {
namespace {

constexpr int kPlaces = 6;
constexpr std::int64_t kDollar = 1'000'000;

/// With this many digits behind the point.
std::string decimal(std::int64_t number, int places) {
  std::string digits = std::to_string(std::abs(number));
  const auto behind = static_cast<std::size_t>(places);
  if (digits.size() <= behind) digits.insert(0, behind + 1 - digits.size(), '0');
  return (number < 0 ? "-" : "") + digits.insert(digits.size() - behind, ".");
}

}  // namespace

std::optional<Money> parse_money(const std::string& text) {
  constexpr std::int64_t most_dollars = 999'999;
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string behind = point < text.size() ? text.substr(point + 1) : "";
  const std::string before = text.substr(0, point);
  const bool are_digits = (before + behind).find_first_not_of("0123456789") == std::string::npos;
  constexpr std::size_t most_digits = 6;
  if (!are_digits || before.empty() || before.size() > most_digits || behind.size() > kPlaces)
    return std::nullopt;
  behind.resize(kPlaces, '0');
  std::int64_t dollars = 0, parts = 0;
  std::from_chars(before.data(), before.data() + before.size(), dollars);
  std::from_chars(behind.data(), behind.data() + behind.size(), parts);
  if (dollars > most_dollars) return std::nullopt;
  return Money(dollars * kDollar + parts);
}

std::string to_text(Money money) {
  std::string text = decimal(money.micro(), kPlaces);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string dollars_text(Money money) {
  constexpr std::int64_t ten_cents = kDollar / 10, cent = kDollar / 100, small = kDollar / 10'000;
  const bool is_small = std::abs(money.micro()) < ten_cents && money.micro() != 0;
  const std::int64_t unit = is_small ? small : cent;
  const std::int64_t half = money.micro() < 0 ? -unit / 2 : unit / 2;
  const std::string text = decimal((money.micro() + half) / unit, is_small ? 4 : 2);
  return text.starts_with('-') ? "-$" + text.substr(1) : "$" + text;
}

}  // namespace tandem
