// Amounts of money: integers of micro-dollars, so that sums are exact.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace tandem {

class Money {
 public:
  constexpr Money() = default;
  explicit constexpr Money(std::int64_t micro_dollars) : micro_(micro_dollars) {}
  constexpr std::int64_t micro() const { return micro_; }
  constexpr double dollars() const { return static_cast<double>(micro_) * 1e-6; }
  constexpr Money& operator+=(Money other) {
    micro_ += other.micro_;
    return *this;
  }
  friend constexpr Money operator+(Money a, Money b) { return a += b; }
  friend constexpr Money operator-(Money a, Money b) { return Money(a.micro_ - b.micro_); }
  friend constexpr auto operator<=>(Money, Money) = default;

 private:
  std::int64_t micro_ = 0;
};

/// "21.957642": digits, at most six behind the point, below a million dollars. None: another text.
std::optional<Money> parse_money(const std::string& text);
/// Without loss: "21.957642", "0.5".
std::string to_text(Money money);
/// To the cent: "$6.65"; below ten cents to the hundredth of a cent.
std::string dollars_text(Money money);

}  // namespace tandem
