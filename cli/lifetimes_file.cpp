#include "cli/lifetimes_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"
#include "workloads/experiment/quantity_text.hpp"

namespace tandem::cli {
namespace {

constexpr std::array causes = {"revoked", "failed", "stopped", "limit", "alive"};
/// Columns with a meaning of their own.
constexpr std::array known = {"duration", "started", "ended", "cause", "observed_from", "weight", "group"};

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// The fields of a line, as RFC 4180 describes them but for line breaks in texts. Nothing if a quote does not
/// end.
std::optional<std::vector<std::string>> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::string field;
  bool quoted = false, was_quoted = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char letter = line[at];
    if (quoted && letter == '"' && at + 1 < line.size() && line[at + 1] == '"')
      field += line[++at];
    else if (letter == '"' && (quoted || trimmed(field).empty()))
      quoted = !quoted, was_quoted = true;
    else if (letter == ',' && !quoted)
      fields.push_back(trimmed(field)), field.clear(), was_quoted = false;
    else
      field += letter;
  }
  if (quoted) return std::nullopt;
  fields.push_back(was_quoted ? field : trimmed(field));
  return fields;
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

/// ISO 8601 to the minute, second or a part of it: "2024-05-01T12:00:00Z".
std::optional<ClockTime> clock_time(const std::string& text) {
  std::size_t at = 0;
  const auto year = digits(text, at, 4);
  if (!year || !skip(text, at, "-")) return std::nullopt;
  const auto month = digits(text, at, 2);
  if (!month || !skip(text, at, "-")) return std::nullopt;
  const auto day = digits(text, at, 2);
  if (!day || !skip(text, at, "T ")) return std::nullopt;
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
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *hours > 23 || *minutes > 59 || seconds >= 61.0) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return ClockTime{static_cast<double>(days) * 86400.0 + *hours * 3600.0 + *minutes * 60.0 + seconds,
                   text.substr(at)};
}

/// One line of the table.
class Row {
 public:
  Row(const std::string& place, const std::map<std::string, std::size_t>& columns,
      const std::vector<std::string>& fields)
      : place_(place), columns_(columns), fields_(fields) {}

  /// Empty also without the column.
  std::string text(const std::string& column) const {
    const auto found = columns_.find(column);
    return found == columns_.end() ? "" : fields_[found->second];
  }
  bool has(const std::string& column) const { return !text(column).empty(); }
  [[noreturn]] void fail(const std::string& column, const std::string& expected,
                         const std::string& found) const {
    throw ConfigError(fmt::format("{}: {}: expected {}, found '{}'", place_, column, expected, found));
  }
  /// Seconds, or with a unit.
  double duration(const std::string& column) const {
    const auto seconds = parse_seconds(text(column));
    if (!seconds || seconds->count() < 0.0)
      fail(column, "a time of at least 0, in seconds or with a unit such as 90min or 24h", text(column));
    return seconds->count();
  }
  /// `zone`: how all times of the file must say that they are UTC; set by the first one.
  double clock(const std::string& column, std::optional<std::string>& zone) const {
    const auto time = clock_time(text(column));
    const bool is_utc = time && (time->zone.empty() || time->zone == "Z" || time->zone == "+00:00");
    if (!is_utc) fail(column, "a time in UTC such as 2024-05-01T12:00:00Z", text(column));
    if (!zone) zone = time->zone;
    if (*zone != time->zone)
      fail(column,
           zone->empty() ? "a time without zone, like those before"
                         : fmt::format("a time that ends with {}, like those before", *zone),
           text(column));
    return time->seconds;
  }

 private:
  const std::string& place_;
  const std::map<std::string, std::size_t>& columns_;
  const std::vector<std::string>& fields_;
};

/// Numbers of texts, in the order of their first appearance.
class Numbering {
 public:
  std::size_t of(const std::string& text) {
    return numbers_.try_emplace(text, numbers_.size()).first->second;
  }

 private:
  std::map<std::string, std::size_t> numbers_;
};

class LifetimesReader {
 public:
  explicit LifetimesReader(const std::string& path) { file_.path = path; }

  LifetimesFile read() {
    std::ifstream stream(file_.path, std::ios::binary);
    if (!stream)
      throw ConfigError(
          fmt::format("{}: expected a table of lifetimes, found: {}", file_.path, std::strerror(errno)));
    for (std::string line; std::getline(stream, line);) {
      ++line_;
      if (line_ == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
      if (trimmed(line).empty()) continue;
      const auto fields = fields_of(line);
      if (!fields) throw ConfigError(place() + ": expected a quote at the end of a text, found none");
      columns_.empty() ? read_header(*fields) : read_row(*fields);
    }
    if (file_.observations.empty())
      throw ConfigError(
          fmt::format("{}: expected a header and one row per machine, found no rows", file_.path));
    if (!columns_.contains("group")) file_.groups.clear();
    if (file_.times.size() != file_.observations.size()) file_.times.clear();
    return std::move(file_);
  }

 private:
  std::string place() const { return fmt::format("{}:{}", file_.path, line_); }

  void read_header(const std::vector<std::string>& names) {
    for (const auto& name : names) {
      if (!columns_.emplace(name, columns_.size()).second)
        throw ConfigError(fmt::format("{}: expected every column once, found '{}' twice", place(), name));
      if (std::ranges::find(known, name) == known.end()) file_.columns.push_back(name);
    }
    const bool has_times = columns_.contains("started") && columns_.contains("ended");
    if (!columns_.contains("duration") && !has_times)
      throw ConfigError(place() + ": expected a column 'duration', or 'started' and 'ended', found neither");
    if (!columns_.contains("cause")) throw ConfigError(place() + ": expected a column 'cause', found none");
  }

  void read_row(const std::vector<std::string>& fields) {
    if (fields.size() != columns_.size())
      throw ConfigError(
          fmt::format("{}: expected {} fields, found {}", place(), columns_.size(), fields.size()));
    const std::string at = place();
    const Row row(at, columns_, fields);
    lifetimes::Observation one;
    one.died = is_death(row);
    const auto started = clock_of(row, "started"), ended = clock_of(row, "ended");
    if (started && ended && *ended < *started)
      row.fail("ended", "a time after it started, " + row.text("started"), row.text("ended"));
    if (row.has("duration"))
      one.duration = row.duration("duration");
    else if (started && ended)
      one.duration = *ended - *started;
    else
      row.fail("duration", "a duration, or started and ended", "");
    if (row.has("observed_from")) one.entry = row.duration("observed_from");
    if (one.entry > 0.0 && one.entry >= one.duration)
      row.fail("observed_from", fmt::format("an age below the duration of {} s", one.duration),
               row.text("observed_from"));
    if (row.has("weight")) one.weight = weight_of(row);
    add(row, one, started, ended);
  }

  void add(const Row& row, const lifetimes::Observation& one, std::optional<double> started,
           std::optional<double> ended) {
    file_.observations.push_back(one);
    file_.failed.push_back(row.text("cause") == "failed");
    file_.groups.push_back(groups_.of(row.text("group")));
    if (started || ended) {
      const double begin = started ? *started : *ended - one.duration;
      const std::string zone = row.has("zone") ? row.text("zone") : row.text("region");
      file_.times.push_back({begin + one.entry, begin + one.duration, one.died, zones_.of(zone)});
    }
    file_.texts.emplace_back();
    for (const auto& column : file_.columns) file_.texts.back().push_back(row.text(column));
  }

  static bool is_death(const Row& row) {
    const std::string cause = row.text("cause");
    if (std::ranges::find(causes, cause) == causes.end()) {
      const std::string nearest = nearest_name(cause, {causes.begin(), causes.end()});
      row.fail("cause",
               "revoked, failed, stopped, limit or alive" +
                   (nearest.empty() || cause.empty() ? "" : " (did you mean '" + nearest + "'?)"),
               cause);
    }
    return cause == "revoked" || cause == "failed";
  }

  std::optional<double> clock_of(const Row& row, const std::string& column) {
    if (!row.has(column)) return std::nullopt;
    return row.clock(column, zone_);
  }

  static double weight_of(const Row& row) {
    const std::string text = row.text("weight");
    double weight = 0.0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
    if (error != std::errc() || rest != text.data() + text.size() || !std::isfinite(weight) || weight <= 0.0)
      row.fail("weight", "a number above 0", text);
    return weight;
  }

  LifetimesFile file_;
  std::map<std::string, std::size_t> columns_;
  std::optional<std::string> zone_;
  Numbering groups_;
  Numbering zones_;
  int line_ = 0;
};

}  // namespace

LifetimesFile read_lifetimes(const std::string& path) { return LifetimesReader(path).read(); }

}  // namespace tandem::cli
