// Physical quantities as types, so that seconds are never added to bytes. Pure arithmetic, no I/O.
#pragma once

#include <compare>
#include <cstdint>

namespace tandem {

/// A number with a unit. There is no implicit conversion; `count()` gives the number in the base unit.
template <class Tag, class Rep>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep count) : count_(count) {}
  constexpr Rep count() const { return count_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator+(Quantity other) const { return Quantity(count_ + other.count_); }
  constexpr Quantity operator-(Quantity other) const { return Quantity(count_ - other.count_); }
  constexpr Quantity operator*(Rep factor) const { return Quantity(count_ * factor); }
  constexpr Quantity operator/(Rep divisor) const { return Quantity(count_ / divisor); }
  constexpr Quantity& operator+=(Quantity other) { return *this = *this + other; }
  constexpr Quantity& operator-=(Quantity other) { return *this = *this - other; }
  /// Ratio of two like quantities, a plain number.
  constexpr double operator/(Quantity other) const {
    return static_cast<double>(count_) / static_cast<double>(other.count_);
  }

 private:
  Rep count_{};
};

using Seconds = Quantity<struct SecondsTag, double>;
using Bytes = Quantity<struct BytesTag, std::int64_t>;
using Flops = Quantity<struct FlopsTag, double>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;

constexpr Seconds operator/(Bytes size, BytesPerSecond rate) {
  return Seconds(static_cast<double>(size.count()) / rate.count());
}
constexpr Seconds operator/(Flops work, FlopsPerSecond rate) { return Seconds(work.count() / rate.count()); }

/// Index of a process of the job, 0 to world size - 1; the same number in simulation and on MPI.
using Rank = int;
/// Index of a sample in its data set, 0 to N - 1.
using SampleId = std::int64_t;

}  // namespace tandem
