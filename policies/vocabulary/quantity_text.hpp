// Sizes, times and amounts of work as people write them: "4MiB", "5min", "20Mflop", or a plain number. What
// is written here reads back to exactly the same value.
#pragma once

#include <optional>
#include <string>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// Accepts B, kB, MB, GB, TB (powers of 1000) and KiB, MiB, GiB, TiB (powers of 1024); plain numbers are
/// bytes. Nothing when the text is no size, or not a whole number of bytes that fits.
std::optional<Bytes> parse_bytes(const std::string& text);
/// Accepts ns, us, ms, s, min, h, d; plain numbers are seconds. Nothing when the text is no finite time.
std::optional<Seconds> parse_seconds(const std::string& text);
/// Accepts flop, kflop, Mflop, Gflop, Tflop; plain numbers are operations. Nothing when the text is no amount
/// of work.
std::optional<Flops> parse_flops(const std::string& text);
/// Accepts bytes per second with a prefix as in parse_bytes, and bits with a decimal one, as SimGrid writes
/// them: "1.2GBps", "3MiBps", "10Gbps"; plain numbers are bytes per second. Nothing when the text is no rate.
std::optional<BytesPerSecond> parse_rate(const std::string& text);

/// Whether a unit follows the number; false for a plain number and for other texts.
bool has_time_unit(const std::string& text);

/// "like 10s; ns us ms s min h d": examples of a time, for messages.
std::string time_examples(const std::string& example = "10s");
/// "like 1.2GBps or 10Gbps; kBps MBps GBps TBps, ...".
std::string rate_examples();

/// With the unit that needs the fewest digits: "4MiB", "1500MB", "1001B".
std::string to_text(Bytes size);
/// "10s", "0.25s".
std::string to_text(Seconds duration);
/// With the unit that needs the fewest digits: "20Mflop".
std::string to_text(Flops work);

/// The shortest text that reads as the same number: "0.1", "1e+20".
std::string shortest_text(double number);

}  // namespace tandem
