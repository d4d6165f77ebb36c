// Numbers for people: significant digits with separators, and a unit. Every page, table and message uses
// these. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace tandem {

enum class Unit { seconds, samples_per_second, bytes, count, ratio, dollars };

/// A unit as documents name it: "s", "samples/s", "bytes", "ratio", "USD", "" for counts; and the unit of
/// such a name.
const char* unit_name(Unit unit);
Unit unit_of(const std::string& name);

/// "12.3", "0.0456", "1,230", "12,300,000" with three digits; never an exponent between 1e-4 and 1e15. "-"
/// for NaN. Pre: 1 <= digits <= 15.
std::string significant(double value, int digits);
inline std::string three_digits(double value) { return significant(value, 3); }
/// "10,750": a whole number with separators.
std::string with_separators(std::int64_t value);
/// "+4.21 %", "-12.3 %", "0 %"; "-" for NaN.
std::string signed_percent(double ratio);
/// "4.21 %"; "-" for NaN.
std::string percent(double ratio);
/// "21.3 ms", "178 kB", "10,750 samples/s". The scale is that of `reference`, so that values which are
/// compared share a scale.
std::string with_unit(double value, Unit unit, double reference);
inline std::string with_unit(double value, Unit unit) { return with_unit(value, unit, value); }

}  // namespace tandem
