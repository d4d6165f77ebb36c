// Numbers for people: three significant digits and a unit. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "validation/compare/compare.hpp"

namespace tandem::validation {

/// A unit as documents name it: "s", "samples/s", "bytes", "ratio", "" for counts; and the unit of such a
/// name.
const char* unit_name(Unit unit);
Unit unit_of(const std::string& name);

/// "10,750".
std::string with_separators(std::int64_t value);
/// "12.3", "0.0456", "1,230", "12,300,000"; never an exponent between 1e-4 and 1e15. "-" for NaN.
std::string three_digits(double value);
/// "+4.21 %", "-12.3 %", "0 %"; "-" for NaN.
std::string signed_percent(double ratio);
/// "4.21 %"; "-" for NaN.
std::string percent(double ratio);
/// "21.3 ms", "178 kB", "3,250 samples/s". The scale is that of `reference`, so that values which are
/// compared share a scale.
std::string with_unit(double value, Unit unit, double reference);
inline std::string with_unit(double value, Unit unit) { return with_unit(value, unit, value); }

}  // namespace tandem::validation
