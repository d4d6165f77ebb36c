#include "cli/fit/events_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"
#include "policies/vocabulary/quantity_text.hpp"

namespace tandem::cli {
namespace {

/// In the order of NodeEvent::Kind.
const std::array<std::string, 3> event_names = {"add", "remove", "warn"};

class EventsReader {
 public:
  explicit EventsReader(CsvTable table) : table_(std::move(table)) {}

  EventsFile read() {
    for (const char* column : {"time", "event", "node"}) table_.expect(column);
    file_.path = table_.path();
    file_.has_zones = table_.has("zone");
    double first = 0.0, before = 0.0;
    while (table_.next_row()) {
      NodeEvent event{time(), kind(), node(), table_.text("zone")};
      if (file_.events.empty()) first = before = event.time;
      if (event.time < before)
        table_.fail("time", "events in the order of time, so from the time of the row before on",
                    table_.text("time"));
      before = event.time;
      event.time -= first;
      expect_fits(event);
      file_.events.push_back(std::move(event));
    }
    if (file_.events.empty())
      throw ConfigError(
          fmt::format("{}: expected a header and one row per event, found no rows", file_.path));
    if (!*counts_) file_.first = first;
    return std::move(file_);
  }

 private:
  /// Seconds, or on the clock; all rows alike.
  double time() {
    const std::string text = table_.text("time");
    const bool counts = parse_seconds(text).has_value();
    if (counts_ && *counts_ != counts)
      table_.fail("time", *counts_ ? "seconds, like those before" : "a time on the clock, like those before",
                  text);
    counts_ = counts;
    return counts ? table_.duration("time") : table_.clock("time");
  }

  NodeEvent::Kind kind() const {
    const std::string text = table_.text("event");
    const auto found = std::ranges::find(event_names, text);
    if (found == event_names.end()) table_.fail("event", "add, remove or warn", text);
    return static_cast<NodeEvent::Kind>(found - event_names.begin());
  }

  /// A trace separates names by blanks and semicolons.
  std::string node() const {
    const std::string text = table_.text("node");
    if (text.empty() || text.find_first_of(" \t;") != std::string::npos)
      table_.fail("node", "a name without blanks and semicolons", text);
    return text;
  }

  void expect_fits(const NodeEvent& event) {
    const bool adds = event.kind == NodeEvent::Kind::add;
    const auto known = is_there_.find(event.node);
    const bool is_there = known == is_there_.end() ? !adds : known->second;
    if (adds == is_there)
      table_.fail("node", adds ? "a node that was removed before it is added again" : "a node that is there",
                  event.node);
    is_there_[event.node] = event.kind != NodeEvent::Kind::remove;
  }

  CsvTable table_;
  EventsFile file_;
  std::optional<bool> counts_;  ///< times are seconds, not on the clock
  std::map<std::string, bool> is_there_;
};

/// Makes lifetimes of events.
class Lifetimes {
 public:
  explicit Lifetimes(const EventsFile& events)
      : has_warnings_(std::ranges::any_of(
            events.events, [](const NodeEvent& event) { return event.kind == NodeEvent::Kind::warn; })),
        first_(events.first.value_or(0.0)) {
    file_.path = events.path;
    file_.is_on_clock = events.first.has_value();
    if (events.has_zones) file_.columns.emplace_back("zone");
    for (const auto& event : events.events) read(event);
    for (const auto& node : order_)
      if (present_.contains(node)) end(present_.at(node), events.events.back().time, /*died=*/false);
  }
  LifetimesFile take() { return std::move(file_); }

 private:
  struct Present {
    double begin = 0.0;
    std::string zone;
    bool is_warned = false;
  };

  void read(const NodeEvent& event) {
    if (seen_.insert(event.node).second) {
      order_.push_back(event.node);
      // There from the first event on, whose time is 0.
      if (event.kind != NodeEvent::Kind::add) present_[event.node] = {0.0, event.zone};
    }
    if (event.kind == NodeEvent::Kind::add) present_[event.node] = {event.time, event.zone};
    if (event.kind == NodeEvent::Kind::warn) present_.at(event.node).is_warned = true;
    if (event.kind != NodeEvent::Kind::remove) return;
    end(present_.at(event.node), event.time, /*died=*/true);
    present_.erase(event.node);
  }

  void end(const Present& node, double time, bool died) {
    // A node that was added with the last event has no known lifetime.
    if (!died && time <= node.begin) return;
    file_.observations.push_back({.duration = time - node.begin, .died = died});
    file_.failed.push_back(died && has_warnings_ && !node.is_warned);
    file_.times.push_back({first_ + node.begin, first_ + time, died, zones_.of(node.zone)});
    file_.texts.emplace_back();
    if (!file_.columns.empty()) file_.texts.back().push_back(node.zone);
  }

  bool has_warnings_;
  double first_;  ///< event, on the clock
  LifetimesFile file_;
  Numbering zones_;
  std::set<std::string> seen_;
  std::vector<std::string> order_;  ///< nodes by their first events
  std::map<std::string, Present> present_;
};

}  // namespace

bool has_events(const CsvTable& table) { return table.has("event") && !table.has("cause"); }

EventsFile read_events(CsvTable table) { return EventsReader(std::move(table)).read(); }

LifetimesFile lifetimes_of(const EventsFile& file) { return Lifetimes(file).take(); }

std::size_t nodes_there_before(const EventsFile& file) {
  std::set<std::string> seen;
  std::size_t count = 0;
  for (const auto& event : file.events)
    if (seen.insert(event.node).second && event.kind != NodeEvent::Kind::add) ++count;
  return count;
}

std::string trace_text(const EventsFile& file) {
  std::string text;
  for (const auto& event : file.events)
    text += (text.empty() ? "" : ";") + to_text(OptionValue(event.time)) + ' ' +
            event_names[static_cast<std::size_t>(event.kind)] + ' ' + event.node;
  return text;
}

}  // namespace tandem::cli
