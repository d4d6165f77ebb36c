// Times of a trace: decimal text in microseconds, as whole nanoseconds. As a double, a time since 1970 would
// be rounded to 0.25 us.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tandem::trace {

using Nanoseconds = std::int64_t;

/// "1712195495520871.25", "1.5e3": rounded to the next nanosecond. Nothing for a text that is not a number,
/// or a value that does not fit.
std::optional<Nanoseconds> nanoseconds_of(std::string_view microseconds);
/// Nothing when the value does not fit.
std::optional<Nanoseconds> nanoseconds_of(std::int64_t microseconds);

/// The same time as a double in microseconds, the form of other programs.
double as_double(Nanoseconds time);

}  // namespace tandem::trace
