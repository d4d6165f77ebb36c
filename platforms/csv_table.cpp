#include "platforms/csv_table.hpp"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem {
namespace {

/// Errors: ConfigError when it cannot be read. `what` it should be.
std::string content_of(const std::string& path, const std::string& what) {
  const std::ifstream file(path, std::ios::binary);
  if (!file) throw ConfigError(path + ": expected " + what + ", found: " + std::strerror(errno));
  std::ostringstream content;
  content << file.rdbuf();
  return std::move(content).str();
}

/// A time with its zone as it is written: "Z", "+00:00", or nothing.
struct ClockTime {
  double seconds = 0.0;
  std::string zone;
};

/// Digits from `at` on, which moves behind them; nothing if there are not exactly `count`.
std::optional<int> digits(const std::string& text, std::size_t& at, std::size_t count) {
  int number = 0;
  if (at + count > text.size()) return std::nullopt;
  const char* begin = text.data() + at;
  const auto [rest, error] = std::from_chars(begin, begin + count, number);
  if (error != std::errc() || rest != begin + count || number < 0) return std::nullopt;
  at += count;
  return number;
}

bool skip(const std::string& text, std::size_t& at, const char* letters) {
  if (at >= text.size() || std::strchr(letters, text[at]) == nullptr) return false;
  ++at;
  return true;
}

/// Days since 1970 of "2024-05-01", behind which `at` moves.
std::optional<int> days_of(const std::string& text, std::size_t& at) {
  const auto year = digits(text, at, 4);
  if (!year || !skip(text, at, "-")) return std::nullopt;
  const auto month = digits(text, at, 2);
  if (!month || !skip(text, at, "-")) return std::nullopt;
  const auto day = digits(text, at, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return static_cast<int>(std::chrono::sys_days(date).time_since_epoch().count());
}

/// ISO 8601 to the minute, second or a part of it: "2024-05-01T12:00:00Z".
std::optional<ClockTime> clock_time(const std::string& text) {
  std::size_t at = 0;
  const auto days = days_of(text, at);
  if (!days || !skip(text, at, "T ")) return std::nullopt;
  const auto hours = digits(text, at, 2);
  if (!hours || !skip(text, at, ":")) return std::nullopt;
  const auto minutes = digits(text, at, 2);
  if (!minutes) return std::nullopt;
  double seconds = 0.0;
  if (skip(text, at, ":")) {
    const auto whole = digits(text, at, 2);
    if (!whole) return std::nullopt;
    seconds = *whole;
    if (at < text.size() && text[at] == '.') {
      double part = 0.0;
      const auto [rest, error] =
          std::from_chars(text.data() + at, text.data() + text.size(), part, std::chars_format::fixed);
      if (error != std::errc()) return std::nullopt;
      seconds += part;
      at = static_cast<std::size_t>(rest - text.data());
    }
  }
  if (*hours > 23 || *minutes > 59 || seconds >= 61.0) return std::nullopt;
  return ClockTime{static_cast<double>(*days) * 86400.0 + *hours * 3600.0 + *minutes * 60.0 + seconds,
                   text.substr(at)};
}

}  // namespace

CsvTable::CsvTable(const std::string& path, const std::string& what)
    : CsvTable(path, content_of(path, what), what) {}

CsvTable::CsvTable(const std::string& name, std::string text, const std::string& what)
    : rows_(name, std::move(text), csv::Rows::Between::comments) {
  if (!read_row()) throw ConfigError(name + ": expected " + what + " with a header, found no line");
  columns_ = std::move(fields_);
  for (const auto& column : columns_)
    if (!places_.emplace(column, places_.size()).second)
      throw ConfigError(place() + ": expected every column once, found '" + column + "' twice");
}

bool CsvTable::read_row() {
  std::vector<csv::Field> fields;
  if (!rows_.next(fields)) return false;
  fields_.clear();
  for (csv::Field& field : fields)
    fields_.push_back(field.is_quoted ? std::move(field.text) : std::string(trimmed(field.text)));
  return true;
}

void CsvTable::expect(const std::string& column) const {
  if (!has(column)) fail_header("a column '" + column + "'", "none");
}

void CsvTable::fail_header(const std::string& expected, const std::string& found) const {
  throw ConfigError(place() + ": expected " + expected + ", found " + found);
}

bool CsvTable::next_row() {
  if (!read_row()) return false;
  if (fields_.size() != columns_.size())
    throw ConfigError(place() + ": expected " + std::to_string(columns_.size()) + " fields, found " +
                      std::to_string(fields_.size()));
  return true;
}

std::string CsvTable::text(const std::string& column) const {
  const auto found = places_.find(column);
  return found == places_.end() ? "" : fields_[found->second];
}

double CsvTable::duration(const std::string& column) const {
  const auto seconds = parse_seconds(text(column));
  if (!seconds || seconds->count() < 0.0)
    fail(column, "a time of at least 0, in seconds or with a unit such as 90min or 24h", text(column));
  return seconds->count();
}

double CsvTable::positive(const std::string& column) const {
  const auto value = parse_number<double>(text(column));
  if (!value || !std::isfinite(*value) || *value <= 0.0) fail(column, "a number above 0", text(column));
  return *value;
}

double CsvTable::positive_or(const std::string& column, double absent) const {
  return is_given(column) ? positive(column) : absent;
}

int CsvTable::whole(const std::string& column, int least, int most) const {
  const auto value = parse_number<int>(text(column));
  if (!value || *value < least || *value > most)
    fail(column, "a whole number from " + std::to_string(least) + " to " + std::to_string(most),
         text(column));
  return *value;
}

double CsvTable::clock(const std::string& column) {
  const auto time = clock_time(text(column));
  const bool is_utc = time && (time->zone.empty() || time->zone == "Z" || time->zone == "+00:00");
  if (!is_utc) fail(column, "a time in UTC such as 2024-05-01T12:00:00Z", text(column));
  if (!zone_) zone_ = time->zone;
  if (*zone_ != time->zone)
    fail(column,
         zone_->empty() ? "a time without zone, like those before"
                        : "a time that ends with " + *zone_ + ", like those before",
         text(column));
  return time->seconds;
}

int CsvTable::date(const std::string& column) const {
  std::size_t at = 0;
  const std::string written = text(column);
  const auto days = days_of(written, at);
  if (!days || at != written.size()) fail(column, "a date such as 2024-05-01", written);
  return *days;
}

void CsvTable::fail(const std::string& column, const std::string& expected, const std::string& found) const {
  throw ConfigError(place() + ": " + column + ": expected " + expected + ", found '" + found + "'");
}

}  // namespace tandem
