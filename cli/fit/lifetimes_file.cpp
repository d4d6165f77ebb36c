#include "cli/fit/lifetimes_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"

namespace tandem::cli {
namespace {

constexpr std::array causes = {"revoked", "failed", "stopped", "limit", "alive"};
/// Columns with a meaning of their own.
constexpr std::array known = {"duration",      "started",  "ended",  "cause",
                              "observed_from", "alive_at", "weight", "group"};

class LifetimesReader {
 public:
  explicit LifetimesReader(CsvTable table) : table_(std::move(table)) {}

  LifetimesFile read() {
    file_.path = table_.path();
    read_header();
    while (table_.next_row()) read_row();
    if (file_.observations.empty())
      throw ConfigError(
          fmt::format("{}: expected a header and one row per machine, found no rows", file_.path));
    if (!table_.has("group")) file_.groups.clear();
    if (file_.times.size() != file_.observations.size()) file_.times.clear();
    file_.is_on_clock = !file_.times.empty();
    return std::move(file_);
  }

 private:
  void read_header() {
    for (const auto& name : table_.columns())
      if (std::ranges::find(known, name) == known.end()) file_.columns.push_back(name);
    if (!table_.has("duration") && !(table_.has("started") && table_.has("ended")))
      table_.fail_header("a column 'duration', or 'started' and 'ended'", "neither");
    table_.expect("cause");
  }

  void read_row() {
    lifetimes::Observation one;
    one.died = is_death();
    one.at_limit = table_.text("cause") == "limit";
    const auto started = clock_of("started"), ended = clock_of("ended");
    if (started && ended && *ended < *started)
      table_.fail("ended", "a time after it started, " + table_.text("started"), table_.text("ended"));
    if (table_.is_given("duration"))
      one.duration = table_.duration("duration");
    else if (started && ended)
      one.duration = *ended - *started;
    else
      table_.fail("duration", "a duration, or started and ended", "");
    if (table_.is_given("observed_from")) one.entry = age_below("observed_from", one.duration);
    if (table_.is_given("alive_at")) {
      if (!one.died)
        table_.fail("alive_at", "nothing, because the machine did not depart", table_.text("alive_at"));
      one.alive_at = std::max(one.entry, age_below("alive_at", one.duration));
    }
    if (table_.is_given("weight")) one.weight = table_.positive("weight");
    add(one, started, ended);
  }

  void add(const lifetimes::Observation& one, std::optional<double> started, std::optional<double> ended) {
    file_.observations.push_back(one);
    file_.failed.push_back(table_.text("cause") == "failed");
    file_.groups.push_back(groups_.of(table_.text("group")));
    if (started || ended) {
      const double begin = started ? *started : *ended - one.duration;
      const std::string zone = table_.is_given("zone") ? table_.text("zone") : table_.text("region");
      file_.times.push_back({begin + one.entry, begin + one.duration, one.died, zones_.of(zone)});
    }
    file_.texts.emplace_back();
    for (const auto& column : file_.columns) file_.texts.back().push_back(table_.text(column));
  }

  bool is_death() const {
    const std::string cause = table_.text("cause");
    if (std::ranges::find(causes, cause) == causes.end()) {
      const std::string nearest = nearest_name(cause, {causes.begin(), causes.end()});
      table_.fail("cause",
                  "revoked, failed, stopped, limit or alive" +
                      (nearest.empty() || cause.empty() ? "" : " (did you mean '" + nearest + "'?)"),
                  cause);
    }
    return cause == "revoked" || cause == "failed";
  }

  std::optional<double> clock_of(const std::string& column) {
    if (!table_.is_given(column)) return std::nullopt;
    return table_.clock(column);
  }

  double age_below(const std::string& column, double duration) const {
    const double age = table_.duration(column);
    if (age > 0.0 && age >= duration)
      table_.fail(column, fmt::format("an age below the duration of {} s", duration), table_.text(column));
    return age;
  }

  CsvTable table_;
  LifetimesFile file_;
  Numbering groups_;
  Numbering zones_;
};

}  // namespace

std::size_t Numbering::of(const std::string& text) {
  return numbers_.try_emplace(text, numbers_.size()).first->second;
}

LifetimesFile read_lifetimes(CsvTable table) { return LifetimesReader(std::move(table)).read(); }

}  // namespace tandem::cli
